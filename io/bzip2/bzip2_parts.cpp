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
  /// A block whose symbols are read. Positions are bits of the part.
  struct candidate {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bzip2_block_header header;
    std::size_t size = 0;
  };

  std::optional<candidate> read_block(const bzip2_pieces& pieces, std::uint64_t begin);
  bool keep(const candidate& block, const part_input& input);
  std::optional<bzip2_ready_block> expand(const candidate& block);

  static std::size_t room_for_text(const candidate& block) { return block.size + block.size / 8; }

  static constexpr std::size_t scratch_bytes = 32 << 10U;

  bzip2_block_reader reader_;
  bzip2_inverter inverter_;
  std::unique_ptr<std::uint8_t[]> column_;
  std::array<std::byte, scratch_bytes> scratch_{};
  std::vector<bzip2_ready_block> blocks_;
  std::uint64_t read_bytes_ = 0;  // of the last candidate
  std::size_t kept_bytes_ = 0;
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
  kept_bytes_ = 0;
  const bzip2_pieces pieces(input.pieces);
  failure_budget budget(input.size);
  auto begin = find_bzip2_block(pieces, input.size, 0);
  while (begin && !budget.is_spent()) {
    std::uint64_t next = *begin + 1;
    if (const auto block = read_block(pieces, *begin)) {
      if (!keep(*block, input)) break;
      next = block->end;
    } else {
      budget.charge(read_bytes_);
    }
    begin = find_bzip2_block(pieces, input.size, next);
  }
  if (blocks_.empty()) return nullptr;
  return std::make_unique<bzip2_part>(std::move(blocks_));
}

/// Reads the block whose magic number is at `begin` into `column_`.
std::optional<bzip2_part_decoder::candidate> bzip2_part_decoder::read_block(const bzip2_pieces& pieces,
                                                                            std::uint64_t begin) {
  if (!column_) {
    column_ = std::make_unique_for_overwrite<std::uint8_t[]>(bzip2_inverter::room_for(bzip2_largest_block));
    inverter_.reserve(bzip2_largest_block);
  }
  const std::uint64_t from = begin + bzip2_magic_bits;
  bzip2_pieces::place at = pieces.locate(from / 8);
  read_bytes_ = 0;
  if (at.index == pieces.number()) return std::nullopt;
  bzip2_bits bits;
  bits.feed(pieces[at.index].subspan(from / 8 - at.before));
  std::uint64_t before = from / 8;  // bytes before those that are fed
  if (bits.need(8)) bits.drop(static_cast<unsigned>(from % 8));
  reader_.start(column_.get(), bzip2_largest_block);
  auto state = reader_.read(bits);
  while (state == bzip2_block_reader::state::needs_input && at.index + 1 < pieces.number()) {
    before = at.before += pieces[at.index++].size();
    bits.feed(pieces[at.index]);
    state = reader_.read(bits);
  }
  read_bytes_ = before + bits.used() - from / 8;
  if (state != bzip2_block_reader::state::complete) return std::nullopt;
  return candidate{.begin = begin,
                   .end = 8 * (before + bits.used()) - bits.count(),
                   .header = reader_.header(),
                   .size = reader_.size()};
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
  const std::span<const std::uint8_t> bytes = inverter_.invert({.column = column_.get(),
                                                                .size = block.size,
                                                                .origin = block.header.origin,
                                                                .randomised = block.header.randomised});
  const std::size_t room = room_for_text(block);
  auto text = std::make_unique_for_overwrite<std::byte[]>(room);
  std::size_t length = 0;
  bool fits = true;
  std::uint32_t crc = 0;
  bzip2_run_expander runs;
  runs.start(bytes);
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
    std::memcpy(text.get(), bytes.data(), block.size);
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
