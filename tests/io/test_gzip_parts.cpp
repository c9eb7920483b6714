// gzip members decoded in parts by several threads (tests/contract/part_contract.hpp), compared with zlib's samples.
// gzip compared with zlib: thousands of damaged, truncated and mixed members. Random inputs for the decoding in parts:
// the finder of blocks, the decoder of parts, and the decoder that takes them over. FUZZ_RUNS and FUZZ_SEED: see
// tests/support/campaign.hpp.
#include "io/gzip/deflate_finder.hpp"
#include "io/gzip/deflate_part.hpp"
#include "io/gzip/deflate_run.hpp"
#include "io/gzip/gzip_decoder.hpp"

#include "tests/contract/part_contract.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/io/part_fuzz.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace gpuhist::test;
using gpuhist::io::make_gzip_decoder;
namespace io = gpuhist::io;

namespace {

const decoder_maker make = [] { return io::make_gzip_decoder({}); };
const part_decoder_maker make_parts = [] { return io::make_gzip_part_decoder(); };

/// Text, noise and runs.
byte_vector mixture(std::size_t bytes, std::uint32_t seed = 1) {
  byte_vector mixed;
  std::mt19937 random(seed);
  while (mixed.size() < bytes) {
    const std::size_t size = 1 + random() % 20'000;
    const auto next = static_cast<std::uint32_t>(random());
    switch (random() % 4) {
      case 0:
        mixed = joined(mixed, noise(size, next));
        break;
      case 1:
        mixed.resize(mixed.size() + size, static_cast<std::byte>(next & 0xFFU));
        break;
      default:
        mixed = joined(mixed, sample_text(size, next));
    }
  }
  mixed.resize(bytes);
  return mixed;
}

std::vector<decoder_sample> samples_of(const byte_vector& plain, const std::string& name) {
  std::vector<decoder_sample> samples;
  for (const int level : {0, 1, 6, 9}) {
    samples.push_back(
        gzip_sample_builder(name + ", level " + std::to_string(level)).member(plain, {.level = level}).build());
  }
  for (const int strategy : {Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE, Z_FILTERED}) {
    samples.push_back(gzip_sample_builder(name + ", strategy " + std::to_string(strategy))
                          .member(plain, {.strategy = strategy, .mem_level = 4})
                          .build());
  }
  for (const int flush : {Z_FULL_FLUSH, Z_SYNC_FLUSH, Z_PARTIAL_FLUSH, Z_BLOCK}) {
    samples.push_back(gzip_sample_builder(name + ", flush " + std::to_string(flush))
                          .member(plain, {.flush_bytes = plain.size() / 23 + 1, .flush = flush})
                          .build());
  }
  samples.push_back(gzip_sample_builder(name + ", small blocks").member(plain, {.level = 6, .mem_level = 1}).build());
  return samples;
}

/// `bytes` moved by `bits` bits (0 to 7) to higher positions.
byte_vector shifted(const byte_vector& bytes, unsigned bits) {
  byte_vector result(bytes.size() + 1);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned moved = std::to_integer<unsigned>(bytes[i]) << bits;
    result[i] |= static_cast<std::byte>(moved & 0xFFU);
    result[i + 1] |= static_cast<std::byte>(moved >> 8U);
  }
  return result;
}

/// The blocks of a member, without header and trailer.
byte_vector blocks_of(const byte_vector& plain, const gzip_settings& settings) {
  const byte_vector member = gzip_member_of(plain, settings);
  return {member.begin() + 10, member.end() - 8};
}

/// A gzip member of any blocks and trailer.
byte_vector member_around(const byte_vector& blocks) {
  using namespace std::string_view_literals;
  return joined(joined(vector_of("\x1F\x8B\x08\0\0\0\0\0\0\x03"sv), blocks), byte_vector(8));
}

/// Compressed with a text before it that the member does not have.
byte_vector blocks_after(const byte_vector& before, const byte_vector& plain) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, -15, 1, Z_DEFAULT_STRATEGY) == Z_OK);
  REQUIRE(deflateSetDictionary(&stream, reinterpret_cast<const Bytef*>(before.data()),
                               static_cast<uInt>(before.size())) == Z_OK);
  byte_vector packed(2 * plain.size() + 1000);
  stream.next_in = reinterpret_cast<const Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// The text of `packed` if the decoder gets these parts. It gets zeros instead of the input in [from, to).
