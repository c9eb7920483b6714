// The contract of decoders for snappy (framing format and blocks of Hadoop), brotli, zlib and deflate. Samples are made
// by libsnappy, liblz4, libbrotlienc and zlib; frames and checksums around them are written here by the published
// formats, the CRC-32C bit by bit.
#include "io/brotli/brotli_decoder.hpp"
#include "io/gzip/deflate_decoder.hpp"
#include "io/snappy/snappy_decoder.hpp"

#include "tests/contract/decoder_contract.hpp"
#include "tests/contract/splitter_contract.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <brotli/encode.h>
#include <doctest/doctest.h>
#include <lz4.h>
#include <snappy-c.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace gpuhist::test;
using namespace gpuhist::io;

namespace {

// ---- writers

byte_vector bytes_in(std::string_view text) { return vector_of(text); }

byte_vector little(std::uint64_t value, unsigned bytes) {
  byte_vector made;
  for (unsigned i = 0; i < bytes; ++i) made.push_back(static_cast<std::byte>(value >> (8 * i)));
  return made;
}

byte_vector big(std::uint64_t value) {
  byte_vector made = little(value, 4);
  std::ranges::reverse(made);
  return made;
}

std::uint32_t masked_crc32c(const byte_vector& text) {
  std::uint32_t crc = ~0U;
  for (const std::byte each : text) {
    crc ^= std::to_integer<std::uint32_t>(each);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
  }
  crc = ~crc;
  return (crc >> 15U | crc << 17U) + 0xA282EAD8U;
}

byte_vector snappy_block(const byte_vector& text) {
  std::size_t size = ::snappy_max_compressed_length(text.size());
  byte_vector packed(size);
  REQUIRE(::snappy_compress(reinterpret_cast<const char*>(text.data()), text.size(),
                            reinterpret_cast<char*>(packed.data()), &size) == SNAPPY_OK);
  packed.resize(size);
  return packed;
}

byte_vector lz4_block_of(const byte_vector& text) {
  byte_vector packed(static_cast<std::size_t>(::LZ4_compressBound(static_cast<int>(text.size()))));
  packed.resize(static_cast<std::size_t>(
      ::LZ4_compress_default(reinterpret_cast<const char*>(text.data()), reinterpret_cast<char*>(packed.data()),
                             static_cast<int>(text.size()), static_cast<int>(packed.size()))));
  return packed;
}

byte_vector chunk(unsigned type, const byte_vector& body) {
  return joined(joined(little(type, 1), little(body.size(), 3)), body);
}

const byte_vector identifier = vector_of(snappy_identifier);

byte_vector data_chunk(const byte_vector& text, bool stored = false) {
  return chunk(stored ? 1 : 0, joined(little(masked_crc32c(text), 4), stored ? text : snappy_block(text)));
}

byte_vector hadoop_block(const std::vector<byte_vector>& texts, byte_vector (*pack)(const byte_vector&)) {
  std::size_t size = 0;
  for (const byte_vector& each : texts) size += each.size();
  byte_vector made = big(size);
  for (const byte_vector& each : texts) {
    const byte_vector packed = pack(each);
    made = joined(joined(made, big(packed.size())), packed);
  }
  return made;
}

byte_vector brotli_stream(const byte_vector& text, int quality, int window_bits = 16) {
  std::size_t size = ::BrotliEncoderMaxCompressedSize(text.size()) + 64;
  byte_vector packed(size);
  REQUIRE(::BrotliEncoderCompress(quality, window_bits, BROTLI_MODE_GENERIC, text.size(),
                                  reinterpret_cast<const std::uint8_t*>(text.data()), &size,
                                  reinterpret_cast<std::uint8_t*>(packed.data())) == BROTLI_TRUE);
  packed.resize(size);
  return packed;
}

byte_vector deflated(const byte_vector& text, int window_bits, int level = 6) {
  z_stream stream{};
  REQUIRE(::deflateInit2(&stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  byte_vector packed(::deflateBound(&stream, text.size()));
  byte_vector in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

// ---- samples

decoder_sample sample_of(std::string name, const std::vector<std::pair<byte_vector, byte_vector>>& frames) {
  decoder_sample made{.name = std::move(name), .plain = {}, .packed = {}, .ends = {}, .clean_stops = {}};
  for (const auto& [text, frame] : frames) made.add_frame(text, frame);
  return made;
}

decoder_sample snappy_sample(std::string name, const std::vector<byte_vector>& texts) {
  decoder_sample made{.name = std::move(name), .plain = {}, .packed = {}, .ends = {}, .clean_stops = {}};
  made.add_skippable(identifier);
  for (const byte_vector& each : texts) made.add_frame(each, data_chunk(each));
  return made;
}

std::vector<decoder_sample> snappy_samples() {
  decoder_sample mixed = snappy_sample("stored chunks, padding, streams in sequence", {sample_text(70)});
  mixed.add_frame(noise(50), data_chunk(noise(50), true));
  mixed.add_skippable(chunk(0xFE, byte_vector(13)));
  mixed.add_skippable(identifier);
  mixed.add_frame(sample_text(90), data_chunk(sample_text(90)));
  return {snappy_sample("no chunk", {}), snappy_sample("three chunks", {sample_text(300), {}, sample_text(80)}), mixed};
}

std::vector<decoder_sample> hadoop_samples(byte_vector (*pack)(const byte_vector&)) {
  const byte_vector first = sample_text(200);
  const byte_vector second = noise(70);
  return {sample_of("two blocks, one of two chunks", {{joined(first, second), hadoop_block({first, second}, pack)},
                                                      {second, hadoop_block({second}, pack)}}),
          sample_of("an empty block", {{{}, big(0)}, {first, hadoop_block({first}, pack)}})};
}

std::vector<decoder_sample> brotli_samples() {
  std::vector<decoder_sample> made{sample_of("nothing", {{{}, brotli_stream({}, 5)}})};
  for (const int quality : {0, 5, 11}) {
    const byte_vector text = joined(sample_text(500), noise(60));
    made.push_back(sample_of("quality " + std::to_string(quality), {{text, brotli_stream(text, quality)}}));
  }
  return made;
}

std::vector<decoder_sample> zlib_samples() {
  const byte_vector text = joined(sample_text(300), noise(40));
  return {sample_of("streams of several windows", {{text, deflated(text, 15)}, {text, deflated(text, 9)}}),
          sample_of("nothing, stored, fixed",
                    {{{}, deflated({}, 15)}, {text, deflated(text, 15, 0)}, {text, deflated(text, 12, 9)}})};
}

std::vector<decoder_sample> deflate_samples() {
  const byte_vector text = joined(sample_text(300), noise(40));
  return {sample_of("one stream", {{text, deflated(text, -15)}}), sample_of("nothing", {{{}, deflated({}, -15)}}),
          sample_of("stored", {{text, deflated(text, -9, 0)}})};
}

const decoder_maker make_snappy = [] { return make_snappy_decoder({}); };
const decoder_maker make_hadoop_snappy = [] { return make_hadoop_snappy_decoder({}); };
const decoder_maker make_hadoop_lz4 = [] { return make_hadoop_lz4_decoder({}); };
const decoder_maker make_brotli = [] { return make_brotli_decoder({}); };
const decoder_maker make_zlib = [] { return make_zlib_decoder({}); };
const decoder_maker make_deflate = [] { return make_deflate_decoder({}); };

/// Texts that do not fit into one buffer.
void check_large(const decoder_maker& make, const decoder_sample& sample) { check_decoder_of_large(make, {sample}); }

}  // namespace

TEST_CASE("snappy: the contract of decoders, and damage is always found") {
  check_decoder(make_snappy, snappy_samples());
  // a type is in no checksum: a chunk that becomes padding is lost, which no other change of a byte of it does
  check_damage(make_snappy, snappy_sample("two chunks", {sample_text(120), sample_text(60)}));
  std::vector<byte_vector> texts;
  for (unsigned i = 0; i < 9; ++i) texts.push_back(i % 3 == 2 ? noise(65'536) : sample_text(65'536));
  check_large(make_snappy, snappy_sample("large", texts));
}

TEST_CASE("snappy: the checksum is that of the published format") {
  CHECK(masked_crc32c(bytes_in("123456789")) == (0xE3069283U >> 15U | 0xE3069283U << 17U) + 0xA282EAD8U);
}

TEST_CASE("snappy: other data, sizes that are impossible, and wrong checksums have messages with their offset") {
  check_foreign_data(make_snappy, {.kind = "snappy", .frame = "chunk"}, joined(identifier, data_chunk(sample_text(10))),
                     {"junk", "PK\3\4", "\x1F\x8B\x08"});
  for (const unsigned type : {0x02U, 0x7FU, 0x80U, 0xFDU}) {
    const decoding got = decode_at_once(make_snappy, joined(identifier, chunk(type, byte_vector(8))));
    CHECK(got.error.starts_with("trailing data that is not snappy where chunk 1 would begin, at compressed offset 10"));
  }
  const auto cause = [](const byte_vector& after) {
    return decode_at_once(make_snappy, joined(identifier, after)).error;
  };
  CHECK(cause(chunk(0, byte_vector(4)))
            .starts_with("chunk 1 is damaged (its size is impossible) at compressed offset 14,"));
  CHECK(cause(chunk(1, byte_vector(65'541))).starts_with("chunk 1 is damaged (its size is impossible)"));
  CHECK(cause(chunk(0, byte_vector(9, std::byte{0xFF}))).starts_with("chunk 1 is damaged (its data does not decode)"));
  byte_vector wrong = data_chunk(sample_text(30));
  wrong[5] ^= std::byte{1};
  CHECK(cause(wrong).starts_with("chunk 1 is damaged (its text does not match its checksum)"));
}

TEST_CASE("snappy: chunks are found by their sizes") {
  for (const decoder_sample& each : snappy_samples()) check_splits(make_snappy_splitter, each);
  check_frames_of_damaged(make_snappy_splitter, make_snappy, snappy_sample("two", {sample_text(99), sample_text(40)}),
                          4096);
}

TEST_CASE("Hadoop: the contract of decoders for blocks of snappy and lz4") {
  check_decoder(make_hadoop_snappy, hadoop_samples(snappy_block));
  check_decoder(make_hadoop_lz4, hadoop_samples(lz4_block_of));
  const byte_vector text = joined(sample_text(260'000), noise(9000));
  check_large(make_hadoop_snappy, sample_of("large", {{text, hadoop_block({text}, snappy_block)}}));
  check_large(make_hadoop_lz4, sample_of("large", {{text, hadoop_block({text}, lz4_block_of)}}));
}

TEST_CASE("Hadoop: sizes that contradict each other are damage, and memory is requested before it is allocated") {
  const byte_vector text = sample_text(100);
  byte_vector short_block = hadoop_block({text}, snappy_block);
  short_block[3] = std::byte{99};
  CHECK(decode_at_once(make_hadoop_snappy, short_block)
            .error.starts_with("block 1 is damaged (a chunk does not decode)"));
  CHECK(decode_at_once(make_hadoop_snappy, vector_of("text of a log\n")).error.starts_with("block 1 "));
  CHECK(decode_at_once(make_hadoop_lz4, joined(big(10), big(0)))
            .error.starts_with("block 1 is damaged (the size of a chunk is impossible)"));
  const auto small = make_hadoop_snappy_decoder({.window_bytes = 1000});
  const decoding got = decode(*small, joined(big(1U << 20U), big(1000)), always(everything), always(everything), 100);
  CHECK(got.error.find("--memory-limit") != std::string::npos);
}

TEST_CASE("brotli: the contract of decoders") {
  check_decoder(make_brotli, brotli_samples());
  const byte_vector text = joined(sample_text(700'000), noise(100'000));
  for (const int quality : {1, 9})
    check_large(make_brotli, sample_of("large", {{text, brotli_stream(text, quality, 22)}}));
}

TEST_CASE("brotli: one stream, whose window is requested before it is allocated") {
  const byte_vector stream = brotli_stream(sample_text(100), 5);
  const decoding more = decode_at_once(make_brotli, joined(stream, stream));
  CHECK(more.ends.size() == 1);
  CHECK(more.error.starts_with("trailing data after the end of the stream, at compressed offset " +
                               std::to_string(stream.size())));
  CHECK(decode_at_once(make_brotli, byte_vector(1, std::byte{0x11})).error.starts_with("stream 1 has a large window"));
  CHECK(make_brotli()->missing_at_end(0).starts_with("is empty: there is no brotli stream"));
  for (int bits = BROTLI_MIN_WINDOW_BITS; bits <= BROTLI_MAX_WINDOW_BITS; ++bits) {
    CAPTURE(bits);
    const byte_vector text = sample_text(std::size_t{1} << 17U);
    const byte_vector packed = brotli_stream(text, 5, bits);
    const auto decoder = make_brotli_decoder({.granted_bytes = 0});
    byte_vector out(text.size());
    CHECK(decoder->fill(packed, out).status == fill_status::needs_window);
    CHECK(decoder->window_wanted() == std::uint64_t{1} << static_cast<unsigned>(bits));
  }
}

TEST_CASE("zlib and deflate: the contract of decoders; damage of a zlib stream is always found") {
  check_decoder(make_zlib, zlib_samples());
  check_decoder(make_deflate, deflate_samples());
  check_damage(make_zlib, sample_of("one", {{sample_text(150), deflated(sample_text(150), 15)}}));
  const byte_vector text = joined(sample_text(700'000), noise(100'000));
  check_large(make_zlib, sample_of("large", {{text, deflated(text, 15)}, {text, deflated(text, 15, 1)}}));
  check_large(make_deflate, sample_of("large", {{text, deflated(text, -15)}}));
}

TEST_CASE("zlib and deflate: other data is named, and a dictionary is refused") {
  check_foreign_data(make_zlib, {.kind = "zlib", .frame = "stream"}, deflated(sample_text(10), 15),
                     {"junk", "PK\3\4", "\x1F\x8B\x08"});
  CHECK(decode_at_once(make_zlib, vector_of("x\xBB\1\2\3\4\5\6"))
            .error.starts_with("stream 1 needs a preset dictionary"));
  const byte_vector stream = deflated(sample_text(100), -15);
  const decoding more = decode_at_once(make_deflate, joined(stream, vector_of("more")));
  CHECK(more.ends.size() == 1);
  CHECK(more.error.starts_with("trailing data after the end of the stream, at compressed offset " +
                               std::to_string(stream.size())));
}
