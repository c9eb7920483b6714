#include "io/xz/xz_parts.hpp"

#include "io/failure.hpp"
#include "io/xz/lzma_coder.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace gpuhist::io {
namespace {

using block_list = std::shared_ptr<const std::vector<xz_listed_block>>;

constexpr std::size_t coder_bytes = std::size_t{128} << 10U;  // of liblzma, besides the dictionary

/// Bytes of a part, in order.
class piece_cursor {
 public:
  piece_cursor(std::span<const std::span<const std::byte>> pieces, std::uint64_t skipped, std::uint64_t most)
      : pieces_(pieces), left_(most) {
    while (index_ < pieces_.size() && skipped >= pieces_[index_].size()) skipped -= pieces_[index_++].size();
    at_ = static_cast<std::size_t>(skipped);
  }

  /// The next bytes that are contiguous; empty at the end.
  [[nodiscard]] std::span<const std::byte> rest() const {
    if (index_ == pieces_.size()) return {};
    const auto here = pieces_[index_].subspan(at_);
    return here.first(static_cast<std::size_t>(std::min<std::uint64_t>(here.size(), left_)));
  }

  /// `bytes`: at most rest().size().
  void advance(std::size_t bytes) {
    taken_ += bytes;
    left_ -= bytes;
    at_ += bytes;
    while (index_ < pieces_.size() && at_ == pieces_[index_].size()) {
      ++index_;
      at_ = 0;
    }
  }

  /// Fills `out` as far as there are bytes; returns their number.
  std::size_t copy(std::span<std::byte> out) {
    std::size_t filled = 0;
    while (filled < out.size() && !rest().empty()) {
      const std::size_t size = std::min(rest().size(), out.size() - filled);
      std::copy_n(rest().data(), size, out.data() + filled);
      filled += size;
      advance(size);
    }
    return filled;
  }

  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  std::span<const std::span<const std::byte>> pieces_;
  std::size_t index_ = 0;
  std::size_t at_ = 0;
  std::uint64_t left_;
  std::uint64_t taken_ = 0;
};

/// Parses a header that begins with its size. `header`: as many bytes of it as there are.
bool parse_header(std::span<const std::byte> header, lzma_check check, lzma_block& block, xz_filters& filters) {
  if (header.empty() || header[0] == std::byte{0}) return false;
  block = {};
  block.version = 1;
  block.check = check;
  block.header_size = lzma_block_header_size_decode(std::to_integer<std::uint32_t>(header[0]));
  block.filters = filters.list();
  if (header.size() < block.header_size) return false;
  return checked(lzma_block_header_decode(&block, nullptr, reinterpret_cast<const std::uint8_t*>(header.data()))) ==
         LZMA_OK;
}

class xz_part_decoder final : public part_decoder {
 public:
  explicit xz_part_decoder(block_list listed) : listed_(std::move(listed)) {}

  std::unique_ptr<decoded_part> decode(const part_input& input) override;

 private:
  std::optional<xz_ready_block> decode_block(const xz_listed_block& listed, const part_input& input);
  bool begin_block(piece_cursor& in, lzma_block& block, xz_ready_block& made, std::uint64_t most_dictionary);
  bool decode_text(piece_cursor& in, xz_ready_block& made, std::size_t expected);