byte_vector text_with(const std::deque<std::shared_ptr<io::decoded_part>>& parts, byte_vector packed,
                      std::size_t part_bytes, std::size_t from = 0, std::size_t to = 0) {
  std::fill(packed.begin() + static_cast<std::ptrdiff_t>(from), packed.begin() + static_cast<std::ptrdiff_t>(to),
            std::byte{0});
  const auto decoder = make();
  byte_vector text;
  byte_vector out(100'000);
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    decoder->offer(parts[i]);
    const std::size_t end = std::min(packed.size(), (i + 1) * part_bytes);
    for (io::fill_result got{.status = io::fill_status::output_full};
         at < end || got.status == io::fill_status::output_full;) {
      got = decoder->fill(std::span(packed).subspan(at, end - at), out);
      REQUIRE(got.status != io::fill_status::failed);
      at += got.consumed;
      text.insert(text.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(got.produced));
    }
  }
  CHECK_FALSE(decoder->in_frame());
  return text;
}

const io::deflate_part& as_deflate(const std::shared_ptr<io::decoded_part>& part) {
  return dynamic_cast<const io::deflate_part&>(*part);
}

}  // namespace

TEST_CASE("gzip: decoding in parts changes nothing for texts of all kinds, levels and strategies") {
  for (const decoder_sample& sample : samples_of(sample_text(300'000), "text")) check_parts(make, make_parts, sample);
  for (const decoder_sample& sample : samples_of(noise(120'000), "noise")) check_parts(make, make_parts, sample);
  for (const decoder_sample& sample : samples_of(mixture(500'000), "mixture")) check_parts(make, make_parts, sample);
  for (const decoder_sample& sample : samples_of(byte_vector(3'000'000, std::byte{'a'}), "one letter")) {
    check_parts(make, make_parts, sample);
  }
}

TEST_CASE("gzip: decoding in parts changes nothing for several members, with padding and all fields of headers") {
  const gzip_settings all_fields{.name = "a name", .comment = "a comment", .extra = "more", .header_checksum = true};
  gzip_sample_builder members("members");
  for (std::uint32_t i = 0; i < 40; ++i) {
    members.member(mixture(3000 * (i % 7), i),
                   i % 3 == 0 ? all_fields : gzip_settings{.level = static_cast<int>(i % 10)});
    if (i % 5 == 0) members.padding(i);
  }
  check_parts(make, make_parts, members.padding(100).build());
  check_parts(make, make_parts,
              gzip_sample_builder("BGZF").block(sample_text(60'000)).block(noise(30'000)).block({}).build());
}

TEST_CASE("gzip: decoding damaged or cut members in parts gives the same verdicts, messages and texts") {
  const byte_vector small = mixture(1100, 6);
  check_parts_of_damaged(make, make_parts, gzip_sample_builder("small blocks").member(small, {.mem_level = 1}).build());
  check_parts_of_damaged(make, make_parts,
                         gzip_sample_builder("flushes")
                             .member(small, {.flush_bytes = 150, .flush = Z_PARTIAL_FLUSH})
                             .padding(3)
                             .member(sample_text(300), {.name = "a name"})
                             .build());
  check_parts_of_damaged(make, make_parts,
                         gzip_sample_builder("stored").member(noise(700), {.level = 0, .flush_bytes = 100}).build());
  check_parts_of_damaged(make, make_parts,
                         gzip_sample_builder("many blocks").member(mixture(300'000), {.mem_level = 2}).build(), 500);
}

TEST_CASE("gzip: parts with any limit of their memory change nothing") {
  const decoder_sample sample =
      gzip_sample_builder("mixture").member(joined(mixture(2'000'000), byte_vector(3'000'000, std::byte{'a'}))).build();
  for (const std::size_t kilobytes : {200, 220, 300, 500, 1000, 2000, 5000}) {
    check_same_with_parts(
        make, make_parts, sample.packed,
        {.part_bytes = sample.packed.size() / 4, .look_ahead = 100'000, .max_bytes = kilobytes << 10U},
        sample.plain.size());
  }
}

TEST_CASE("gzip: blocks inside the text of stored blocks are not taken for blocks of the member, at any bit") {
  const byte_vector inner = blocks_of(sample_text(60'000), {.mem_level = 1, .flush_bytes = 20'000});
  for (unsigned bits = 0; bits < 8; ++bits) {
    byte_vector plain = joined(noise(777, bits), shifted(inner, bits));
    plain = joined(plain, joined(noise(5000, bits + 8), joined(gzip_member_of(sample_text(9000)), byte_vector(700))));
    check_parts(make, make_parts, gzip_sample_builder("planted blocks").member(plain, {.level = 0}).build());
  }
}

TEST_CASE("gzip: copies from exactly 32768 bytes before are right across parts") {
  const byte_vector once = noise(32'768);
  byte_vector plain;
  for (int i = 0; i < 12; ++i) plain = joined(plain, once);
  check_parts(make, make_parts, gzip_sample_builder("the farthest distance").member(plain, {.level = 9}).build());
  check_parts(make, make_parts,
              gzip_sample_builder("with flushes")
                  .member(plain, {.level = 9, .flush_bytes = 9999, .flush = Z_SYNC_FLUSH})
                  .build());
}

TEST_CASE("gzip: a copy from before the text of its member is damage in every part") {
  const byte_vector before = sample_text(32'000, 5);
  for (const std::size_t first : {0, 5000, 12'000}) {
    const byte_vector text = joined(noise(first), before);
    const byte_vector packed = member_around(blocks_after(before, joined(text, text)));
    const decoding alone = decode(make, packed, always(everything), always(everything), 1U << 20U);
    REQUIRE(alone.failed);
    for (const part_shape& shape : part_shapes(packed.size())) {
      check_same_with_parts(make, make_parts, packed, shape, 1U << 20U);
    }
  }
}

TEST_CASE("gzip: every part of a text is decoded, begins where the one before it ends, and knows its window") {
  for (const decoder_sample& sample : samples_of(mixture(3'000'000), "mixture")) {
    if (sample.name.ends_with("strategy " + std::to_string(Z_FIXED))) continue;  // such blocks are not found
    CAPTURE(sample.name);
    const part_shape shape{.part_bytes = sample.packed.size() / 6 + 1, .look_ahead = 200'000};
    const auto parts = decode_parts(make_parts, sample.packed, shape);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      REQUIRE(parts[i] != nullptr);
      if (i == 0) continue;
      CHECK(as_deflate(parts[i]).window());
      CHECK(as_deflate(parts[i]).stretches().front().first_begin <= as_deflate(parts[i - 1]).end());
      CHECK(as_deflate(parts[i]).stretches().front().begin >= as_deflate(parts[i - 1]).end());
    }
  }
}

TEST_CASE("gzip: a part whose text has marks up to its end leads on when its window is found later") {
  byte_vector plain = sample_text(30'000, 1);
  std::mt19937 random(8);
  while (plain.size() < 2'000'000) {  // all of it comes from the first bytes
    const std::size_t from = plain.size() - 20'000 - random() % 10'000;
    const std::size_t size = 50 + random() % 100;
    for (std::size_t i = 0; i < size; ++i) plain.push_back(plain[from + i]);
  }
  const byte_vector packed = gzip_member_of(plain, {.mem_level = 1});
  const part_shape shape{.part_bytes = packed.size() / 4 + 1, .look_ahead = 200'000};
  const auto whole = decode_parts(make_parts, packed, shape);
  auto places = part_places(packed, shape);
  places.erase(places.begin());
  const auto parts = decode_parts(make_parts, packed, places, shape);
  REQUIRE(parts.size() == 3);
  CHECK(as_deflate(whole[0]).is_linked());
  CHECK_FALSE(as_deflate(parts[0]).is_linked());
  CHECK_FALSE(as_deflate(parts[1]).window());
  as_deflate(parts[0]).note_window(as_deflate(whole[0]).end_window({}));
  CHECK(as_deflate(parts[0]).is_linked());
  CHECK((as_deflate(parts[0]).end_window({}) == as_deflate(whole[1]).end_window({})));
}

TEST_CASE("gzip: what was decoded ahead is not decoded again, also after parts that are missing or not linked") {
  const byte_vector plain = mixture(3'000'000);
  const byte_vector packed = gzip_member_of(plain);
  const part_shape shape{.part_bytes = packed.size() / 8 + 1, .look_ahead = 200'000};
  const auto whole = decode_parts(make_parts, packed, shape);
  CHECK((text_with(whole, packed, shape.part_bytes, 100, packed.size() - 8) == plain));
  for (const std::size_t missing : {0, 2, 3}) {
    auto parts = decode_parts([&] { return make_parts(); }, packed, shape);
    parts[missing] = nullptr;
    const std::size_t taken = (missing + 1) * shape.part_bytes + 100'000;  // after the block across the border
    CHECK((text_with(parts, packed, shape.part_bytes, taken, packed.size() - 8) == plain));
  }
  const auto decoder = make_parts();
  std::deque<std::shared_ptr<io::decoded_part>> alone;
  for (std::size_t begin = 0; begin < packed.size(); begin += shape.part_bytes) {
    const std::vector<std::span<const std::byte>> pieces{std::span(packed).subspan(begin)};
    alone.push_back(decoder->decode({.offset = begin,
                                     .size = std::min(shape.part_bytes, packed.size() - begin),
                                     .pieces = pieces,
                                     .ends_input = true,
                                     .begins_frame = begin == 0,
                                     .max_bytes = shape.max_bytes}));
    REQUIRE(alone.back() != nullptr);
    alone.back()->link(nullptr);
    alone.back()->finish();
  }
  CHECK((text_with(alone, packed, shape.part_bytes, 100, packed.size() - 8) == plain));
}

namespace {

constexpr std::size_t max_text = std::size_t{1} << 18U;

/// The result of zlib for one member at the front of `packed`: its text if it is valid.
struct zlib_verdict {
  bool good = false;
  byte_vector plain;
  std::size_t packed_bytes = 0;
};

zlib_verdict ask_zlib(std::span<const std::byte> packed) {
  constexpr int gzip_wrapper = 16;
  zlib_verdict verdict;
  verdict.plain.resize(max_text);
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + gzip_wrapper) == Z_OK);
  stream.next_in = reinterpret_cast<const Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(verdict.plain.data());
  stream.avail_out = static_cast<uInt>(verdict.plain.size());
  verdict.good = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  verdict.plain.resize(stream.total_out);
  verdict.packed_bytes = stream.total_in;
  inflateEnd(&stream);
  return verdict;
}

byte_vector some_member(std::mt19937& random) {
  const byte_vector text = random() % 3 == 0 ? noise(random() % 200, static_cast<std::uint32_t>(random()))
                                             : sample_text(random() % 600, static_cast<std::uint32_t>(random()));
  gzip_settings settings{.level = static_cast<int>(random() % 10), .mem_level = 1 + static_cast<int>(random() % 9)};
  if (random() % 4 == 0) settings.strategy = Z_FIXED;
  if (random() % 4 == 0) settings.header_checksum = true;
  if (random() % 4 == 0) settings.name = "name";
  return random() % 5 == 0 ? bgzf_block_of(text) : gzip_member_of(text, settings);
}

}  // namespace

TEST_CASE("gzip: of 20000 damaged members the decoder accepts exactly those that zlib accepts, with the same text") {
  std::mt19937 random(fuzz_seed(20));
  const auto decoder = make_gzip_decoder({});
  std::size_t good = 0;
  const std::size_t trials = fuzz_runs(20'000);
  for (std::size_t trial = 0; trial < trials; ++trial) {
    byte_vector packed = some_member(random);
    damage(packed, random, 6);
    const std::size_t padding = trial % 3 == 0 ? 0 : 64;  // the decoder of short members needs bytes after them
    packed.resize(packed.size() + padding);
    const zlib_verdict expected = ask_zlib(packed);
    byte_vector once(packed);
    if (expected.good) {
      once.resize(expected.packed_bytes);
      once.resize(expected.packed_bytes + padding);
    }
    decoder->restart({});
    const size_chooser cut = trial % 2 == 0 ? always(everything) : sometimes(50, static_cast<std::uint32_t>(trial));
    const decoding got = decode(*decoder, once, cut, cut, max_text);
    const bool accepted = got.accepted() && got.ends.size() == 1;
    if (accepted != expected.good) FAIL("trial ", trial, ": ", got.error, got.missing);
    if (accepted && got.plain != expected.plain) FAIL("trial ", trial, ": other text");
    if (!begin_alike(got.plain, expected.plain)) FAIL("trial ", trial, ": other text before the fault");
    if (accepted) ++good;
  }
  // damage to the time or name in a header is not covered by a checksum and changes no text
  CHECK(good > 0);
  CHECK(good < trials / 5);
}

namespace io = gpuhist::io;

namespace {

constexpr std::size_t most_text = std::size_t{1} << 20U;

byte_vector some_text(std::mt19937& random, std::size_t most) {
  const auto seed = static_cast<std::uint32_t>(random());
  return random() % 3 == 0 ? noise(random() % most, seed) : sample_text(random() % most, seed);
}

gzip_settings some_settings(std::mt19937& random) {
  gzip_settings settings{.level = static_cast<int>(random() % 10), .mem_level = 1 + static_cast<int>(random() % 3)};
  if (random() % 4 == 0) settings.strategy = static_cast<int>(random() % 5);
  if (random() % 2 == 0) {
    settings.flush_bytes = 1 + random() % 200;
    settings.flush = random() % 2 == 0 ? Z_FULL_FLUSH : Z_PARTIAL_FLUSH;
  }
  return settings;
}

/// Two members. The text of a stored one may be a member, too, whose blocks are then false ones.
byte_vector some_members(std::mt19937& random) {
  const byte_vector first = gzip_member_of(some_text(random, 900), some_settings(random));
  const byte_vector second = random() % 4 == 0 ? gzip_member_of(first, {.level = 0})
                                               : gzip_member_of(some_text(random, 300), some_settings(random));
  return joined(first, second);
}

part_shape some_shape(std::mt19937& random, std::size_t packed_bytes) {
  part_shape shape{.part_bytes = 1 + random() % packed_bytes, .look_ahead = random() % 600, .max_bytes = most_text};
  if (random() % 16 == 0) shape.max_bytes = (192U << 10U) + random() % 70'000;
  return shape;
}

/// The compressed offset of an invalid header of a block depends on where the input is cut, also without parts.
std::string without_uncertain_offset(const std::string& error) {
  if (error.find("an invalid block") == std::string::npos) return error;
  const std::size_t from = error.find(" at compressed offset");
  return error.substr(0, from) + error.substr(error.find(',', from));
}

bool are_same(const part_fuzzer::results& both) {
  const decoding& alone = both.alone;
  const decoding& ahead = both.with_parts;
  if (both.is_cut) return begin_alike(alone.plain, ahead.plain);
  return alone.plain == ahead.plain && alone.ends == ahead.ends && alone.missing == ahead.missing &&
         without_uncertain_offset(alone.error) == without_uncertain_offset(ahead.error);
}

/// A few random bytes, or some of `model` with a flipped bit; with padding.
byte_vector few_bytes(std::mt19937& random, const byte_vector& model) {
  byte_vector bytes(1 + random() % 96);
  if (random() % 2 == 0) {
    std::ranges::generate(bytes, [&random] { return static_cast<std::byte>(random() & 0xFFU); });
  } else {
    const std::size_t from = random() % (model.size() - bytes.size());
    std::copy_n(model.begin() + static_cast<std::ptrdiff_t>(from), bytes.size(), bytes.begin());
    bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << (random() % 8));
  }
  bytes.resize(bytes.size() + io::deflate_bits::padding);
  return bytes;
}

}  // namespace

TEST_CASE("gzip fuzz: damaged members decoded in parts give what the decoder gives alone") {
  std::mt19937 random(fuzz_seed(1));
  part_fuzzer fuzzer([] { return io::make_gzip_decoder({}); }, [] { return io::make_gzip_part_decoder(); });
  byte_vector whole;
  const std::size_t runs = fuzz_runs(20'000);
  for (std::size_t run = 0; run < runs; ++run) {
    if (run % 32 == 0) whole = some_members(random);
    byte_vector packed = whole;
    if (run % 4 != 0) damage(packed, random, 6);
    if (packed.empty()) continue;
    const auto both = fuzzer.decode(packed, some_shape(random, packed.size()), most_text);
    if (!are_same(both)) {
      FAIL("run ", run, ": ", both.with_parts.error, both.with_parts.missing, " instead of ", both.alone.error,
           both.alone.missing);
    }
  }
  CHECK(fuzzer.parts() > runs / 2);
}

// What is decoded from random bytes is not judged here, only by the sanitizers.
TEST_CASE("gzip fuzz: random bytes are searched and decoded within their bounds") {
  std::mt19937 random(fuzz_seed(2));
  io::deflate_blocks blocks;
  const auto memory = std::make_shared<io::part_memory>(io::deflate_text::chunk_bytes, 4);
  const byte_vector model = joined(gzip_member_of(sample_text(2000), {.mem_level = 1}), gzip_member_of(noise(300)));
  const std::size_t runs = fuzz_runs(100'000);
  for (std::size_t run = 0; run < runs; ++run) {
    const byte_vector bytes = few_bytes(random, model);
    const std::size_t size = bytes.size() - io::deflate_bits::padding;
    const io::deflate_data data{.bytes = std::span(bytes).first(size)};
    io::deflate_finder finder(data.bytes, size);
    for (auto guess = finder.next(); guess; guess = finder.next()) {
      if (guess->first_bit > guess->bit || guess->bit >= 8 * size) FAIL("run ", run, ": a guess outside the data");
      if (guess->found == io::block_guess::kind::member) continue;
      io::deflate_run decoded(most_text, memory);
      REQUIRE(decoded.begin_at_block(guess->first_bit, guess->bit, std::nullopt));
      decoded.decode(blocks, data, 8 * size);
    }
    // and with an empty window, from any bit
    io::deflate_run decoded(std::size_t{1} << 18U, memory);
    const std::uint64_t bit = random() % (8 * size);
    REQUIRE(decoded.begin_at_block(bit, bit, std::span<const std::byte>()));
    decoded.decode(blocks, data, 8 * size);
    if (decoded.position() > 8 * size) FAIL("run ", run, ": a block beyond the data");
  }
}
