#include "io/lz4/lz4_decoder.hpp"

#include "io/block_splitter.hpp"
#include "io/frame_decoder.hpp"
#include "io/frame_magic.hpp"
#include "io/lz4/lz4_block.hpp"
#include "io/lz4/lz4_frame.hpp"
#include "io/lz4/lz4_parts.hpp"
#include "io/lz4/xxh32.hpp"
#include "io/offered_parts.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace gpuhist::io {

// Decodes lz4 frames block by block: a compressed block is decoded as a whole, after its checksum was verified; the
// bytes of a stored block are text as they arrive.

namespace {

constexpr std::string_view wrong_block_checksum("a block does not match its checksum");

class lz4_decoder final : public frame_decoder {
 public:
  explicit lz4_decoder(const decoder_limits& limits) : frame_decoder(limits, {.format = "lz4", .frame = "frame"}) {}

  void offer(const std::shared_ptr<const decoded_part>& part) override { parts_.offer(part, consumed_total()); }

  [[nodiscard]] bool verifies_whole(std::uint64_t frames) const override {
    return frames == 1 && frame_.content_checksum;
  }

  [[nodiscard]] bool in_frame() const override {
    return (phase_ != phase::header && phase_ != phase::legacy_size) || !collected().empty();
  }

 private:
  enum class phase {
    header,
    skipping,
    window,
    block_size,
    block,
    stored_block,
    stored_checksum,
    text,
    ready_block,
    ready_text,
    content_checksum,
    legacy_size,
    legacy_window,
    legacy_block,
    legacy_text
  };

  step_result step(cursor& at) override;
  void reset_frame() override;
  void free_memory() noexcept override { block_.free_memory(); }

  step_result read_header(cursor& at);
  step_result leave_header(const lz4_header_result& parsed);
  step_result check_frame();
  step_result begin_frame();
  step_result skip(cursor& at);
  step_result read_block_size(cursor& at);
  step_result read_block(cursor& at);
  step_result decode_block(std::span<const std::byte> packed);
  step_result copy_stored_block(cursor& at);
  step_result read_stored_checksum(cursor& at);
  step_result write_text(cursor& at);
  bool take_over();
  step_result skip_ready_block(cursor& at);
  step_result write_ready_text(cursor& at);
  step_result end_text();
  step_result read_content_checksum(cursor& at);
  step_result read_legacy_size(cursor& at);
  step_result begin_legacy_block();
  step_result read_legacy_block(cursor& at);
  step_result write_legacy_text(cursor& at);

  void copy(cursor& at, std::span<const std::byte> text);
  [[nodiscard]] std::uint32_t collected_number() const {
    return static_cast<std::uint32_t>(little_endian(collected()));
  }

  static constexpr std::size_t number_bytes = 4;  // of sizes and checksums

  phase phase_ = phase::header;
  lz4_frame_header frame_;
  std::uint64_t bytes_to_skip_ = 0;  // of a skippable frame, or of the block that is taken over
  std::uint64_t text_bytes_ = 0;     // of the frame
  xxh32 text_checksum_;              // of the frame
  std::uint32_t packed_bytes_ = 0;   // of the block, without its checksum
  lz4_block block_;
  std::uint32_t stored_remaining_ = 0;  // bytes of the stored block
  xxh32 stored_checksum_;
  offered_parts<lz4_part> parts_;
  std::span<const std::byte> ready_text_;  // of the block that is taken over, to be written
};

frame_decoder::step_result lz4_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::skipping:
      return skip(at);
    case phase::window:
      return begin_frame();
    case phase::block_size:
      return read_block_size(at);
    case phase::block:
      return read_block(at);
    case phase::stored_block:
      return copy_stored_block(at);
    case phase::stored_checksum:
      return read_stored_checksum(at);
    case phase::text:
      return write_text(at);
    case phase::ready_block:
      return skip_ready_block(at);
    case phase::ready_text:
      return write_ready_text(at);
    case phase::content_checksum:
      return read_content_checksum(at);
    case phase::legacy_size:
      return read_legacy_size(at);
    case phase::legacy_window:
      return begin_legacy_block();
    case phase::legacy_block:
      return read_legacy_block(at);
    case phase::legacy_text:
      return write_legacy_text(at);
  }
  return std::nullopt;
}

void lz4_decoder::reset_frame() {
  phase_ = phase::header;
  parts_.clear();
}

frame_decoder::step_result lz4_decoder::read_header(cursor& at) {
  lz4_header_result parsed = parse_lz4_header(collected());
  while (parsed.status == lz4_header_status::needs_more) {
    if (!collect(at, collected().size() + 1)) return fill_status::needs_input;
    parsed = parse_lz4_header(collected());
  }
  return leave_header(parsed);
}