  const block_list listed_;
  lzma_coder coder_;
  std::uint64_t kept_bytes_ = 0;
};

std::unique_ptr<decoded_part> xz_part_decoder::decode(const part_input& input) {
  std::vector<xz_ready_block> blocks;
  kept_bytes_ = coder_bytes;
  const auto first = std::ranges::lower_bound(*listed_, input.offset, {}, &xz_listed_block::begin);
  for (auto each = first; each != listed_->end() && each->begin - input.offset < input.size; ++each) {
    if (auto ready = decode_block(*each, input)) blocks.push_back(std::move(*ready));
  }
  coder_.free_memory();  // its dictionary belongs to the memory of the part
  if (blocks.empty()) return nullptr;
  return std::make_unique<xz_part>(std::move(blocks));
}

// No more bytes are decoded than the index lists: false blocks do not take longer than true ones.
std::optional<xz_ready_block> xz_part_decoder::decode_block(const xz_listed_block& listed, const part_input& input) {
  const std::uint64_t room = input.max_bytes - std::min<std::uint64_t>(input.max_bytes, kept_bytes_);
  const std::uint64_t needed = listed.text + sizeof(xz_ready_block) + 1;
  if (listed.text >= room || needed > room) return std::nullopt;
  piece_cursor in(input.pieces, listed.begin - input.offset, listed.bytes);
  xz_ready_block made{.begin = listed.begin, .check = listed.check};
  lzma_block block{};
  if (!begin_block(in, block, made, room - needed)) return std::nullopt;
  if (!decode_text(in, made, static_cast<std::size_t>(listed.text))) return std::nullopt;
  made.bytes = in.taken();
  made.unpadded = lzma_block_unpadded_size(&block);
  if (made.unpadded == 0) return std::nullopt;
  kept_bytes_ += needed;
  return made;
}

bool xz_part_decoder::begin_block(piece_cursor& in, lzma_block& block, xz_ready_block& made,
                                  std::uint64_t most_dictionary) {
  std::array<std::byte, LZMA_BLOCK_HEADER_SIZE_MAX> header{};
  if (in.rest().empty()) return false;
  const std::size_t size = lzma_block_header_size_decode(std::to_integer<std::uint32_t>(in.rest().front()));
  const std::size_t copied = in.copy(std::span(header).first(size));
  xz_filters filters;
  if (!parse_header(std::span(header).first(copied), made.check, block, filters)) return false;
  made.dictionary = filters.dictionary_bytes();
  if (made.dictionary > most_dictionary) return false;
  const lzma_ret code = checked(lzma_block_decoder(&coder_.stream(), &block));
  block.filters = nullptr;
  return code == LZMA_OK;
}

// One byte more than expected finds that there is more text.
bool xz_part_decoder::decode_text(piece_cursor& in, xz_ready_block& made, std::size_t expected) {
  made.text = std::make_unique_for_overwrite<std::byte[]>(expected + 1);
  while (!in.rest().empty() && made.length <= expected) {
    const std::span<std::byte> out(made.text.get() + made.length, expected + 1 - made.length);
    const lzma_progress got = coder_.run(in.rest(), out);
    in.advance(got.consumed);
    made.length += got.written;
    if (got.code != LZMA_OK) return got.code == LZMA_STREAM_END && made.length == expected;
    if (got.consumed == 0 && got.written == 0) return false;
  }
  return false;
}

/// Bytes of the dictionary of a block, by its header; 0 if it has none.
std::uint64_t dictionary_of(byte_reader& file, const xz_listed_block& listed) {
  std::array<std::byte, LZMA_BLOCK_HEADER_SIZE_MAX> header{};
  const std::size_t filled = read_at(file, listed.begin, header);
  xz_filters filters;
  lzma_block block{};
  return parse_header(std::span(header).first(filled), listed.check, block, filters) ? filters.dictionary_bytes() : 0;
}

/// The largest text of blocks that begin within `part_bytes`.
std::uint64_t text_of_part(const std::vector<xz_listed_block>& blocks, std::size_t part_bytes) {
  std::uint64_t most = 0;
  std::uint64_t text = 0;
  for (std::size_t first = 0, end = 0; first < blocks.size(); ++first) {
    for (; end < blocks.size() && blocks[end].begin - blocks[first].begin < part_bytes; ++end) text += blocks[end].text;
    most = std::max(most, text);
    text -= blocks[first].text;
  }
  return most;
}

}  // namespace

const xz_ready_block* xz_part::find(std::uint64_t begin) const {
  const auto found = std::ranges::lower_bound(blocks_, begin, {}, &xz_ready_block::begin);
  return found == blocks_.end() || found->begin != begin ? nullptr : &*found;
}

std::unique_ptr<part_decoder> make_xz_part_decoder(block_list blocks) {
  return std::make_unique<xz_part_decoder>(std::move(blocks));
}

part_format read_xz_parts(byte_reader& file) {
  constexpr std::size_t least_part_bytes = std::size_t{256} << 10U;
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30U;  // of a block
  try {
    const auto blocks = std::make_shared<const std::vector<xz_listed_block>>(list_xz_blocks(file));
    if (blocks->size() < 2) return {};
    const std::uint64_t largest = std::ranges::max(*blocks, {}, &xz_listed_block::bytes).bytes;
    if (largest > most_bytes) return {};
    const auto part_bytes = std::max(least_part_bytes, static_cast<std::size_t>(largest));
    const std::uint64_t text = text_of_part(*blocks, part_bytes);
    if (text > most_bytes) return {};
    return {.make = [blocks] { return make_xz_part_decoder(blocks); },
            .part_bytes = part_bytes,
            .look_ahead_bytes = static_cast<std::size_t>(largest),
            .memory_bytes =
                static_cast<std::size_t>(text + dictionary_of(file, blocks->front()) + largest) + 2 * coder_bytes};
  } catch (const input_error&) {
    return {};  // the decoder meets the error, too
  }
}

}  // namespace gpuhist::io
