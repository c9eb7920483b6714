// The contract of splitters for xz: blocks are found by the sizes in their headers.
#include "io/xz/xz_splitter.hpp"

#include "io/xz/xz_decoder.hpp"
#include "tests/contract/splitter_contract.hpp"
#include "tests/io/packed_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace gpuhist::test;
using gpuhist::io::make_xz_decoder;
using gpuhist::io::make_xz_splitter;

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
