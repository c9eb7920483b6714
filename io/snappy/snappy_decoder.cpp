#include "io/snappy/snappy_decoder.hpp"

#include "io/block_splitter.hpp"
#include "io/frame_decoder.hpp"
#include "io/frame_magic.hpp"

#include <isa-l/crc.h>
#include <lz4.h>
#include <snappy-c.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuhist::io {
namespace {

// A chunk of the framing format is a type, a size of 24 bits, and so many bytes. Chunks with data begin with the masked
// CRC-32C of their text.
constexpr std::size_t header_bytes = 4;
constexpr std::size_t crc_bytes = 4;
constexpr std::size_t most_text = std::size_t{64} << 10U;
constexpr std::size_t most_packed = 32 + most_text + most_text / 6;  // as libsnappy's limit for this text
constexpr unsigned identifier_bytes = 6;

enum class chunk_kind { compressed, stored, padding, identifier, unknown };

chunk_kind kind_of(std::byte type) {
  switch (std::to_integer<unsigned>(type)) {
    case 0x00:
      return chunk_kind::compressed;
    case 0x01:
      return chunk_kind::stored;
    case 0xFE:
      return chunk_kind::padding;
    case 0xFF:
      return chunk_kind::identifier;
    default:
      return chunk_kind::unknown;
  }
}

bool has_data(chunk_kind kind) { return kind == chunk_kind::compressed || kind == chunk_kind::stored; }

// Whether a chunk of this kind may have this size.
bool is_possible(chunk_kind kind, std::uint64_t bytes) {
  if (kind == chunk_kind::stored) return bytes >= crc_bytes && bytes <= crc_bytes + most_text;
  if (kind == chunk_kind::compressed) return bytes > crc_bytes && bytes <= crc_bytes + most_packed;
  return true;
}

std::uint32_t masked_crc(std::span<const std::byte> text) {
  constexpr std::uint32_t mask = 0xA282EAD8U;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): ISA-L does not write through it
  auto* const bytes = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(text.data()));
  const std::uint32_t crc = ~crc32_iscsi(bytes, static_cast<int>(text.size()), ~0U);
  return (crc >> 15U | crc << 17U) + mask;
}

std::uint64_t big_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte each : bytes) value = value << 8U | std::to_integer<std::uint64_t>(each);
  return value;
}

// The size of the text of compressed data; nothing if it does not begin with one.
std::optional<std::size_t> text_bytes_of(std::span<const std::byte> packed) {
  std::size_t bytes = 0;
  const auto* const data = reinterpret_cast<const char*>(packed.data());
  if (snappy_uncompressed_length(data, packed.size(), &bytes) != SNAPPY_OK) return std::nullopt;
  return bytes;
}

// `text` has the size that text_bytes_of() returned.
bool unpack(std::span<const std::byte> packed, std::span<std::byte> text) {
  std::size_t bytes = text.size();
  std::byte none{};  // libsnappy checks the pointer
  auto* const out = reinterpret_cast<char*>(text.empty() ? &none : text.data());
  return snappy_uncompress(reinterpret_cast<const char*>(packed.data()), packed.size(), out, &bytes) == SNAPPY_OK &&
         bytes == text.size();
}

// The bytes of a chunk, which arrive in pieces.
class chunk_bytes {
 public:
  // Keeps the memory of earlier chunks.
  void begin(std::size_t bytes) {
    room_.resize(std::max(room_.size(), bytes));
    filled_ = 0;
  }
  // Returns how many bytes belong to a chunk of this size.
  std::size_t add(std::span<const std::byte> bytes, std::size_t size) {
    const std::size_t added = std::min(size - filled_, bytes.size());
    std::ranges::copy(bytes.first(added), room_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += added;
    return added;
  }
  [[nodiscard]] std::span<const std::byte> all() const { return std::span(room_).first(filled_); }

 private:
  std::vector<std::byte> room_;
  std::size_t filled_ = 0;
};

class snappy_decoder final : public frame_decoder {
 public:
  explicit snappy_decoder(const decoder_limits& limits)
      : frame_decoder(limits, {.format = "snappy", .frame = "chunk"}) {}

  [[nodiscard]] bool verifies_whole(std::uint64_t /*frames*/) const override { return false; }
  [[nodiscard]] bool in_frame() const override { return phase_ != phase::header || !collected().empty(); }

 private:
  enum class phase { header, skipping, window, data, text };

  step_result step(cursor& at) override;
  void reset_frame() override { phase_ = phase::header; }
  void begin_at(const decode_start& start) override { needs_identifier_ = start.compressed_bytes == 0; }
  void free_memory() noexcept override;

  step_result read_header(cursor& at);
  step_result begin_data();
  step_result read_data(cursor& at);
  step_result write_text(cursor& at);

