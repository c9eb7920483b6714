#include "io/bzip2/bzip2_parts.hpp"

#include "io/bzip2/bzip2_block.hpp"
#include "io/bzip2/bzip2_inverse.hpp"
#include "io/bzip2/bzip2_search.hpp"
#include "io/bzip2/bzip2_text.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace gpuhist::io {
namespace {

class bzip2_part_decoder final : public part_decoder {
 public:
  std::unique_ptr<decoded_part> decode(const part_input& input) override;

 private:
  /// A block whose symbols are read, and which waits to be inverted together with others.
  struct candidate {
    std::unique_ptr<std::uint8_t[]> bytes;
    std::uint64_t begin = 0;  // in bits of the part
    std::uint64_t end = 0;
    bzip2_block_header header;
    std::size_t size = 0;
  };

  std::optional<std::uint64_t> read_block(const bzip2_pieces& pieces, std::uint64_t begin);
  void finish_candidates(const part_input& input);
  bool keep(const candidate& block, const part_input& input);
  std::optional<bzip2_ready_block> expand(const candidate& block);
  static std::size_t room_for_text(const candidate& block) { return block.size + block.size / 8; }

  static constexpr std::size_t scratch_bytes = 32 << 10U;

  bzip2_block_reader reader_;
  bzip2_inverter inverter_;
  std::array<candidate, bzip2_inverter::most_blocks> candidates_;
  std::size_t waiting_ = 0;  // candidates
  std::array<std::byte, scratch_bytes> scratch_{};
  std::vector<bzip2_ready_block> blocks_;
  std::uint64_t read_bytes_ = 0;  // of the last candidate
  std::size_t kept_bytes_ = 0;
  bool is_full_ = false;
};

/// How much time may be spent on blocks that turn out to be false: data may be made of them.
class failure_budget {
 public:
  explicit failure_budget(std::uint64_t bytes) : left_(4 * bytes + 16 * per_failure) {}

  void charge(std::uint64_t bytes) { left_ -= std::min(left_, bytes + per_failure); }
  [[nodiscard]] bool is_spent() const { return left_ == 0; }