frame_decoder::step_result lz4_decoder::leave_header(const lz4_header_result& parsed) {
  switch (parsed.status) {
    case lz4_header_status::needs_more:
    case lz4_header_status::not_lz4:
      return refuse_magic();
    case lz4_header_status::reserved_bits:
      return fail_damaged("its header has reserved bits set");
    case lz4_header_status::unknown_version:
      return fail_damaged("its header states another version than 1");
    case lz4_header_status::wrong_block_size:
      return fail_damaged("its header has an invalid block size");
    case lz4_header_status::complete:
      break;
  }
  frame_ = parsed.header;
  switch (frame_.kind) {
    case lz4_kind::frame:
      return check_frame();
    case lz4_kind::skippable:
      drop_collected();
      bytes_to_skip_ = frame_.skip_bytes;
      phase_ = phase::skipping;
      break;
    case lz4_kind::legacy:
      drop_collected();
      phase_ = phase::legacy_size;
      break;
  }
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::check_frame() {
  if (frame_.dictionary_id != 0) {
    return refuse(frame_name() + " needs dictionary " + std::to_string(frame_.dictionary_id) +
                  ", and gpuhist takes no dictionaries for lz4,");
  }
  phase_ = phase::window;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::begin_frame() {
  const std::size_t bytes = frame_.block_bytes;
  if (const step_result asked = request_window(lz4_block::memory_for(bytes, bytes, frame_.linked_blocks)); asked) {
    return asked;
  }
  const auto descriptor = collected().subspan(magic_bytes, collected().size() - magic_bytes - 1);
  if ((xxh32::of(descriptor) >> 8U & 0xFFU) != std::to_integer<std::uint32_t>(collected().back())) {
    return fail_damaged("its header does not match its checksum");
  }
  drop_collected();
  block_.begin_frame(bytes, bytes, frame_.linked_blocks);
  text_bytes_ = 0;
  text_checksum_ = {};
  phase_ = phase::block_size;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::skip(cursor& at) {
  if (!take_remaining(at, bytes_to_skip_)) return fill_status::needs_input;
  phase_ = phase::header;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::read_block_size(cursor& at) {
  if (collected().empty() && take_over()) return std::nullopt;
  if (!collect(at, number_bytes)) return fill_status::needs_input;
  const std::uint32_t field = collected_number();
  drop_collected();
  if (field == 0) return end_text();
  packed_bytes_ = field & ~lz4_stored_bit;
  if (packed_bytes_ > frame_.block_bytes) return fail_damaged("a block is larger than its header allows");
  if ((field & lz4_stored_bit) != 0) {
    stored_remaining_ = packed_bytes_;
    stored_checksum_ = {};
    phase_ = phase::stored_block;
  } else {
    block_.begin(packed_bytes_);
    phase_ = phase::block;
  }
  return std::nullopt;
}

/// A block that has arrived as a whole is decoded where it lies.
frame_decoder::step_result lz4_decoder::read_block(cursor& at) {
  const std::size_t checksum_bytes = frame_.block_checksums ? number_bytes : 0;
  if (block_.is_empty() && collected().empty() && at.in.size() >= packed_bytes_ + checksum_bytes) {
    const std::span<const std::byte> packed = at.in.first(packed_bytes_);
    take(at, packed_bytes_);
    collect(at, checksum_bytes);
    return decode_block(packed);
  }
  take(at, block_.gather(at.in));
  if (!block_.is_whole() || !collect(at, checksum_bytes)) return fill_status::needs_input;
  return decode_block(block_.gathered());
}

/// The checksum of the block was collected.
frame_decoder::step_result lz4_decoder::decode_block(std::span<const std::byte> packed) {
  if (frame_.block_checksums && xxh32::of(packed) != collected_number()) return fail_damaged(wrong_block_checksum);
  drop_collected();
  if (!block_.decode(packed)) return fail_damaged("a block does not decode");
  phase_ = phase::text;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::copy_stored_block(cursor& at) {
  const auto bytes =
      static_cast<std::uint32_t>(std::min({std::size_t{stored_remaining_}, at.in.size(), at.out.size()}));
  const std::span<const std::byte> text = at.in.first(bytes);
  if (frame_.block_checksums) stored_checksum_.add(text);
  block_.remember(text);
  copy(at, text);
  take(at, bytes);
  stored_remaining_ -= bytes;
  if (stored_remaining_ != 0) return at.in.empty() ? fill_status::needs_input : fill_status::output_full;
  phase_ = frame_.block_checksums ? phase::stored_checksum : phase::block_size;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::read_stored_checksum(cursor& at) {
  if (!collect(at, number_bytes)) return fill_status::needs_input;
  if (stored_checksum_.value() != collected_number()) return fail_damaged(wrong_block_checksum);
  drop_collected();
  phase_ = phase::block_size;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::write_text(cursor& at) {
  const std::size_t bytes = std::min(block_.text().size(), at.out.size());
  copy(at, block_.text().first(bytes));
  block_.drop(bytes);
  if (!block_.text().empty()) return fill_status::output_full;
  phase_ = phase::block_size;
  return std::nullopt;
}

/// Begins to take over a block that was decoded ahead, if one begins here.
bool lz4_decoder::take_over() {
  const lz4_ready_block* found = nullptr;
  const auto fits = [&](const lz4_part& part) { return (found = part.find(consumed_total(), frame_)) != nullptr; };
  if (!parts_.take(consumed_total(), fits)) return false;
  bytes_to_skip_ = found->packed_bytes;
  ready_text_ = found->text;
  phase_ = phase::ready_block;
  return true;
}

/// As without the part, text comes only after all compressed bytes of its block.
frame_decoder::step_result lz4_decoder::skip_ready_block(cursor& at) {
  if (!take_remaining(at, bytes_to_skip_)) return fill_status::needs_input;
  phase_ = phase::ready_text;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::write_ready_text(cursor& at) {
  const std::size_t bytes = std::min(ready_text_.size(), at.out.size());
  copy(at, ready_text_.first(bytes));
  ready_text_ = ready_text_.subspan(bytes);
  if (!ready_text_.empty()) return fill_status::output_full;
  parts_.leave();
  phase_ = phase::block_size;
  return std::nullopt;
}

/// Writes text of the frame, for which there is room.
void lz4_decoder::copy(cursor& at, std::span<const std::byte> text) {
  constexpr std::size_t at_once = 16 << 10U;  // the copy finds it in the first-level cache
  text_bytes_ += text.size();
  while (!text.empty()) {
    const std::span<const std::byte> next = text.first(std::min(at_once, text.size()));
    if (frame_.content_checksum) text_checksum_.add(next);
    std::memcpy(at.out.data(), next.data(), next.size());
    write(at, next.size());
    text = text.subspan(next.size());
  }
}

frame_decoder::step_result lz4_decoder::end_text() {
  if (frame_.text_bytes != 0 && frame_.text_bytes != text_bytes_) {
    return fail_damaged("its text does not have the length that its header states");
  }
  phase_ = phase::content_checksum;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::read_content_checksum(cursor& at) {
  if (frame_.content_checksum) {
    if (!collect(at, number_bytes)) return fill_status::needs_input;
    if (text_checksum_.value() != collected_number()) return fail_damaged("its text does not match its checksum");
  }
  phase_ = phase::header;
  return end_frame();
}

/// The size field of a block may also be the magic number of another frame: a legacy frame has no other end.
frame_decoder::step_result lz4_decoder::read_legacy_size(cursor& at) {
  if (!collect(at, number_bytes)) return fill_status::needs_input;
  const std::uint32_t size = collected_number();
  if (size == 0) return fail_damaged("an empty legacy block");
  if (size > lz4_block::max_legacy_packed_bytes()) {
    phase_ = phase::header;
    return std::nullopt;
  }
  drop_collected();
  packed_bytes_ = size;
  phase_ = phase::legacy_window;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::begin_legacy_block() {
  const step_result asked = request_window(lz4_block::memory_for(packed_bytes_, lz4_legacy_block_bytes, false));
  if (asked) return asked;
  block_.begin_frame(packed_bytes_, lz4_legacy_block_bytes, false);
  block_.begin(packed_bytes_);
  phase_ = phase::legacy_block;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::read_legacy_block(cursor& at) {
  take(at, block_.gather(at.in));
  if (!block_.is_whole()) return fill_status::needs_input;
  if (!block_.decode(block_.gathered())) return fail_damaged("its legacy block does not decode");
  phase_ = phase::legacy_text;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::write_legacy_text(cursor& at) {
  const std::size_t bytes = std::min(block_.text().size(), at.out.size());
  if (bytes != 0) std::memcpy(at.out.data(), block_.text().data(), bytes);
  block_.drop(bytes);
  write(at, bytes);
  if (!block_.text().empty()) return fill_status::output_full;
  phase_ = phase::legacy_size;
  return end_frame();
}

}  // namespace

std::unique_ptr<decoder> make_lz4_decoder(const decoder_limits& limits) {
  return std::make_unique<lz4_decoder>(limits);
}

namespace {

struct lz4_frames {
  using blocks = lz4_blocks;
  using head = no_head;
  static constexpr std::size_t max_header_bytes = lz4_max_header_bytes;
  static constexpr std::string_view nothing_after = "no frame can be found after data that is not an lz4 frame";
  static constexpr auto parse = parse_lz4_header;

  static bool is_skippable(const lz4_frame_header& header) { return header.kind == lz4_kind::skippable; }
  static blocks begin(const lz4_frame_header& header) { return blocks(header); }

  static std::string_view hides_end(const lz4_frame_header& header) {
    return header.kind == lz4_kind::legacy ? "the end of a legacy frame cannot be found without decoding it" : "";
  }

  static std::shared_ptr<const frame_context> part_context(const lz4_blocks& blocks) {
    if (!blocks.is_at_block() || blocks.header().linked_blocks) return nullptr;
    return std::make_shared<lz4_context>(blocks.header());
  }
};

}  // namespace

std::unique_ptr<splitter> make_lz4_splitter() { return make_lz4_splitter_with_parts(lz4_part_bytes); }

std::unique_ptr<splitter> make_lz4_splitter_with_parts(std::size_t part_bytes) {
  return std::make_unique<block_splitter<lz4_frames>>(part_bytes);
}

}  // namespace gpuhist::io