  phase phase_ = phase::header;
  bool needs_identifier_ = true;
  chunk_kind kind_ = chunk_kind::unknown;
  std::uint64_t remaining_ = 0;  // bytes of a chunk that is skipped
  chunk_bytes packed_;           // checksum and data of the chunk
  std::vector<std::byte> unpacked_;
  std::span<const std::byte> text_;  // to be written
};

void snappy_decoder::free_memory() noexcept {
  packed_ = {};
  unpacked_ = {};
}

frame_decoder::step_result snappy_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::skipping:
      if (!take_remaining(at, remaining_)) return fill_status::needs_input;
      phase_ = phase::header;
      return std::nullopt;
    case phase::window:
      return begin_data();
    case phase::data:
      return read_data(at);
    case phase::text:
      return write_text(at);
  }
  return std::nullopt;
}

frame_decoder::step_result snappy_decoder::read_header(cursor& at) {
  if (needs_identifier_) {
    if (const step_result ended = collect_header(at, snappy_identifier, snappy_identifier.size())) return ended;
    drop_collected();
    needs_identifier_ = false;
  }
  if (collected().empty() && !collect(at, 1)) return fill_status::needs_input;
  kind_ = kind_of(collected()[0]);
  if (kind_ == chunk_kind::unknown) return refuse_magic();
  if (kind_ == chunk_kind::identifier) {
    if (const step_result ended = collect_header(at, snappy_identifier, snappy_identifier.size())) return ended;
    drop_collected();
    return std::nullopt;
  }
  if (!collect(at, header_bytes)) return fill_status::needs_input;
  remaining_ = little_endian(collected().subspan(1));
  if (!is_possible(kind_, remaining_)) return fail_damaged("its size is impossible");
  drop_collected();
  phase_ = has_data(kind_) ? phase::window : phase::skipping;
  return std::nullopt;
}

frame_decoder::step_result snappy_decoder::begin_data() {
  if (const step_result asked = request_window(crc_bytes + most_packed + most_text)) return asked;
  packed_.begin(crc_bytes + most_packed);
  unpacked_.resize(most_text);
  phase_ = phase::data;
  return std::nullopt;
}

frame_decoder::step_result snappy_decoder::read_data(cursor& at) {
  take(at, packed_.add(at.in, remaining_));
  if (packed_.all().size() < remaining_) return fill_status::needs_input;
  const auto data = packed_.all().subspan(crc_bytes);
  text_ = data;
  if (kind_ == chunk_kind::compressed) {
    const auto size = text_bytes_of(data);
    if (!size || *size > most_text) return fail_damaged("its data does not decode");
    text_ = std::span(unpacked_).first(*size);
    if (!unpack(data, std::span(unpacked_).first(*size))) return fail_damaged("its data does not decode");
  }
  if (masked_crc(text_) != little_endian(packed_.all().first(crc_bytes))) {
    return fail_damaged("its text does not match its checksum");
  }
  phase_ = phase::text;
  return std::nullopt;
}

frame_decoder::step_result snappy_decoder::write_text(cursor& at) {
  if (!write_front(at, text_)) return fill_status::output_full;
  phase_ = phase::header;
  return end_frame();
}

// ---- the splitter

struct snappy_header {
  chunk_kind kind = chunk_kind::unknown;
  std::uint64_t skip_bytes = 0;  // of the rest of the chunk
};

enum class snappy_header_status { needs_more, complete, unknown };

struct snappy_header_result {
  snappy_header_status status = snappy_header_status::needs_more;
  snappy_header header{};
};

// The rest of a chunk with data.
class snappy_rest {
 public:
  snappy_rest() = default;
  explicit snappy_rest(std::uint64_t bytes) : remaining_(bytes) {}
  [[nodiscard]] std::size_t remaining() const { return static_cast<std::size_t>(remaining_); }
  void advance(std::span<const std::byte> bytes) { remaining_ -= bytes.size(); }
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): as the blocks of other formats
  [[nodiscard]] bool is_damaged() const { return false; }

 private:
  std::uint64_t remaining_ = 0;
};

struct snappy_chunks {
  using blocks = snappy_rest;
  using head = no_head;
  static constexpr std::size_t max_header_bytes = header_bytes;
  static constexpr std::string_view nothing_after = "what follows is not a chunk";

  static snappy_header_result parse(std::span<const std::byte> bytes) {
    const chunk_kind kind = kind_of(bytes[0]);
    if (kind == chunk_kind::unknown) return {.status = snappy_header_status::unknown};
    if (bytes.size() < header_bytes) return {};
    const std::uint64_t size = little_endian(bytes.subspan(1));
    const bool is_whole = is_possible(kind, size) && (kind != chunk_kind::identifier || size == identifier_bytes);
    return {.status = is_whole ? snappy_header_status::complete : snappy_header_status::unknown,
            .header = {.kind = kind, .skip_bytes = size}};
  }
  static bool is_skippable(const snappy_header& header) { return !has_data(header.kind); }
  static blocks begin(const snappy_header& header) { return blocks(header.skip_bytes); }
};

// ---- blocks of Hadoop

enum class hadoop_codec { snappy, lz4 };

