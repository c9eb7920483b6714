#include "io/xz/xz_decoder.hpp"

#include "io/frame_magic.hpp"
#include "io/xz/xz_context.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuhist::io {
namespace {

constexpr std::size_t crc_bytes = 4;

struct block_sizes {
  lzma_vli data = 0;
  lzma_vli text = 0;
};

// A number of a block header before its checksum.
std::optional<lzma_vli> take_number(std::span<const std::byte> header, std::size_t& at) {
  lzma_vli number = 0;
  const auto* const in = reinterpret_cast<const std::uint8_t*>(header.data());
  if (lzma_vli_decode(&number, nullptr, in, &at, header.size() - crc_bytes) != LZMA_OK) return std::nullopt;
  return number;
}

bool matches_checksum(std::span<const std::byte> header) {
  const std::size_t covered = header.size() - crc_bytes;
  return lzma_crc32(reinterpret_cast<const std::uint8_t*>(header.data()), covered, 0) ==
         little_endian(header.subspan(covered));
}

// The sizes that a complete block header states.
//
//     header size | flags: text, data, 4 reserved bits, number of filters (2) | size of data | size of text | filters
//     ...
std::optional<block_sizes> stated_sizes(std::span<const std::byte> header) {
  constexpr std::byte both_sizes{0xC0};
  constexpr std::byte reserved{0x3C};
  const std::byte flags = header[1];
  if ((flags & both_sizes) != both_sizes || (flags & reserved) != std::byte{0}) return std::nullopt;
  std::size_t at = 2;
  const auto data = take_number(header, at);
  if (!data) return std::nullopt;
  const auto text = take_number(header, at);
  if (!text) return std::nullopt;
  return block_sizes{.data = *data, .text = *text};
}

class xz_splitter final : public splitter {
 public:
  split_step advance(std::span<const std::byte> bytes) override;
  [[nodiscard]] bool knows_end() const override { return phase_ == phase::block; }
  [[nodiscard]] bool counts_frame() const override { return check_.has_value(); }
  [[nodiscard]] bool is_lost() const override { return phase_ == phase::lost; }
  [[nodiscard]] std::shared_ptr<const frame_context> context() const override;
  [[nodiscard]] std::string_view manner() const override { return is_lost() ? lost_reason_ : found_manner; }

 private:
  enum class phase { padding, stream_header, block_or_index, block_header, block, index, footer, lost };

  static constexpr std::string_view found_manner = "blocks found by the sizes in their headers";

  std::size_t take_some(std::span<const std::byte> bytes);
  std::size_t skip_padding(std::span<const std::byte> bytes);
  std::size_t skip_block(std::span<const std::byte> bytes);
  std::size_t walk_index(std::span<const std::byte> bytes);
  bool collect(std::span<const std::byte> bytes, std::size_t wanted, std::size_t& taken);
  void begin_stream();
  void choose_part(std::byte first);
  void begin_block();
  void end_stream();
  void lose(std::string_view reason);

