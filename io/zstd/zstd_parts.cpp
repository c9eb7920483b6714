#include "io/zstd/zstd_parts.hpp"

#include "io/frame_magic.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr std::size_t kept_plans = 32;  // blocks of memory

/// Places plans one after the other into memory of zstd_plan_bytes.
class plan_memory {
 public:
  plan_memory(part_memory& pool, std::vector<part_memory::block>& blocks, std::size_t max_bytes)
      : pool_(pool), blocks_(blocks), max_bytes_(max_bytes) {}

  /// Memory for a block of the largest size; false: that would be more than max_bytes.
  bool make_room() {
    if (used_ + zstd_block_decoder::room_bytes <= zstd_plan_bytes) return true;
    if ((blocks_.size() + 1) * zstd_plan_bytes > max_bytes_) return false;
    blocks_.push_back(pool_.get(zstd_plan_bytes));
    used_ = 0;
    return true;
  }
  [[nodiscard]] std::byte* room() const { return blocks_.back().get() + used_; }

  /// Keeps a plan that was placed there.
  void keep(const zstd_block_plan& plan) {
    constexpr std::size_t line = 64;
    const auto* const end = plan.sequences.empty()
                                ? plan.literals.data() + plan.literals.size() + zstd_block_decoder::after_literals
                                : std::as_bytes(plan.sequences).data() + plan.sequences.size_bytes();
    used_ += (static_cast<std::size_t>(end - room()) + line - 1) / line * line;
  }

 private:
  part_memory& pool_;
  std::vector<part_memory::block>& blocks_;
  const std::size_t max_bytes_;
  std::size_t used_ = zstd_plan_bytes;
};

/// The next bytes of pieces, copied, with room in front.
class padded_reader {
 public:
  explicit padded_reader(std::span<const std::span<const std::byte>> pieces) : pieces_(pieces) {
    for (const auto& each : pieces) left_ += each.size();
  }

  [[nodiscard]] std::uint64_t left() const { return left_; }

  /// Precondition: there are as many. Valid until the next call.
  std::span<const std::byte> take(std::size_t bytes) {
    constexpr std::size_t front = zstd_block_decoder::front_bytes;
    left_ -= bytes;
    leave_empty_pieces();
    if (bytes <= pieces_[index_].size() - at_ && at_ >= front) return next(bytes);
    if (copy_.size() < front + bytes) copy_.resize(front + bytes);
    for (std::size_t copied = 0; copied < bytes;) {
      const auto taken = next(bytes - copied);
      std::memcpy(copy_.data() + front + copied, taken.data(), taken.size());
      copied += taken.size();
    }
    return std::span(copy_).subspan(front, bytes);
  }

  /// Whether these bytes of take() are in the pieces.
  [[nodiscard]] bool is_in_piece(std::span<const std::byte> bytes) const {
    return bytes.data() != copy_.data() + zstd_block_decoder::front_bytes;
  }

 private:
  std::span<const std::byte> next(std::size_t bytes) {
    leave_empty_pieces();
    const auto found = pieces_[index_].subspan(at_, std::min(bytes, pieces_[index_].size() - at_));
    at_ += found.size();
    return found;
  }
  void leave_empty_pieces() {
    while (at_ == pieces_[index_].size() && index_ + 1 < pieces_.size()) {
      ++index_;
      at_ = 0;
    }
  }

  std::span<const std::span<const std::byte>> pieces_;
  std::size_t index_ = 0;
  std::size_t at_ = 0;
  std::uint64_t left_ = 0;
  std::vector<std::byte> copy_;
};

class zstd_part_decoder final : public part_decoder {
 public:
  std::unique_ptr<decoded_part> decode(const part_input& input) override;

 private:
  bool add(std::uint64_t begin, const zstd_block_header& header, std::span<const std::byte> content, bool is_kept,
           plan_memory& memory, std::size_t& left);

  zstd_block_decoder decoder_;
  zstd_known_tables none_;
  std::vector<zstd_ready_block> blocks_;
  const std::shared_ptr<part_memory> pool_ = part_memory::shared(zstd_plan_bytes, kept_plans);
};

