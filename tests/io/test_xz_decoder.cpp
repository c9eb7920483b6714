// The contracts of decoders and of splitters for xz, and the properties of xz alone: padding, blocks, kinds of checks,
// dictionaries. A splitter finds blocks by the sizes in their headers.
#include "io/xz/xz_decoder.hpp"

#include "tests/contract/splitter_contract.hpp"
#include "tests/io/packed_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace gpuhist::test;
using gpuhist::io::fill_status;
using gpuhist::io::make_xz_decoder;
using gpuhist::io::make_xz_splitter;

namespace {

const decoder_maker make = [] { return make_xz_decoder({}); };

std::vector<decoder_sample> small_samples() {
  std::vector<decoder_sample> samples;
  samples.push_back(packed_sample_builder("one byte").xz(sample_text(1)).build());
  samples.push_back(packed_sample_builder("nothing, thrice").xz({}).xz({}, {.check = LZMA_CHECK_NONE}).xz({}).build());
  samples.push_back(packed_sample_builder("text").xz(sample_text(400), {.check = LZMA_CHECK_CRC64}).build());
  samples.push_back(packed_sample_builder("a stored chunk").xz(noise(100), {.check = LZMA_CHECK_SHA256}).build());
  samples.push_back(packed_sample_builder("no check").xz(sample_text(150), {.check = LZMA_CHECK_NONE}).build());
  samples.push_back(packed_sample_builder("blocks").xz(sample_text(300), {.block_bytes = 90}).build());
  samples.push_back(packed_sample_builder("blocks with sizes")
                        .xz(sample_text(300), {.check = LZMA_CHECK_SHA256, .block_bytes = 90, .states_sizes = true})
                        .build());
  samples.push_back(packed_sample_builder("streams, padding between them and at the end, a filter")
                        .xz(sample_text(100, 2))
                        .padding_in_fours(4)
                        .xz({})
                        .xz(byte_vector(300, std::byte{'b'}), {.x86_filter = true})
                        .padding_in_fours(12)
                        .xz(noise(20), {.block_bytes = 7})
                        .padding_in_fours(8)
                        .build());
  return samples;
}

byte_vector mixed_text() {
  byte_vector mixed = joined(sample_text(90'000), noise(70'000));
  mixed.resize(mixed.size() + 40'000, std::byte{'z'});
  return mixed;
}

std::vector<decoder_sample> large_samples() {
  std::vector<decoder_sample> samples;
  samples.push_back(packed_sample_builder("chunks of all kinds").xz(mixed_text(), {.preset = 1}).build());
  samples.push_back(packed_sample_builder("a dictionary that wraps")
                        .xz(mixed_text(), {.dictionary = 4096})
                        .xz(mixed_text(), {.block_bytes = 30'000})
                        .build());
  return samples;
}

std::string error_of(const byte_vector& packed) { return decode_at_once(make, packed).error; }

}  // namespace

TEST_CASE("xz: the contract of decoders") { check_decoder(make, small_samples()); }

TEST_CASE("xz: the contract of decoders, blocks of many chunks") { check_decoder_of_large(make, large_samples()); }

TEST_CASE("xz: other data is reported") {
  check_foreign_data(make, {"xz", "stream"}, xz_stream_of(sample_text(10)),
                     {"junk", "\xFD\x37no", std::string_view("\0\0\0\0junk", 8)}, true);
  CHECK(error_of(vector_of(std::string_view("\0\0\0\0", 4))).starts_with("is not xz data"));
}

TEST_CASE("xz: damage never makes other content accepted, for any cuts of input and output") {
  check_damage(make, packed_sample_builder("text and noise").xz(sample_text(200)).xz(noise(20)).build());
  check_damage(make, packed_sample_builder("blocks, padding")
                         .xz(sample_text(150), {.check = LZMA_CHECK_CRC64, .block_bytes = 80})
                         .padding_in_fours(4)
                         .xz({})
                         .build());
}

TEST_CASE("xz: blocks before a damaged byte are verified, and the block that contains it never is") {
  for (const bool sized : {false, true}) {
    for (const lzma_check check : {LZMA_CHECK_CRC32, LZMA_CHECK_CRC64, LZMA_CHECK_SHA256}) {
      const xz_settings blocks{.check = check, .block_bytes = 50, .dictionary = 4096, .states_sizes = sized};
      const decoder_sample sample = packed_sample_builder("blocks").xz(sample_text(200), blocks).build();
      for (std::size_t place = 0; place < sample.packed.size(); ++place) {
        CAPTURE(place);
        byte_vector damaged = sample.packed;
        damaged[place] ^= static_cast<std::byte>(1U << (place % 8));
        const decoding got = decode_at_once(make, damaged);
        const auto before = std::ranges::count_if(sample.ends, [&](const auto& end) { return end.packed <= place; });
        CHECK_FALSE(got.accepted());
        CHECK(std::ranges::equal(got.ends, std::span(sample.ends).first(static_cast<std::size_t>(before))));
        const std::string name = "block " + std::to_string(before + 1) + " ";
        const bool in_block = place >= LZMA_STREAM_HEADER_SIZE && place < sample.ends.back().packed;
        // a damaged first byte of a block may make it an index
        const bool names_part =
            got.error.find(name) != std::string::npos || got.error.find("index") != std::string::npos;
        CHECK((!in_block || names_part || !got.missing.empty()));
      }
    }
  }
}

TEST_CASE("xz: all text before a wrong check is delivered, for any output size, and then the error") {
  const byte_vector plain = mixed_text();
  byte_vector packed = xz_stream_of(plain);
  // from the end: footer (12), index (CRC-32, padding, sizes, 12 or 16 bytes), then the check of the only block
  const std::size_t index_bytes = 4 * (1 + std::to_integer<std::size_t>(packed[packed.size() - 8]));
  packed[packed.size() - 12 - index_bytes - 1] ^= std::byte{1};
  for_all_cuts(100'000, [&](const size_chooser& in, const size_chooser& out) {
    const decoding got = decode(make, packed, in, out, plain.size());
    CHECK(got.failed);
    CHECK(got.plain == plain);
    CHECK_MESSAGE(got.error.starts_with(
                      "stream 1 is damaged (block 1 does not decode, or does not match its checksum) at compressed"),
                  got.error);
    CHECK_MESSAGE(got.error.ends_with(", decompressed offset 200000"), got.error);
  });
}

TEST_CASE("xz: damage is reported with the stream, the block, the cause and both offsets") {
  const byte_vector first = xz_stream_of(sample_text(500));
  const byte_vector second = xz_stream_of(sample_text(200), {.block_bytes = 100});
  const auto damaged_at = [&](std::size_t place) {
    byte_vector packed = joined(first, second);
    packed[first.size() + place] ^= std::byte{1};
    return error_of(packed);
  };
  const auto where = [&](std::size_t offset, int text) {
    return " at compressed offset " + std::to_string(first.size() + offset) + ", decompressed offset " +
           std::to_string(text);
  };
  CHECK(damaged_at(7) == "stream 2 is damaged (its header does not match its checksum)" + where(12, 500));
  CHECK(damaged_at(14) ==
        "stream 2 is damaged (the header of block 1 is wrong, or does not match its checksum)" + where(24, 500));
  CHECK(damaged_at(second.size() - 1) ==
        "stream 2 is damaged (its footer is invalid, or does not match its checksum)" + where(second.size(), 700));
  CHECK_MESSAGE(damaged_at(second.size() - 13)
                    .starts_with("stream 2 is damaged (its index does not match its blocks, or its checksum)"),
                damaged_at(second.size() - 13));
}

TEST_CASE("xz: padding that is not a multiple of four bytes is an error before a stream and at the end") {
  const byte_vector stream = xz_stream_of(sample_text(10));
  for (const std::size_t zeros : {1U, 2U, 3U, 6U}) {
    byte_vector padded = stream;
    padded.resize(padded.size() + zeros);
    const std::string error = "the padding after stream 1 is not a multiple of four bytes, at compressed offset " +
                              std::to_string(padded.size()) + ", decompressed offset 10";
    const decoding got = decode_at_once(make, padded);
    CHECK(got.ends.size() == 1);
    CHECK(got.missing == error);
    CHECK(error_of(joined(padded, stream)) == error);
  }
}

TEST_CASE("xz: a stream without its index lacks its end, although its blocks are verified; wrong padding does not") {
  const byte_vector stream = xz_stream_of(sample_text(10));
  byte_vector padded = stream;
  padded.resize(padded.size() + 1);
  for (std::size_t size = 1; size <= padded.size(); ++size) {
    const auto decoder = make();
    byte_vector text(100);
    std::size_t at = 0;
    while (at < size) at += decoder->fill(std::span(padded).subspan(at, size - at), text).consumed;
    CAPTURE(size);
    CHECK(decoder->lacks_end() == (size < stream.size()));
    CHECK(decoder->missing_at_end(0).empty() == (size == stream.size()));
  }
}

TEST_CASE("xz: an unknown kind of check is an error, not a stream without a check") {
  byte_vector packed = xz_stream_of(sample_text(100));
  packed[7] = std::byte{2};  // the format defines the size of check 2, but no algorithm
  const std::uint32_t crc = lzma_crc32(reinterpret_cast<const std::uint8_t*>(packed.data()) + 6, 2, 0);
  for (unsigned i = 0; i < 4; ++i) packed[8 + i] = static_cast<std::byte>(crc >> (8 * i));
  CHECK(
      error_of(packed) ==
      "stream 1 has checksums of a kind that liblzma does not know (2) at compressed offset 12, decompressed offset 0");
}

TEST_CASE("xz: a dictionary above the limit is refused at its header, one at the limit is not") {
  const byte_vector packed = xz_stream_of(sample_text(10), {.dictionary = 64U << 20U});
  byte_vector out(100);
  const auto refusing = make_xz_decoder({.window_bytes = 48U << 20U});
  CHECK(refusing->fill(packed, out).status == fill_status::failed);
  CHECK(refusing->fault(0) ==
        "stream 1 needs a window of 64 MiB, more than the 48 MiB left of --memory-limit; give --memory-limit 64MiB or "
        "more, or --memory-limit none, at compressed offset 24, decompressed offset 0");
  CHECK(make_xz_decoder({.window_bytes = 64U << 20U})->fill(packed, out).status == fill_status::frame_verified);
}

TEST_CASE("xz: a larger dictionary is requested, even between two blocks of a stream") {
  const byte_vector plain = sample_text(600);
  const byte_vector packed = xz_stream_of_two_dictionaries(plain, 1U << 20U, 32U << 20U);
  for (const std::size_t cut : {std::size_t{1}, everything}) {
    const auto decoder = make_xz_decoder({.window_bytes = 64U << 20U, .granted_bytes = 64U << 10U});
    byte_vector text;
    std::vector<std::uint64_t> asked;
    byte_vector out(1000);
    std::size_t at = 0;
    int frames = 0;
    for (int calls = 0; at < packed.size() || frames < 2; ++calls) {
      REQUIRE(calls < 3000);
      const auto got = decoder->fill(std::span(packed).subspan(at, std::min(cut, packed.size() - at)), out);
      const fill_status status = got.status;
      REQUIRE(status != fill_status::failed);
      if (status == fill_status::frame_verified) ++frames;
      at += got.consumed;
      text.insert(text.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(got.produced));
      if (status != fill_status::needs_window) continue;
      asked.push_back(decoder->window_wanted());
      decoder->grant_window(0);  // as in the pipeline: the earlier window is freed first
      decoder->grant_window(asked.back());
    }
    CHECK(asked == std::vector<std::uint64_t>{1U << 20U, 32U << 20U});
    CHECK(text == plain);
    CHECK(decoder->missing_at_end(0).empty());
  }
}

namespace {

const decoder_maker make_decoder = [] { return make_xz_decoder({}); };

constexpr std::array checks{LZMA_CHECK_NONE, LZMA_CHECK_CRC32, LZMA_CHECK_CRC64, LZMA_CHECK_SHA256};

xz_settings blocks_of(std::size_t bytes, lzma_check check = LZMA_CHECK_CRC32) {
  return {.check = check, .block_bytes = bytes, .dictionary = 4096, .states_sizes = true};
}

/// Streams with and without blocks and padding, with every kind of check.
decoder_sample streams() {
  packed_sample_builder builder("streams");
  for (const lzma_check check : checks) {
    builder.xz(sample_text(150, check), blocks_of(60, check)).padding_in_fours(check == LZMA_CHECK_CRC64 ? 8 : 0);
    if (check == LZMA_CHECK_CRC32) builder.xz({}, blocks_of(60));
  }
  return builder.xz(noise(20), blocks_of(9)).padding_in_fours(4).build();
}

/// Small enough to damage every byte.
decoder_sample small_streams(lzma_check check) {
  return packed_sample_builder("small")
      .xz(sample_text(100), blocks_of(40, check))
      .padding_in_fours(4)
      .xz({}, blocks_of(40, check))
      .xz(noise(12), blocks_of(10, check))
      .build();
}

}  // namespace

TEST_CASE("xz: a splitter finds the same blocks as the decoder, for any cuts") {
  check_splits(make_xz_splitter, streams());
  check_splits(make_xz_splitter, packed_sample_builder("nothing").xz({}).build());
  check_splits(
      make_xz_splitter,
      packed_sample_builder("large").xz(joined(sample_text(90'000), noise(70'000)), blocks_of(30'000)).build());
  check_splits(make_xz_splitter,
               packed_sample_builder("an index of many blocks").xz(sample_text(3000), blocks_of(3)).build());
}

TEST_CASE("xz: a splitter finds all blocks before any damaged byte") {
  check_damaged_splits(make_xz_splitter, small_streams(LZMA_CHECK_CRC32));
}

TEST_CASE("xz: blocks that are decoded by a decoder each give the result of one decoder, damaged or not") {
  for (const lzma_check check : checks) {
    check_frames_of_damaged(make_xz_splitter, make_decoder, small_streams(check), std::size_t{1} << 14U);
  }
  const decoder_sample many = streams();
  check_frames_like_whole(make_xz_splitter, make_decoder, many.packed, many.plain.size());
}

TEST_CASE("xz: a decoder that begins at any block behaves like one that decoded all blocks before") {
  const context_maker context_after = [](std::span<const std::byte> before) {
    const auto splitter = make_xz_splitter();
    for (std::size_t at = 0; at < before.size();) at += splitter->advance(before.subspan(at)).taken;
    return splitter->context();
  };
  check_restart(make_decoder, streams(), context_after);
  check_restart(make_decoder, packed_sample_builder("blocks").xz(sample_text(3000), blocks_of(70)).build(),
                context_after);
}

TEST_CASE("xz: an index that lists other sizes than the blocks have is damage, although its checksum is right") {
  const byte_vector text = sample_text(200);
  const byte_vector one = xz_stream_of(text, blocks_of(100));
  const byte_vector other = xz_stream_of(sample_text(200, 7), blocks_of(101));
  const auto index_begin = [](const byte_vector& stream) {
    return stream.size() - 12 - 4 * (1 + std::to_integer<std::size_t>(stream[stream.size() - 8]));
  };
  byte_vector mixed(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(index_begin(one)));
  mixed.insert(mixed.end(), other.begin() + static_cast<std::ptrdiff_t>(index_begin(other)), other.end());
  const decoding got = decode_frames(make_xz_splitter, make_decoder, mixed, always(everything), text.size());
  CHECK(got.plain == text);
  CHECK(got.ends.size() == 2);
  CHECK(got.error.starts_with("stream 1 is damaged (its index does not match its blocks, or its checksum)"));
}

TEST_CASE("xz: a block without sizes in its header has no end, and the manner states the cause") {
  const byte_vector sized = xz_stream_of(sample_text(200), blocks_of(100));
  const byte_vector unsized = xz_stream_of(sample_text(200), {.block_bytes = 100});
  CHECK(manner_of(make_xz_splitter, sized) == "blocks found by the sizes in their headers");
  CHECK(split(make_xz_splitter, unsized, always(7)).empty());
  CHECK(manner_of(make_xz_splitter, unsized) ==
        "the ends of blocks without sizes in their headers cannot be found without decoding");
  const byte_vector both = joined(sized, joined(unsized, sized));
  CHECK(split(make_xz_splitter, both, always(7)).size() == 2);
  CHECK(manner_of(make_xz_splitter, both) == "blocks found by the sizes in their headers, up to one without sizes");
  CHECK(manner_of(make_xz_splitter, joined(sized, noise(30))) ==
        "no block can be found after data that is not an xz stream");
}
