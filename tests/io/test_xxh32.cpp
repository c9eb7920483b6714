// The checksum of lz4 against published values and against the checksums that liblz4 writes.
#include "io/lz4/xxh32.hpp"

#include "io/frame_magic.hpp"
#include "tests/io/lz4_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::test;
using gpuhist::io::xxh32;

TEST_CASE("xxh32: the published values") {
  CHECK(xxh32::of({}) == 0x02CC5D05U);
  CHECK(xxh32::of(vector_of("a")) == 0x550D7456U);
  CHECK(xxh32::of(vector_of("abc")) == 0x32D153FFU);
}

TEST_CASE("xxh32: the checksum that liblz4 writes at the end of a frame, for every length and every cut") {
  for (std::size_t length = 0; length < 100; ++length) {
    CAPTURE(length);
    const byte_vector text = noise(length);
    const byte_vector frame = lz4_frame_of(text);
    const auto expected = static_cast<std::uint32_t>(gpuhist::io::little_endian(std::span(frame).last(4)));
    CHECK(xxh32::of(text) == expected);
    for (std::size_t cut = 0; cut <= length; ++cut) {
      xxh32 sum;
      sum.add(std::span(text).first(cut));
      sum.add(std::span(text).subspan(cut));
      CHECK(sum.value() == expected);
    }
    xxh32 by_bytes;
    for (const std::byte& each : text) by_bytes.add({&each, 1});
    CHECK(by_bytes.value() == expected);
  }
}