class hadoop_decoder final : public frame_decoder {
 public:
  hadoop_decoder(const decoder_limits& limits, hadoop_codec codec)
      : frame_decoder(limits,
                      {.format = codec == hadoop_codec::lz4 ? "Hadoop lz4" : "Hadoop snappy", .frame = "block"}),
        codec_(codec) {}

  [[nodiscard]] bool verifies_whole(std::uint64_t /*frames*/) const override { return false; }
  [[nodiscard]] bool in_frame() const override { return phase_ != phase::block || !collected().empty(); }

 private:
  enum class phase { block, chunk, window, data, text };

  step_result step(cursor& at) override;
  void reset_frame() override { phase_ = phase::block; }
  void free_memory() noexcept override {
    packed_ = {};
    text_ = {};
  }

  step_result read_block(cursor& at);
  step_result read_chunk(cursor& at);
  step_result begin_data();
  step_result read_data(cursor& at);
  step_result write_text(cursor& at);
  [[nodiscard]] std::optional<std::size_t> decode(std::span<const std::byte> packed);

  const hadoop_codec codec_;
  phase phase_ = phase::block;
  std::uint64_t text_left_ = 0;     // of the block
  std::uint64_t packed_bytes_ = 0;  // of the chunk
  chunk_bytes packed_;
  std::vector<std::byte> text_;
  std::span<const std::byte> unwritten_;
};

frame_decoder::step_result hadoop_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::block:
      return read_block(at);
    case phase::chunk:
      return read_chunk(at);
    case phase::window:
      return begin_data();
    case phase::data:
      return read_data(at);
    case phase::text:
      return write_text(at);
  }
  return std::nullopt;
}

frame_decoder::step_result hadoop_decoder::read_block(cursor& at) {
  if (!collect(at, sizeof(std::uint32_t))) return fill_status::needs_input;
  text_left_ = big_endian(collected());
  drop_collected();
  if (text_left_ == 0) return end_frame();
  phase_ = phase::chunk;
  return std::nullopt;
}

frame_decoder::step_result hadoop_decoder::read_chunk(cursor& at) {
  if (!collect(at, sizeof(std::uint32_t))) return fill_status::needs_input;
  packed_bytes_ = big_endian(collected());
  drop_collected();
  const std::uint64_t most = 32 + text_left_ + text_left_ / 6;
  if (packed_bytes_ == 0 || packed_bytes_ > most) return fail_damaged("the size of a chunk is impossible");
  phase_ = phase::window;
  return std::nullopt;
}

frame_decoder::step_result hadoop_decoder::begin_data() {
  if (const step_result asked = request_window(packed_bytes_ + text_left_)) return asked;
  packed_.begin(packed_bytes_);
  phase_ = phase::data;
  return std::nullopt;
}

// Decodes a chunk into text_; nothing if it is damaged.
std::optional<std::size_t> hadoop_decoder::decode(std::span<const std::byte> packed) {
  if (codec_ == hadoop_codec::snappy) {
    const auto size = text_bytes_of(packed);
    if (!size || *size > text_left_) return std::nullopt;
    text_.resize(std::max<std::size_t>(text_.size(), *size));
    return unpack(packed, std::span(text_).first(*size)) ? size : std::nullopt;
  }
  constexpr std::uint64_t most = LZ4_MAX_INPUT_SIZE;
  if (packed.size() > most) return std::nullopt;
  text_.resize(std::max<std::size_t>(text_.size(), text_left_));
  const int size =
      ::LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(text_.data()),
                            static_cast<int>(packed.size()), static_cast<int>(std::min(text_left_, most)));
  return size < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(size));
}

frame_decoder::step_result hadoop_decoder::read_data(cursor& at) {
  take(at, packed_.add(at.in, packed_bytes_));
  if (packed_.all().size() < packed_bytes_) return fill_status::needs_input;
  const auto size = decode(packed_.all());
  if (!size || *size == 0) return fail_damaged("a chunk does not decode");
  unwritten_ = std::span(text_).first(*size);
  text_left_ -= *size;
  phase_ = phase::text;
  return std::nullopt;
}

frame_decoder::step_result hadoop_decoder::write_text(cursor& at) {
  if (!write_front(at, unwritten_)) return fill_status::output_full;
  phase_ = text_left_ == 0 ? phase::block : phase::chunk;
  return text_left_ == 0 ? end_frame() : std::nullopt;
}

}  // namespace

std::unique_ptr<decoder> make_snappy_decoder(const decoder_limits& limits) {
  return std::make_unique<snappy_decoder>(limits);
}

std::unique_ptr<splitter> make_snappy_splitter() { return std::make_unique<block_splitter<snappy_chunks>>(); }

std::unique_ptr<decoder> make_hadoop_snappy_decoder(const decoder_limits& limits) {
  return std::make_unique<hadoop_decoder>(limits, hadoop_codec::snappy);
}

std::unique_ptr<decoder> make_hadoop_lz4_decoder(const decoder_limits& limits) {
  return std::make_unique<hadoop_decoder>(limits, hadoop_codec::lz4);
}

}  // namespace gpuhist::io
