#include "io/lz4/lz4_parts.hpp"

#include "io/frame_magic.hpp"
#include "io/lz4/xxh32.hpp"

#include <lz4.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>

namespace gpuhist::io {
namespace {

constexpr std::size_t number_bytes = 4;  // of sizes and checksums

/// Bytes that lie in several pieces, from front to back.
class lz4_pieces {
 public:
  explicit lz4_pieces(std::span<const std::span<const std::byte>> pieces) : pieces_(pieces) {
    for (const auto& each : pieces) left_ += each.size();
  }

  [[nodiscard]] std::uint64_t left() const { return left_; }

  /// Skips bytes, at most left().
  void skip(std::size_t bytes) {
    left_ -= bytes;
    while (bytes != 0) bytes -= next(bytes).size();
  }

  /// Whether the next bytes, at most left(), are in more than one piece.
  [[nodiscard]] bool are_divided(std::size_t bytes) {
    leave_empty_pieces();
    return bytes > pieces_[index_].size() - at_;
  }

  /// Takes bytes, at most left(): where they lie, or if they are in more than one piece, a copy in `copy`.
  std::span<const std::byte> take(std::size_t bytes, std::vector<std::byte>& copy) {
    left_ -= bytes;
    std::span<const std::byte> taken = next(bytes);
    if (taken.size() == bytes) return taken;
    if (copy.size() < bytes) {
      copy = {};  // so that it has exactly this size
      copy.resize(bytes);
    }
    std::size_t copied = 0;
    for (;;) {
      if (!taken.empty()) std::memcpy(copy.data() + copied, taken.data(), taken.size());
      copied += taken.size();
      if (copied == bytes) return std::span(copy).first(bytes);
      taken = next(bytes - copied);
    }
  }

 private:
  /// Up to `bytes` bytes of one piece; none only if `bytes` is 0.
  std::span<const std::byte> next(std::size_t bytes) {
    leave_empty_pieces();
    const std::size_t size = std::min(bytes, pieces_[index_].size() - at_);
    const std::span<const std::byte> found = pieces_[index_].subspan(at_, size);
    at_ += size;
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
  std::size_t at_ = 0;  // in the piece
  std::uint64_t left_ = 0;
};

constexpr std::size_t kept_texts = 2;

class lz4_part_decoder final : public part_decoder {
 public:
  std::unique_ptr<decoded_part> decode(const part_input& input) override;

 private:
  enum class outcome { next, end };

  static constexpr std::size_t least_blocks = 16;  // for which the list has room

  outcome read_block(lz4_pieces& pieces, std::uint64_t begin, std::size_t max_bytes);
  std::optional<std::span<const std::byte>> expand(std::span<const std::byte> packed);
  bool make_room(std::size_t copied, std::size_t max_bytes);

  lz4_frame_header frame_;
  std::vector<lz4_ready_block> blocks_;
  lz4_part::memory texts_;
  std::size_t used_ = 0;  // bytes of the last text
  std::vector<std::byte> packed_;
  std::vector<std::byte> number_;
  const std::shared_ptr<part_memory> memory_ = part_memory::shared(lz4_text_bytes, kept_texts);
};

std::unique_ptr<decoded_part> lz4_part_decoder::decode(const part_input& input) {
  const auto context = std::dynamic_pointer_cast<const lz4_context>(input.start.context);
  if (!input.begins_frame || !context || context->frame.linked_blocks) return nullptr;
  frame_ = context->frame;
  blocks_.clear();
  texts_.clear();
  used_ = 0;
  lz4_pieces pieces(input.pieces);
  const std::uint64_t all = pieces.left();
  while (all - pieces.left() < input.size) {
    if (read_block(pieces, input.offset + (all - pieces.left()), input.max_bytes) == outcome::end) break;
  }
  if (blocks_.empty()) {
    texts_.clear();
    return nullptr;
  }
  return std::make_unique<lz4_part>(frame_, std::move(blocks_), std::move(texts_));
}

/// Damage, and the end of the frame, end the part: the decoder of the input judges it.
lz4_part_decoder::outcome lz4_part_decoder::read_block(lz4_pieces& pieces, std::uint64_t begin, std::size_t max_bytes) {
  if (pieces.left() < number_bytes) return outcome::end;
  const auto field = static_cast<std::uint32_t>(little_endian(pieces.take(number_bytes, number_)));
  const std::uint32_t bytes = field & ~lz4_stored_bit;
  const std::size_t checksum_bytes = frame_.block_checksums ? number_bytes : 0;
  if (field == 0 || bytes > frame_.block_bytes || bytes + checksum_bytes > pieces.left()) return outcome::end;
  if ((field & lz4_stored_bit) != 0) {
    pieces.skip(bytes + checksum_bytes);
    return outcome::next;
  }
  if (!make_room(pieces.are_divided(bytes) ? bytes : 0, max_bytes)) return outcome::end;
  const std::span<const std::byte> packed = pieces.take(bytes, packed_);
  if (frame_.block_checksums && xxh32::of(packed) != little_endian(pieces.take(number_bytes, number_))) {
    return outcome::end;
  }
  const auto text = expand(packed);
  if (!text) return outcome::end;
  blocks_.push_back({.begin = begin, .packed_bytes = number_bytes + bytes + checksum_bytes, .text = *text});
  return outcome::next;
}

/// The text of a block, for which there is room; nothing if it does not decode.
std::optional<std::span<const std::byte>> lz4_part_decoder::expand(std::span<const std::byte> packed) {
  std::byte* const to = texts_.back().get() + used_;
  const int bytes = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(to),
                                        static_cast<int>(packed.size()), static_cast<int>(frame_.block_bytes));
  if (bytes < 0) return std::nullopt;
  used_ += static_cast<std::size_t>(bytes);
  return std::span(to, static_cast<std::size_t>(bytes));
}

/// Makes room for the text of a block of the largest size, and for its place in the list of blocks. `copied`: bytes of
/// the block that will be copied. False if the part would need more than `max_bytes`.
bool lz4_part_decoder::make_room(std::size_t copied, std::size_t max_bytes) {
  const bool fits_text = !texts_.empty() && lz4_text_bytes - used_ >= frame_.block_bytes;
  const bool fits_list = blocks_.size() < blocks_.capacity();
  const std::size_t longer_list = std::max(least_blocks, 2 * blocks_.capacity());
  const std::size_t list = blocks_.capacity() + (fits_list ? 0 : longer_list);  // both exist while it grows
  const std::size_t needed = (texts_.size() + (fits_text ? 0 : 1)) * lz4_text_bytes + list * sizeof(lz4_ready_block);
  if (needed + std::max(copied, packed_.capacity()) > max_bytes) packed_ = {};  // of another block or part
  if (needed + std::max(copied, packed_.capacity()) > max_bytes) return false;
  if (!fits_list) blocks_.reserve(longer_list);
  if (fits_text) return true;
  texts_.push_back(memory_->get(lz4_text_bytes));
  used_ = 0;
  return true;
}

}  // namespace

const lz4_ready_block* lz4_part::find(std::uint64_t begin, const lz4_frame_header& frame) const {
  const auto found = std::ranges::lower_bound(blocks_, begin, {}, &lz4_ready_block::begin);
  return found == blocks_.end() || found->begin != begin || frame != frame_ ? nullptr : &*found;
}

std::unique_ptr<part_decoder> make_lz4_part_decoder() { return std::make_unique<lz4_part_decoder>(); }

}  // namespace gpuhist::io
