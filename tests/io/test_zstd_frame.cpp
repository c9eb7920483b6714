// The header parser of zstd, compared with the results of libzstd and with the table of RFC 8878; the contract of
// splitters.
#include "io/zstd/zstd_frame.hpp"
#include "io/zstd/zstd_splitter.hpp"

#include "tests/contract/splitter_contract.hpp"
#include "tests/io/zstd_samples.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::test;
using gpuhist::io::header_status;
using gpuhist::io::make_zstd_splitter;
using gpuhist::io::parse_zstd_header;

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
