#include "io/gzip/gzip_decoder.hpp"

#include "io/gzip/deflate_finder.hpp"
#include "io/gzip/deflate_part.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace gpuhist::io {
namespace {

/// The work for one guess in addition to decoding, in compressed bytes.
constexpr std::size_t guess_cost = 512;

/// More compressed bytes ahead of the first block are not kept: they would take too long to decode in link().
constexpr std::size_t max_ahead = std::size_t{1} << 16U;

/// The memory of a part in addition to its text: its windows, and the bytes ahead of the first block.
constexpr std::size_t fixed_bytes = 4 * deflate_window + max_ahead;

/// Chunks that are kept for the next part: 16 MiB.
constexpr std::size_t kept_chunks = 32;

class gzip_part_decoder final : public part_decoder {
 public:
  std::unique_ptr<decoded_part> decode(const part_input& input) override;

 private:
  void collect(const part_input& input);
  std::unique_ptr<decoded_part> decode_from(const part_input& input, const std::optional<block_guess>& guess);
  [[nodiscard]] std::vector<std::byte> ahead_of(std::uint64_t bit) const;

  std::vector<std::byte> bytes_;  // the part and what follows, with deflate_bits::padding
  deflate_data data_;             // in `bytes_`
  deflate_blocks blocks_;
  std::shared_ptr<part_memory> memory_ = std::make_shared<part_memory>(deflate_text::chunk_bytes, kept_chunks);
  std::uint64_t decoded_ = 0;  // compressed bytes, for all guesses of the part
};

/// Copies the pieces: the loops over bits need one piece of memory, with padding. It costs one part in a hundred of the
/// time.
void gzip_part_decoder::collect(const part_input& input) {
  std::size_t size = 0;
  for (const auto& piece : input.pieces) size += piece.size();
  bytes_.clear();
  bytes_.reserve(size + deflate_bits::padding);
  for (const auto& piece : input.pieces) bytes_.insert(bytes_.end(), piece.begin(), piece.end());
  bytes_.resize(size + deflate_bits::padding);
  data_ = {.bytes = std::span(bytes_).first(size), .offset = input.offset};
}

std::unique_ptr<decoded_part> gzip_part_decoder::decode(const part_input& input) {
  if (input.max_bytes < fixed_bytes) return nullptr;
  collect(input);
  if (input.begins_frame) return decode_from(input, std::nullopt);
  deflate_finder finder(data_.bytes, static_cast<std::size_t>(input.size));
  for (decoded_ = 0; decoded_ < 2 * input.size + guess_cost; decoded_ += guess_cost) {
    const auto guess = finder.next();
    if (!guess) return nullptr;
    if (auto part = decode_from(input, guess)) return part;
  }
  return nullptr;
}

/// Decodes from a guess, or from the begin of the part, which is the header of a member. A guess that leads to an error
/// is wrong: real blocks are seldom damaged, and the decoder reports them.
std::unique_ptr<decoded_part> gzip_part_decoder::decode_from(const part_input& input,
                                                             const std::optional<block_guess>& guess) {
  const std::uint64_t base = 8 * input.offset;
  const bool in_member = guess && guess->found != block_guess::kind::member;
  deflate_run run(input.max_bytes - fixed_bytes, memory_);
  if (in_member) {
    if (!run.begin_at_block(base + guess->first_bit, base + guess->bit, std::nullopt)) return nullptr;
  } else {
    run.begin_at_header(base + (guess ? guess->bit : 0));
  }
  const run_end end = run.decode(blocks_, data_, base + 8 * input.size);
  decoded_ += (run.position() - base - (guess ? guess->bit : 0)) / 8;
  if (run.stretches().empty() || (guess && end == run_end::damaged)) return nullptr;
  std::vector<std::byte> ahead = in_member ? ahead_of(guess->bit) : std::vector<std::byte>();
  return std::make_unique<deflate_part>(std::move(run), in_member, std::move(ahead), input.offset);
}

/// The bytes of the part before the block at `bit`, with padding; none if they are too many.
std::vector<std::byte> gzip_part_decoder::ahead_of(std::uint64_t bit) const {
  const auto size = static_cast<std::size_t>((bit + 7) / 8);
  if (size > max_ahead) return {};
  std::vector<std::byte> ahead(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size));
  ahead.resize(size + deflate_bits::padding);
  return ahead;
}

}  // namespace

std::unique_ptr<part_decoder> make_gzip_part_decoder() { return std::make_unique<gzip_part_decoder>(); }

}  // namespace gpuhist::io
