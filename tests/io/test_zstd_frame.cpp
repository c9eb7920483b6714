// The header parser of zstd, compared with the results of libzstd and with the table of RFC 8878; the contract of
// splitters; and what the writer of frames writes.
#include "io/zstd/zstd_compressor.hpp"
#include "io/zstd/zstd_decoder.hpp"
#include "io/zstd/zstd_frame.hpp"
#include "io/zstd/zstd_seek_table.hpp"

#include "tests/contract/splitter_contract.hpp"
#include "tests/io/zstd_samples.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

using namespace gpuhist::test;
using gpuhist::io::header_status;
using gpuhist::io::make_zstd_splitter;
using gpuhist::io::parse_zstd_header;
using namespace gpuhist::io;

TEST_CASE("zstd header: headers of all sizes that zstd writes are parsed, and no prefix of a header is complete") {
  for (const std::size_t size : {0U, 1U, 255U, 256U, 257U, 65'791U, 65'792U, 300'000U}) {
    for (const bool content_size : {true, false}) {
      for (const bool checksum : {true, false}) {
        CAPTURE(size);
        const byte_vector packed =
            zstd_frame_of(sample_text(size), {.checksum = checksum, .content_size = content_size});
        const auto whole = parse_zstd_header(packed);
        REQUIRE(whole.status == header_status::complete);
        CHECK(whole.header.has_checksum == checksum);
        const auto declared = ZSTD_getFrameContentSize(packed.data(), packed.size());
        CHECK(whole.header.content_bytes.has_value() == (declared != ZSTD_CONTENTSIZE_UNKNOWN));
        if (whole.header.content_bytes) CHECK(*whole.header.content_bytes == declared);
        CHECK(whole.header.dictionary_id == 0);
        for (std::size_t length = 0; length < whole.header.header_bytes; ++length) {
          CHECK(parse_zstd_header(std::span(packed).first(length)).status == header_status::needs_more);
        }
        CHECK(parse_zstd_header(std::span(packed).first(whole.header.header_bytes)).status == header_status::complete);
      }
    }
  }
}

TEST_CASE("zstd header: all descriptors have the lengths and fields of RFC 8878") {
  for (unsigned descriptor = 0; descriptor < 256; ++descriptor) {
    CAPTURE(descriptor);
    byte_vector bytes{std::byte{0x28}, std::byte{0xB5}, std::byte{0x2F}, std::byte{0xFD}, std::byte(descriptor)};
    for (unsigned i = 1; i <= 13; ++i) bytes.push_back(std::byte(i));
    const auto parsed = parse_zstd_header(bytes);
    if ((descriptor & 8U) != 0) {
      CHECK(parsed.status == header_status::reserved_bit);
      continue;
    }
    const bool single = (descriptor & 32U) != 0;
    constexpr std::size_t dictionary_lengths[] = {0, 1, 2, 4};
    const std::size_t content_lengths[] = {single ? 1U : 0U, 2, 4, 8};
    const std::size_t dictionary = dictionary_lengths[descriptor % 4];
    const std::size_t content = content_lengths[descriptor / 64];
    REQUIRE(parsed.status == header_status::complete);
    CHECK(parsed.header.header_bytes == 5 + (single ? 0U : 1U) + dictionary + content);
    // the bytes after the descriptor count up from 1, so the value of a field shows where it was read
    std::uint64_t next = single ? 1 : 2;
    const auto field = [&next](std::size_t length) {
      std::uint64_t value = 0;
      for (std::size_t i = 0; i < length; ++i) value += next++ << (8 * i);
      return value;
    };
    CHECK(parsed.header.dictionary_id == field(dictionary));
    const std::uint64_t size = field(content) + (content == 2 ? 256U : 0U);
    if (content == 0) CHECK_FALSE(parsed.header.content_bytes.has_value());
    if (content != 0) CHECK(parsed.header.content_bytes == size);
    CHECK(parsed.header.window_bytes == (single ? size : 1024U + 128U));  // window byte 1: 2^10 and an eighth
  }
}

TEST_CASE("zstd header: the smallest and the largest window") {
  const auto window = [](unsigned value) {
    const byte_vector bytes{std::byte{0x28}, std::byte{0xB5}, std::byte{0x2F},
                            std::byte{0xFD}, std::byte{0},    std::byte(value)};
    return parse_zstd_header(bytes).header.window_bytes;
  };
  CHECK(window(0) == 1024);
  CHECK(window(0xFF) == (std::uint64_t{1} << 41U) + 7 * (std::uint64_t{1} << 38U));
}

TEST_CASE("zstd header: all sixteen skippable magic numbers, and their lengths") {
  for (unsigned kind = 0; kind < 16; ++kind) {
    const byte_vector frame = skippable_frame(70'000, kind);
    const auto parsed = parse_zstd_header(frame);
    CHECK(parsed.status == header_status::complete);
    CHECK(parsed.header.skippable);
    CHECK(parsed.header.skip_bytes == 70'000);
    CHECK(parsed.header.header_bytes == 8);
    for (std::size_t length = 1; length < 8; ++length) {
      CHECK(parse_zstd_header(std::span(frame).first(length)).status == header_status::needs_more);
    }
  }
}

TEST_CASE("zstd header: a wrong magic number is rejected at its first wrong byte") {
  const byte_vector good = zstd_frame_of({});
  const byte_vector skippable = skippable_frame(0);
  for (const byte_vector* magic : {&good, &skippable}) {
    for (std::size_t wrong = 0; wrong < 4; ++wrong) {
      byte_vector bytes(magic->begin(), magic->begin() + static_cast<std::ptrdiff_t>(wrong) + 1);
      bytes.back() ^= std::byte{0x80};
      CHECK(parse_zstd_header(bytes).status == header_status::not_zstd);
    }
  }
}

namespace {

std::vector<decoder_sample> samples() {
  const zstd_settings bare{.checksum = false, .content_size = false};
  std::vector<decoder_sample> result;
  result.push_back(zstd_sample_builder("one frame").frame(sample_text(700)).build());
  result.push_back(zstd_sample_builder("empty frames").frame({}).frame({}, bare).frame({}).build());
  result.push_back(zstd_sample_builder("frames of all kinds, skippable ones between")
                       .skippable(0)
                       .frame(sample_text(100, 2), bare)
                       .skippable(9, 15)
                       .frame(noise(70))
                       .frame(byte_vector(3000, std::byte{'b'}))
                       .skippable(300)
                       .build());
  return result;
}

}  // namespace

TEST_CASE("zstd: a splitter finds the same frames as the decoder, for any cuts") {
  for (const decoder_sample& sample : samples()) check_splits(make_zstd_splitter, sample);
  byte_vector mixed = sample_text(200'000);
  const byte_vector random = noise(150'000);
  mixed.insert(mixed.end(), random.begin(), random.end());
  mixed.resize(mixed.size() + 140'000, std::byte{'z'});
  check_splits(make_zstd_splitter,
               zstd_sample_builder("blocks of all types").frame(mixed).frame(mixed, {.checksum = false}).build());
}

TEST_CASE("zstd: a splitter finds all frames before any damaged byte") {
  for (const decoder_sample& sample : samples()) check_damaged_splits(make_zstd_splitter, sample);
}

TEST_CASE("zstd: data that is not a zstd frame is one frame without an end") {
  byte_vector packed = zstd_frame_of(sample_text(50));
  const std::size_t end = packed.size();
  packed.resize(end + 100, std::byte{'x'});
  const byte_vector more = zstd_frame_of(sample_text(50));
  packed.insert(packed.end(), more.begin(), more.end());
  CHECK(split(make_zstd_splitter, packed, always(7)) == std::vector<std::size_t>{end});
}

namespace {

byte_vector compressed(zstd_compressor& with, const byte_vector& text) {
  byte_vector frame(zstd_compressor::bound(text.size()));
  frame.resize(with.compress(text, frame));
  return frame;
}

byte_vector decompressed(const byte_vector& frame, std::size_t text_bytes) {
  byte_vector text(text_bytes + 1);
  const std::size_t length = ZSTD_decompress(text.data(), text.size(), frame.data(), frame.size());
  REQUIRE_FALSE(ZSTD_isError(length));
  text.resize(length);
  return text;
}

byte_vector bytes_of(std::initializer_list<int> values) {
  byte_vector bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

}  // namespace

TEST_CASE("zstd: each frame of a compressor decodes to its text, and states its size and checksum") {
  for (const int level : {1, 3, 19}) {
    zstd_compressor compressor(level);
    for (const std::size_t size : {0U, 1U, 1000U, 300'000U, 5U}) {
      CAPTURE(size);
      for (const byte_vector& text : {sample_text(size), noise(size)}) {
        const byte_vector frame = compressed(compressor, text);
        CHECK(decompressed(frame, size) == text);
        CHECK(ZSTD_findFrameCompressedSize(frame.data(), frame.size()) == frame.size());
        const zstd_frame_header header = parse_zstd_header(frame).header;
        CHECK(header.content_bytes == size);
        CHECK(header.has_checksum);
      }
    }
  }
}

TEST_CASE("zstd: text in several pieces gives one frame, and a stopped compressor can be used again") {
  const byte_vector text = sample_text(2'500'000);
  for (const int level : {1, 5}) {
    CAPTURE(level);
    zstd_compressor compressor(level);
    const byte_vector whole = compressed(compressor, text);
    CHECK(decompressed(whole, text.size()) == text);
    CHECK(ZSTD_findFrameCompressedSize(whole.data(), whole.size()) == whole.size());
    CHECK(parse_zstd_header(whole).header.content_bytes == text.size());
    std::stop_source stop;
    stop.request_stop();
    byte_vector room(zstd_compressor::bound(text.size()));
    CHECK(compressor.compress(text, room, stop.get_token()) == 0);
    CHECK(compressed(compressor, text) == whole);
    room.resize(whole.size() - 1);
    CHECK_THROWS_AS(compressor.compress(text, room), std::runtime_error);
    CHECK(compressed(compressor, text) == whole);
  }
}

TEST_CASE("zstd: the checksum of a frame is the checksum of its text at every level") {
  const byte_vector text = sample_text(10'000);
  byte_vector other = text;
  other[5000] ^= std::byte{1};
  zstd_compressor fast(1);
  zstd_compressor slow(19);
  const std::uint32_t checksum = zstd_checksum_of(compressed(fast, text));
  CHECK(checksum == zstd_checksum_of(compressed(slow, text)));
  CHECK(checksum != zstd_checksum_of(compressed(fast, other)));
  CHECK(zstd_checksum_of(bytes_of({9, 9, 0x78, 0x56, 0x34, 0x12})) == 0x12345678);
  CHECK(zstd_checksum_of(compressed(fast, {})) == 0x51D8E999);  // XXH64 of an empty text is EF46DB3751D8E999
}

TEST_CASE("zstd: a compressor without room throws") {
  zstd_compressor compressor(3);
  const byte_vector text = noise(10'000);
  byte_vector room(5000);
  CHECK_THROWS_AS(compressor.compress(text, room), std::runtime_error);
  CHECK(decompressed(compressed(compressor, text), text.size()) == text);  // it can be used again
}

TEST_CASE("zstd: the predicted memory of a compressor is smaller for small frames than for large ones") {
  CHECK(zstd_compressor::memory_for(3, 1000) < zstd_compressor::memory_for(3, 4U << 20U));
  CHECK(zstd_compressor::memory_for(3, 4U << 20U) < zstd_compressor::memory_for(19, 4U << 20U));
}

TEST_CASE("zstd: a seek table is the skippable frame that the seekable format specifies") {
  const std::vector<seekable_frame> frames = {{.compressed_bytes = 0x01020304, .text_bytes = 5, .checksum = 0xA0B0C0D0},
                                              {.compressed_bytes = 6, .text_bytes = 0x40000000, .checksum = 7}};
  CHECK(zstd_seek_table(frames) == bytes_of({0x5E, 0x2A, 0x4D, 0x18, 33,   0,    0,    0,                             //
                                             4,    3,    2,    1,    5,    0,    0,    0,    0xD0, 0xC0, 0xB0, 0xA0,  //
                                             6,    0,    0,    0,    0,    0,    0,    0x40, 7,    0,    0,    0,     //
                                             2,    0,    0,    0,    0x80, 0xB1, 0xEA, 0x92, 0x8F}));
  CHECK(zstd_seek_table({}) ==
        bytes_of({0x5E, 0x2A, 0x4D, 0x18, 9, 0, 0, 0, 0, 0, 0, 0, 0x80, 0xB1, 0xEA, 0x92, 0x8F}));
}

TEST_CASE("zstd: a decoder without support for seek tables decodes frames with a seek table") {
  zstd_compressor compressor(3);
  const byte_vector text = sample_text(50'000);
  byte_vector archive;
  std::vector<seekable_frame> frames;
  for (std::size_t at = 0; at < text.size(); at += 20'000) {
    const byte_vector part(text.begin() + static_cast<std::ptrdiff_t>(at),
                           text.begin() + static_cast<std::ptrdiff_t>(std::min(at + 20'000, text.size())));
    const byte_vector frame = compressed(compressor, part);
    archive.insert(archive.end(), frame.begin(), frame.end());
    frames.push_back({.compressed_bytes = static_cast<std::uint32_t>(frame.size()),
                      .text_bytes = static_cast<std::uint32_t>(part.size()),
                      .checksum = zstd_checksum_of(frame)});
  }
  const std::vector<std::byte> table = zstd_seek_table(frames);
  archive.insert(archive.end(), table.begin(), table.end());
  CHECK(decompressed(archive, text.size()) == text);
}

namespace {

offset_reader reader_of(const byte_vector& file) {
  return [&file](std::span<std::byte> into, std::uint64_t offset) {
    const std::size_t size = offset >= file.size() ? 0 : std::min<std::size_t>(into.size(), file.size() - offset);
    std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(offset), size, into.begin());
    return size;
  };
}

struct seekable_archive {
  byte_vector bytes;
  std::vector<split_point> points;  // between its frames
};

// As pzstd writes it, or with a seek table.
seekable_archive make_seekable(const byte_vector& text, std::size_t frame_text, bool is_pzstd) {
  zstd_compressor compressor(3);
  seekable_archive made;
  std::vector<seekable_frame> frames;
  for (std::size_t at = 0; at < text.size(); at += frame_text) {
    const byte_vector part(text.begin() + static_cast<std::ptrdiff_t>(at),
                           text.begin() + static_cast<std::ptrdiff_t>(std::min(at + frame_text, text.size())));
    const byte_vector frame = compressed(compressor, part);
    if (at > 0) {
      made.points.push_back({.stored_bytes = made.bytes.size(),
                             .frames = frames.size(),
                             .text_bytes = is_pzstd ? std::nullopt : std::optional<std::uint64_t>(at)});
    }
    if (is_pzstd) {
      for (const std::uint32_t value : {0x184D2A50U, 4U, static_cast<std::uint32_t>(frame.size())}) {
        for (unsigned shift = 0; shift < 32; shift += 8)
          made.bytes.push_back(static_cast<std::byte>(value >> shift & 0xFFU));
      }
    }
    made.bytes.insert(made.bytes.end(), frame.begin(), frame.end());
    frames.push_back({.compressed_bytes = static_cast<std::uint32_t>(frame.size()),
                      .text_bytes = static_cast<std::uint32_t>(part.size())});
  }
  if (!is_pzstd) {
    const byte_vector table = zstd_seek_table(frames);
    made.bytes.insert(made.bytes.end(), table.begin(), table.end());
  }
  return made;
}

}  // namespace

TEST_CASE("zstd: the points between frames are found by a seek table, and by the sizes that pzstd writes") {
  for (const bool is_pzstd : {false, true}) {
    CAPTURE(is_pzstd);
    const seekable_archive archive = make_seekable(sample_text(100'000), 3000, is_pzstd);
    CHECK(zstd_split_points(reader_of(archive.bytes), archive.bytes.size(), 1) == archive.points);
    for (const std::uint64_t apart : {500U, 5000U, 20'000U, 60'000U, 1U << 30U}) {
      std::uint64_t last = 0;
      for (const split_point& each : zstd_split_points(reader_of(archive.bytes), archive.bytes.size(), apart)) {
        CHECK(std::ranges::find(archive.points, each) != archive.points.end());
        CHECK(each.stored_bytes - last >= apart);
        CHECK(archive.bytes.size() - each.stored_bytes >= apart);
        last = each.stored_bytes;
      }
    }
  }
}

TEST_CASE("zstd: a file whose sizes are missing or not consistent has no points, and none is outside of it") {
  for (const bool is_pzstd : {false, true}) {
    CAPTURE(is_pzstd);
    const seekable_archive archive = make_seekable(sample_text(20'000), 3000, is_pzstd);
    for (std::size_t size = 0; size < archive.bytes.size(); ++size) {
      const byte_vector cut(archive.bytes.begin(), archive.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const auto found = zstd_split_points(reader_of(cut), size, 1);
      const bool ends_between_frames =
          std::ranges::find(archive.points, size, &split_point::stored_bytes) != archive.points.end();
      if (!is_pzstd || !ends_between_frames) CHECK(found.empty());
    }
    for (std::size_t bit = 0; bit < 8 * archive.bytes.size(); bit += 3) {
      byte_vector damaged = archive.bytes;
      damaged[bit / 8] ^= std::byte{1} << bit % 8;
      for (const split_point& each : zstd_split_points(reader_of(damaged), damaged.size(), 1)) {
        CHECK(each.stored_bytes < damaged.size());
      }
    }
  }
  CHECK(zstd_split_points(reader_of(sample_text(1000)), 1000, 1).empty());
}