 private:
  static constexpr std::uint64_t per_failure = 4096;  // building the tables of a code takes as long as so many bytes
  std::uint64_t left_;
};

std::unique_ptr<decoded_part> bzip2_part_decoder::decode(const part_input& input) {
  blocks_.clear();
  waiting_ = 0;
  kept_bytes_ = 0;
  is_full_ = false;
  const bzip2_pieces pieces(input.pieces);
  failure_budget budget(input.size);
  auto begin = find_bzip2_block(pieces, input.size, 0);
  while (begin && !is_full_ && !budget.is_spent()) {
    std::uint64_t next = *begin + 1;
    if (const auto end = read_block(pieces, *begin)) {
      next = *end;
      if (waiting_ == candidates_.size()) finish_candidates(input);
    } else {
      budget.charge(read_bytes_);
    }
    begin = find_bzip2_block(pieces, input.size, next);
  }
  finish_candidates(input);
  if (blocks_.empty()) return nullptr;
  return std::make_unique<bzip2_part>(std::move(blocks_));
}

/// Reads the block whose magic number is at `begin` as the next candidate; returns its end.
std::optional<std::uint64_t> bzip2_part_decoder::read_block(const bzip2_pieces& pieces, std::uint64_t begin) {
  candidate& block = candidates_[waiting_];
  if (!block.bytes) {
    block.bytes = std::make_unique_for_overwrite<std::uint8_t[]>(bzip2_largest_block + bzip2_symbols::slack);
  }
  const std::uint64_t from = begin + bzip2_magic_bits;
  bzip2_pieces::place at = pieces.locate(from / 8);
  read_bytes_ = 0;
  if (at.index == pieces.number()) return std::nullopt;
  bzip2_bits bits;
  bits.feed(pieces[at.index].subspan(from / 8 - at.before));
  std::uint64_t before = from / 8;  // bytes before those that are fed
  if (bits.need(8)) bits.drop(static_cast<unsigned>(from % 8));
  reader_.start(block.bytes.get(), bzip2_largest_block);
  auto state = reader_.read(bits);
  while (state == bzip2_block_reader::state::needs_input && at.index + 1 < pieces.number()) {
    before = at.before += pieces[at.index++].size();
    bits.feed(pieces[at.index]);
    state = reader_.read(bits);
  }
  read_bytes_ = before + bits.used() - from / 8;
  if (state != bzip2_block_reader::state::complete) return std::nullopt;
  block.begin = begin;
  block.end = 8 * (before + bits.used()) - bits.count();
  block.header = reader_.header();
  block.size = reader_.size();
  ++waiting_;
  return block.end;
}

void bzip2_part_decoder::finish_candidates(const part_input& input) {
  if (waiting_ == 0) return;
  inverter_.reserve(waiting_, bzip2_largest_block);
  std::array<bzip2_transformed, bzip2_inverter::most_blocks> transformed;
  for (std::size_t i = 0; i < waiting_; ++i) {
    const candidate& block = candidates_[i];
    transformed[i] = {.bytes = block.bytes.get(),
                      .size = block.size,
                      .origin = block.header.origin,
                      .randomised = block.header.randomised};
  }
  inverter_.invert(std::span(transformed).first(waiting_));
  for (std::size_t i = 0; i < waiting_ && !is_full_; ++i) is_full_ = !keep(candidates_[i], input);
  waiting_ = 0;
}

/// Adds a block to the result if its checksum matches. Returns false if it does not fit.
bool bzip2_part_decoder::keep(const candidate& block, const part_input& input) {
  auto ready = expand(block);
  if (!ready) return true;
  kept_bytes_ += room_for_text(block) + sizeof(bzip2_ready_block);
  if (kept_bytes_ > input.max_bytes) return false;
  ready->begin = 8 * input.offset + block.begin;
  ready->end = 8 * input.offset + block.end;
  blocks_.push_back(std::move(*ready));
  return true;
}

/// The text of a block, or its bytes if the text is much longer: a block may expand to 50 times its size. Nothing if
/// the checksum does not match.
std::optional<bzip2_ready_block> bzip2_part_decoder::expand(const candidate& block) {
  const std::size_t room = room_for_text(block);
  auto text = std::make_unique_for_overwrite<std::byte[]>(room);
  std::size_t length = 0;
  bool fits = true;
  std::uint32_t crc = 0;
  bzip2_run_expander runs;
  runs.start({block.bytes.get(), block.size});
  while (!runs.ended()) {
    fits = fits && length < room;
    const std::span<std::byte> rest =
        fits ? std::span(text.get() + length, std::min(room - length, scratch_bytes)) : std::span(scratch_);
    const std::size_t written = runs.expand(rest);
    crc = bzip2_crc(crc, rest.first(written));
    length += written;
  }
  if (runs.is_cut() || crc != block.header.crc) return std::nullopt;
  if (!fits) {
    length = block.size;
    text = std::make_unique_for_overwrite<std::byte[]>(block.size);
    std::memcpy(text.get(), block.bytes.get(), block.size);
  }
  return bzip2_ready_block{.crc = crc, .size = block.size, .is_text = fits, .bytes = std::move(text), .length = length};
}

}  // namespace

const bzip2_ready_block* bzip2_part::find(std::uint64_t begin) const {
  const auto found = std::ranges::lower_bound(blocks_, begin, {}, &bzip2_ready_block::begin);
  return found == blocks_.end() || found->begin != begin ? nullptr : &*found;
}

std::unique_ptr<part_decoder> make_bzip2_part_decoder() { return std::make_unique<bzip2_part_decoder>(); }

}  // namespace gpuhist::io