std::unique_ptr<decoded_part> zstd_part_decoder::decode(const part_input& input) {
  const auto context = std::dynamic_pointer_cast<const zstd_context>(input.start.context);
  if (!input.begins_frame || !context || !may_have_zstd_parts(context->frame)) return nullptr;
  // finish() needs memory, too: a third for the content of blocks, two thirds for plans
  const std::size_t for_plans = input.max_bytes / 3 * 2;
  std::size_t for_content = input.max_bytes / 3;
  decoder_.forget_all();
  blocks_.clear();
  std::vector<part_memory::block> texts;
  plan_memory memory(*pool_, texts, for_plans);
  padded_reader reader(input.pieces);
  const std::uint64_t all = reader.left();
  std::uint64_t end = 0;  // of the last whole block
  bool is_last = false;
  while (end < input.size && !is_last && blocks_.size() < zstd_part_blocks) {
    if (reader.left() < zstd_block_header::bytes) break;
    const zstd_block_header header(static_cast<std::uint32_t>(little_endian(reader.take(zstd_block_header::bytes))));
    if (header.is_damaged() || header.content_bytes() > reader.left()) break;
    const auto content = reader.take(header.content_bytes());
    if (!add(input.offset + end, header, content, reader.is_in_piece(content), memory, for_content)) break;
    is_last = header.is_last;
    end = all - reader.left();
  }
  // libzstd copies stored blocks in less time
  const auto is_stored = [](const zstd_ready_block& each) { return each.header.type != zstd_block_type::compressed; };
  if (end == 0 || (context->is_first && std::ranges::all_of(blocks_, is_stored))) return nullptr;
  return std::make_unique<zstd_part>(zstd_part::settings{.frame = context->frame,
                                                         .is_first = context->is_first,
                                                         .begin = input.offset,
                                                         .end = input.offset + end,
                                                         .memory_bytes = for_plans},
                                     std::exchange(blocks_, {}), std::move(texts), pool_);
}

/// False: the part ends before the block. `is_kept`: `content` is valid until join().
bool zstd_part_decoder::add(std::uint64_t begin, const zstd_block_header& header, std::span<const std::byte> content,
                            bool is_kept, plan_memory& memory, std::size_t& left) {
  using verdict = zstd_block_decoder::verdict;
  if (left < sizeof(zstd_ready_block) + content.size() || !memory.make_room()) return false;
  left -= sizeof(zstd_ready_block);
  zstd_ready_block block{.begin = begin, .header = header};
  verdict is = verdict::decoded;
  if (header.type == zstd_block_type::compressed) {
    is = decoder_.decode(content, none_, memory.room(), block.plan);
  } else if (is_kept && header.type == zstd_block_type::raw) {
    block.plan = {.literals = content, .text_bytes = header.size, .offsets = zstd_unknown_offsets};
  } else {
    block.plan = plan_of_stored(header, content, memory.room());
  }
  if (is == verdict::damaged) return false;
  block.is_ready = is == verdict::decoded;
  if (block.is_ready) {
    if (block.plan.literals.data() != content.data()) memory.keep(block.plan);
  } else {
    constexpr std::size_t front = zstd_block_decoder::front_bytes;
    block.content = std::make_unique_for_overwrite<std::byte[]>(front + content.size());
    std::memcpy(block.content.get() + front, content.data(), content.size());
    left -= content.size();
  }
  block.tables = zstd_kept_descriptions(std::exchange(block.plan.tables, {}));
  left -= std::min(left, block.tables.bytes->size());
  blocks_.push_back(std::move(block));
  return true;
}

}  // namespace

bool may_have_zstd_parts(const zstd_frame_header& frame) {
  constexpr std::uint64_t most_window = std::uint64_t{1} << 30U;
  return !frame.skippable && frame.dictionary_id == 0 && frame.window_bytes >= zstd_block_header::max_size &&
         frame.window_bytes <= most_window;
}

zstd_part::zstd_part(const settings& options, std::vector<zstd_ready_block> blocks,
                     std::vector<part_memory::block> memory, std::shared_ptr<part_memory> pool)
    : options_(options), blocks_(std::move(blocks)), memory_(std::move(memory)), pool_(std::move(pool)) {}