  phase phase_ = phase::stream_header;
  bool frame_ended_ = false;
  std::array<std::byte, LZMA_BLOCK_HEADER_SIZE_MAX> header_{};
  std::size_t header_size_ = 0;
  std::size_t block_header_bytes_ = 0;
  std::uint64_t remaining_ = 0;  // bytes of the block after its header
  std::uint64_t streams_ = 0;    // that have ended
  std::optional<lzma_check> check_;
  xz_block_record blocks_;
  xz_index_reader index_;
  bool found_any_ = false;
  std::string_view lost_reason_;
};

split_step xz_splitter::advance(std::span<const std::byte> bytes) {
  frame_ended_ = false;
  std::size_t taken = 0;
  while (taken < bytes.size() && !frame_ended_) taken += take_some(bytes.subspan(taken));
  return {.taken = taken, .frame_ends = frame_ended_};
}

std::size_t xz_splitter::take_some(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  switch (phase_) {
    case phase::padding:
      return skip_padding(bytes);
    case phase::stream_header:
      if (collect(bytes, LZMA_STREAM_HEADER_SIZE, taken)) begin_stream();
      return taken;
    case phase::block_or_index:
      choose_part(bytes.front());
      return 0;
    case phase::block_header:
      if (collect(bytes, block_header_bytes_, taken)) begin_block();
      return taken;
    case phase::block:
      return skip_block(bytes);
    case phase::index:
      return walk_index(bytes);
    case phase::footer:
      if (collect(bytes, LZMA_STREAM_HEADER_SIZE, taken)) end_stream();
      return taken;
    case phase::lost:
      break;
  }
  return bytes.size();
}

bool xz_splitter::collect(std::span<const std::byte> bytes, std::size_t wanted, std::size_t& taken) {
  taken = std::min(wanted - header_size_, bytes.size());
  std::ranges::copy(bytes.first(taken), header_.begin() + static_cast<std::ptrdiff_t>(header_size_));
  header_size_ += taken;
  return header_size_ == wanted;
}

std::size_t xz_splitter::skip_padding(std::span<const std::byte> bytes) {
  const auto end = std::ranges::find_if(bytes, [](std::byte each) { return each != std::byte{0}; });
  if (end != bytes.end()) phase_ = phase::stream_header;
  return static_cast<std::size_t>(end - bytes.begin());
}

void xz_splitter::begin_stream() {
  header_size_ = 0;
  lzma_stream_flags flags{};
  if (lzma_stream_header_decode(&flags, reinterpret_cast<const std::uint8_t*>(header_.data())) != LZMA_OK) {
    return lose("no block can be found after data that is not an xz stream");
  }
  // a decoder that began at a block would not refuse the stream
  if (lzma_check_is_supported(flags.check) == 0)
    return lose("no block can be found in a stream that cannot be verified");
  check_ = flags.check;
  blocks_ = {};
  phase_ = phase::block_or_index;
}

// The header of a block begins with its size, an index with a zero.
void xz_splitter::choose_part(std::byte first) {
  block_header_bytes_ = lzma_block_header_size_decode(std::to_integer<std::uint32_t>(first));
  phase_ = first == std::byte{0} ? phase::index : phase::block_header;
  index_ = xz_index_reader(blocks_);
}

// The sizes are those that the decoder checks: the data has this size, and is padded to a multiple of four bytes.
void xz_splitter::begin_block() {
  const std::span<const std::byte> header = std::span(header_).first(header_size_);
  header_size_ = 0;
  if (!matches_checksum(header)) return lose("no block can be found after a damaged block header");
  const std::optional<block_sizes> sizes = stated_sizes(header);
  if (!sizes) {
    return lose(found_any_ ? "blocks found by the sizes in their headers, up to one without sizes"
                           : "the ends of blocks without sizes in their headers cannot be found without decoding");
  }
  const std::uint64_t besides = header.size() + lzma_check_size(*check_);
  constexpr std::uint64_t most = LZMA_VLI_MAX - 3;  // of a block without its padding
  if (sizes->data == 0 || sizes->data > most - besides)
    return lose("no block can be found after an invalid block size");
  blocks_.add(besides + sizes->data, sizes->text);
  remaining_ = (sizes->data + 3) / 4 * 4 + lzma_check_size(*check_);
  phase_ = phase::block;
}

std::size_t xz_splitter::skip_block(std::span<const std::byte> bytes) {
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size()));
  remaining_ -= taken;
  if (remaining_ == 0) {
    phase_ = phase::block_or_index;
    frame_ended_ = true;
    found_any_ = true;
  }
  return taken;
}

std::size_t xz_splitter::walk_index(std::span<const std::byte> bytes) {
  const xz_index_reader::progress got = index_.advance(bytes);
  if (got.found == xz_index_reader::verdict::matches) phase_ = phase::footer;
  if (got.found == xz_index_reader::verdict::wrong) lose("no stream can be found after an index that is wrong");
  return got.taken;
}

void xz_splitter::end_stream() {
  header_size_ = 0;
  lzma_stream_flags flags{};
  if (lzma_stream_footer_decode(&flags, reinterpret_cast<const std::uint8_t*>(header_.data())) != LZMA_OK) {
    return lose("no stream can be found after a footer that is wrong");
  }
  ++streams_;
  check_.reset();
  phase_ = phase::padding;
  frame_ended_ = true;
}

void xz_splitter::lose(std::string_view reason) {
  phase_ = phase::lost;
  lost_reason_ = reason;
}

std::shared_ptr<const frame_context> xz_splitter::context() const {
  auto here = std::make_shared<xz_context>();
  here->streams = streams_;
  here->check = check_;
  here->blocks = check_ ? blocks_ : xz_block_record();
  return here;
}

}  // namespace

std::unique_ptr<splitter> make_xz_splitter() { return std::make_unique<xz_splitter>(); }

}  // namespace gpuhist::io