void zstd_part::link(const decoded_part* before) {
  const auto* const linked = dynamic_cast<const zstd_part*>(before);
  if (!options_.is_first) {
    if (linked == nullptr || !linked->is_linked_ || linked->options_.end != options_.begin) return;
    before_ = linked->after_;
  }
  is_linked_ = true;
  after_ = before_;
  for (const zstd_ready_block& each : blocks_) after_.add(each.tables);
}

/// A block that cannot be decoded stays as it is: the decoder of the input judges it.
void zstd_part::finish() {
  const auto waits = [](const zstd_ready_block& each) { return !each.is_ready; };
  if (!is_linked_ || std::ranges::none_of(blocks_, waits)) return;
  try {
    // link() of the part after may read after_, but not blocks_
    zstd_known_tables known = before_;
    const auto decoder = std::make_unique<zstd_block_decoder>();
    plan_memory memory(*pool_, memory_, options_.memory_bytes);
    for (zstd_ready_block& each : blocks_) {
      if (each.is_ready) {
        decoder->forget(each.tables.each);
      } else {
        if (!memory.make_room()) return;
        const std::span<const std::byte> content(each.content.get() + zstd_block_decoder::front_bytes,
                                                 each.header.content_bytes());
        zstd_block_plan plan;
        if (decoder->decode(content, known, memory.room(), plan) != zstd_block_decoder::verdict::decoded) return;
        memory.keep(plan);
        plan.tables = {};
        each.plan = plan;
        each.is_ready = true;
      }
      known.add(each.tables);
    }
  } catch (const std::bad_alloc&) {
    return;  // the other blocks stay as they are
  }
}

/// Blocks without text are left to the decoder of the input, and those of all parts after them.
void zstd_part::join(const decoded_part* before) {
  const auto* const joined = dynamic_cast<const zstd_part*>(before);
  const bool follows =
      joined != nullptr && joined->options_.end == options_.begin && joined->ends_with(joined->blocks_.back());
  if (!options_.is_first && !follows) return;
  try {
    state_ = options_.is_first ? zstd_frame_state(options_.frame) : joined->state_;
    for (zstd_ready_block& each : blocks_) {
      if (!each.is_ready) return;
      each.text = state_.add(each.plan, each.tables, each.header.is_last);
      if (!each.text) return;
      last_joined_ = &each;
    }
    memory_.clear();
  } catch (const std::bad_alloc&) {
    return;  // as before a block that is not ready
  }
}

const zstd_ready_block* zstd_part::find(std::uint64_t begin, const zstd_frame_header& frame) const {
  const auto found = std::ranges::lower_bound(blocks_, begin, {}, &zstd_ready_block::begin);
  return found == blocks_.end() || found->begin != begin || !found->is_ready || frame != options_.frame ? nullptr
                                                                                                        : &*found;
}

bool zstd_part::begins(std::uint64_t first_block, const zstd_frame_header& frame) const {
  return options_.is_first && options_.begin == first_block && frame == options_.frame;
}

zstd_block_plan plan_of_stored(const zstd_block_header& header, std::span<const std::byte> content, std::byte* room) {
  if (header.type == zstd_block_type::raw) {
    std::memcpy(room, content.data(), content.size());
  } else {
    std::fill_n(room, header.size, content.front());
  }
  return {.literals = {room, header.size}, .text_bytes = header.size, .offsets = zstd_unknown_offsets};
}

std::unique_ptr<part_decoder> make_zstd_part_decoder() { return std::make_unique<zstd_part_decoder>(); }

part_format zstd_part_format() {
  return {.make = make_zstd_part_decoder,
          .part_bytes = zstd_part_bytes,
          .least_bytes = 4 * zstd_part_bytes,
          .splitter_divides = true,
          .joins = true,
          .needs_idle_threads = true,
          .shared_bytes = 2 * zstd_largest_chunk,
          .memory_bytes = zstd_part_memory};
}

}  // namespace gpuhist::io
