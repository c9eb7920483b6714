// The contracts of decoders and of splitters for gzip, and the properties of gzip alone: headers, padding, messages,
// sizes of BGZF blocks.
#include "io/gzip/gzip_decoder.hpp"
#include "io/gzip/gzip_splitter.hpp"

#include "tests/contract/splitter_contract.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace gpuhist::test;
using gpuhist::io::fill_status;
using gpuhist::io::make_gzip_decoder;
using gpuhist::io::make_gzip_splitter;

namespace {

const std::string other_field("xy\1\0Z", 5);  // name, length, content

const decoder_maker make = [] { return make_gzip_decoder({}); };
const format_words words{"gzip", "member"};

const gzip_settings all_fields{.name = "a name", .comment = "a comment", .extra = "more", .header_checksum = true};

std::vector<decoder_sample> small_samples() {
  std::vector<decoder_sample> samples;
  samples.push_back(gzip_sample_builder("one byte").member(sample_text(1)).build());
  samples.push_back(
      gzip_sample_builder("nothing, in three ways").member({}).member({}, {.level = 0}).member({}, all_fields).build());
  samples.push_back(gzip_sample_builder("text").member(sample_text(700)).build());
  samples.push_back(gzip_sample_builder("stored").member(noise(300), {.level = 0}).build());
  samples.push_back(gzip_sample_builder("fixed codes").member(sample_text(400), {.strategy = Z_FIXED}).build());
  samples.push_back(gzip_sample_builder("no repetitions").member(noise(500), {.strategy = Z_HUFFMAN_ONLY}).build());
  samples.push_back(gzip_sample_builder("a run").member(byte_vector(5000, std::byte{'a'})).build());
  samples.push_back(
      gzip_sample_builder("BGZF").block(sample_text(300)).block(noise(40), other_field).block({}).build());
  samples.push_back(gzip_sample_builder("members of all kinds, padding between them and at the end")
                        .member(sample_text(100, 2), all_fields)
                        .member({})
                        .member(noise(70), {.level = 0, .name = "noise"})
                        .padding(5)
                        .member(sample_text(1), {.header_checksum = true})
                        .block(sample_text(200))
                        .member(byte_vector(300, std::byte{'b'}), {.level = 9, .comment = "only"})
                        .padding(40)
                        .build());
  return samples;
}

/// Text, noise and a run: blocks of all types.
byte_vector mixed_text() {
  byte_vector mixed = joined(sample_text(45'000), noise(30'000));
  mixed.resize(mixed.size() + 40'000, std::byte{'z'});
  return mixed;
}

/// More than the 64 KiB of the buffer in ISA-L, with distances up to the whole window.
std::vector<decoder_sample> large_samples() {
  const byte_vector mixed = mixed_text();
  const byte_vector far = joined(noise(32'768), joined(noise(32'768), noise(32'768)));
  std::vector<decoder_sample> samples;
  samples.push_back(gzip_sample_builder("blocks of all types").member(mixed).build());
  samples.push_back(gzip_sample_builder("many blocks").member(mixed, {.level = 1, .mem_level = 1}).build());
  samples.push_back(gzip_sample_builder("stored blocks").member(mixed, {.level = 0}).build());
  samples.push_back(gzip_sample_builder("the farthest distances")
                        .member(far, {.level = 9})
                        .member(mixed, {.window_bits = 9})
                        .build());
  return samples;
}

/// A member of 200 bytes of text. Its header has `flags`, and `fields` after the fixed fields.
byte_vector member_with(unsigned method, unsigned flags, std::string_view fields = {}) {
  constexpr std::size_t fixed_bytes = 10;
  byte_vector member = gzip_member_of(sample_text(200));
  member[2] = static_cast<std::byte>(method);
  member[3] = static_cast<std::byte>(flags);
  const byte_vector more = vector_of(fields);
  member.insert(member.begin() + fixed_bytes, more.begin(), more.end());
  return member;
}

}  // namespace

TEST_CASE("gzip: the contract of decoders") { check_decoder(make, small_samples()); }

TEST_CASE("gzip: the contract of decoders, members of many blocks") { check_decoder_of_large(make, large_samples()); }

TEST_CASE("gzip: other data and the number of a member are reported") {
  check_foreign_data(make, words, gzip_member_of(sample_text(10)),
                     {"junk", "\x1Fjunk", std::string_view("\0\0junk", 6)}, true);
  CHECK(decode_at_once(make, vector_of(std::string_view("\0\0\0", 3))).error.starts_with("is not gzip data"));
  byte_vector member = gzip_member_of(sample_text(200));
  member.back() ^= std::byte{1};
  check_numbering(make, words, member, "its text does not have the length that its trailer states", member.size());
}

TEST_CASE("gzip: every level and strategy decodes to the original text") {
  const byte_vector plain = sample_text(20'000, 9);
  for (int level = 0; level <= 9; ++level)
    check_cuts(make, gzip_sample_builder("a level").member(plain, {.level = level}).build());
  for (const int strategy : {Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED})
    check_cuts(make, gzip_sample_builder("a strategy").member(plain, {.strategy = strategy}).build());
}

TEST_CASE("gzip: damage never makes other content accepted, for any cuts of input and output") {
  check_damage(make, gzip_sample_builder("text and noise").member(sample_text(300)).member(noise(40)).build());
  check_damage(make, gzip_sample_builder("stored").member(sample_text(200), {.level = 0}).member({}).build());
  check_damage(make, gzip_sample_builder("fixed codes").member(sample_text(200), {.strategy = Z_FIXED}).build());
  check_damage(make, gzip_sample_builder("BGZF").block(sample_text(200)).block({}).build());
}

TEST_CASE("gzip: nothing is written after the end of the output span") {
  constexpr std::byte mark{0xA5};
  for (const decoder_sample& sample : large_samples()) {
    CAPTURE(sample.name);
    const size_chooser size = sometimes(70'000, 3);
    const auto decoder = make();
    byte_vector plain;
    std::size_t consumed = 0;
    while (plain.size() < sample.plain.size()) {
      const std::size_t room = size();
      byte_vector out(room + 512, mark);
      const auto got = decoder->fill(std::span(sample.packed).subspan(consumed), std::span(out).first(room));
      REQUIRE(got.status != fill_status::failed);
      consumed += got.consumed;
      plain.insert(plain.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(got.produced));
      REQUIRE(std::ranges::all_of(std::span(out).subspan(room), [&](std::byte byte) { return byte == mark; }));
    }
    CHECK(plain == sample.plain);
  }
}

TEST_CASE("gzip: all text before an error is delivered, for any output size") {
  const byte_vector plain = sample_text(100'000);
  byte_vector packed = gzip_member_of(plain, {.level = 0});
  // the second stored block, after the header of the first one and its 65535 bytes; the complement of its length is
  // wrong
  constexpr std::size_t second = 10 + 5 + 65'535;
  packed[second + 3] ^= std::byte{1};
  for_all_cuts(100'000, [&](const size_chooser& in, const size_chooser& out) {
    const decoding got = decode(make, packed, in, out, plain.size());
    CHECK(got.failed);
    CHECK(got.plain.size() == 65'535);
    CHECK(std::ranges::equal(got.plain, std::span(plain).first(got.plain.size())));
    CHECK(got.error.starts_with("member 1 is damaged (an invalid block) at compressed offset "));
    CHECK_MESSAGE(got.error.ends_with(", decompressed offset 65535"), got.error);
  });
}

TEST_CASE(
    "gzip: a wrong checksum and a wrong length are reported with member, cause and both offsets, after all bytes") {
  const byte_vector first = gzip_member_of(sample_text(500));
  const byte_vector second = gzip_member_of(sample_text(200));
  const auto damaged_at = [&](std::size_t from_end) {
    byte_vector packed = joined(first, second);
    packed[packed.size() - from_end] ^= std::byte{1};
    return decode_at_once(make, packed);
  };
  const std::string where =
      " at compressed offset " + std::to_string(first.size() + second.size()) + ", decompressed offset 700";
  for (const std::size_t place : {5U, 6U, 7U, 8U}) {
    const decoding got = damaged_at(place);
    CHECK(got.plain.size() == 700);
    CHECK(got.ends.size() == 1);
    CHECK(got.error == "member 2 is damaged (its text does not match its checksum)" + where);
  }
  for (const std::size_t place : {1U, 2U, 3U, 4U}) {
    CHECK(damaged_at(place).error ==
          "member 2 is damaged (its text does not have the length that its trailer states)" + where);
  }
}

TEST_CASE("gzip: the checksum of a header is verified if it has one") {
  byte_vector packed = gzip_member_of(sample_text(100), all_fields);
  CHECK(decode_at_once(make, packed).accepted());
  packed[4] ^= std::byte{1};  // in the time field
  const decoding got = decode_at_once(make, packed);
  CHECK(got.failed);
  CHECK(got.plain.empty());
  CHECK(got.error.starts_with("member 1 is damaged (its header does not match its checksum) at compressed offset "));
}

TEST_CASE("gzip: names and comments may have any length") {
  const std::string name(70'000, 'n');
  const byte_vector packed = gzip_member_of(sample_text(100), {.name = name, .comment = name, .header_checksum = true});
  CHECK(decode(make, packed, always(1000), always(everything), 100).accepted());
}

TEST_CASE("gzip: an empty extra field is accepted") {
  CHECK(decode_at_once(make, member_with(8, 4, std::string_view("\0\0", 2))).accepted());
}

TEST_CASE("gzip: reserved flags and methods other than deflate are refused") {
  for (const unsigned flag : {0x20U, 0x40U, 0x80U}) {
    CHECK(decode_at_once(make, member_with(8, flag)).error ==
          "member 1 is damaged (its header has reserved flags set) at compressed offset 4, decompressed offset 0");
  }
  CHECK(decode_at_once(make, member_with(7, 0)).error ==
        "member 1 is compressed by method 7, not by deflate (8), at compressed offset 3, decompressed offset 0");
}

namespace {

const std::string empty_field("ab\0\0", 4);

constexpr std::size_t block_header_bytes = 18;  // the header confirms the end of the previous block
constexpr std::size_t guessed_header_bytes = 10;

std::unique_ptr<gpuhist::io::splitter> make_guessing_splitter() {
  std::unique_ptr<gpuhist::io::splitter> made = make_gzip_splitter();
  made->permit_guesses(std::uint64_t{512} << 10U);
  return made;
}

const decoder_maker make_decoder = [] { return make_gzip_decoder({}); };

std::vector<decoder_sample> samples() {
  std::vector<decoder_sample> result;
  result.push_back(gzip_sample_builder("one block").block(sample_text(700)).build());
  result.push_back(gzip_sample_builder("the empty block alone").block({}).build());
  result.push_back(gzip_sample_builder("blocks, other fields in some, padding at the end")
                       .block(sample_text(300))
                       .block(noise(40), other_field)
                       .block({})
                       .block(sample_text(65'280))
                       .block(noise(200), empty_field)
                       .block({})
                       .padding(9)
                       .build());
  return result;
}

/// The results of one decoder per frame that the splitter finds, joined, as in the pipeline.
decoding decode_split(const byte_vector& packed) {
  std::vector<std::size_t> ends = split(make_gzip_splitter, packed, always(everything));
  if (ends.empty() || ends.back() != packed.size()) ends.push_back(packed.size());
  decoding all;
  std::size_t begin = 0;
  const auto decoder = make_decoder();
  for (std::size_t frame = 0; frame < ends.size() && all.accepted(); begin = ends[frame++]) {
    decoder->restart({.frames = frame, .compressed_bytes = begin});
    byte_vector out(1U << 17U);
    for (std::size_t at = begin;;) {
      const auto got = decoder->fill(std::span(packed).subspan(at, ends[frame] - at), out);
      at += got.consumed;
      all.plain.insert(all.plain.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(got.produced));
      all.failed = got.status == gpuhist::io::fill_status::failed;
      if (all.failed || got.status == gpuhist::io::fill_status::needs_input) break;
    }
    all.missing = decoder->missing_at_end(0);
  }
  return all;
}

}  // namespace

TEST_CASE("gzip: a splitter finds the same BGZF blocks as the decoder, for any cuts") {
  for (const decoder_sample& sample : samples()) check_splits(make_gzip_splitter, sample, block_header_bytes);
}

TEST_CASE("gzip: a splitter finds all blocks before any damaged byte") {
  check_damaged_splits(make_gzip_splitter, samples().front(), block_header_bytes);
  check_damaged_splits(make_gzip_splitter,
                       gzip_sample_builder("small blocks").block(noise(30)).block({}).block(noise(5)).build(),
                       block_header_bytes);
}

TEST_CASE("gzip: members without a size are one frame without an end, and the manner states the cause") {
  const byte_vector member = gzip_member_of(sample_text(500), {.name = "x", .extra = "BC"});
  const byte_vector two = joined(member, member);
  CHECK(split(make_gzip_splitter, two, always(7)).empty());
  CHECK(manner_of(make_gzip_splitter, two) == "members cannot be found without decoding them");
  const byte_vector block = bgzf_block_of(sample_text(500));
  CHECK(manner_of(make_gzip_splitter, joined(block, block)) == "BGZF blocks found by their sizes");
  const byte_vector both = joined(joined(block, block), two);
  CHECK(split(make_gzip_splitter, both, always(7)) == std::vector<std::size_t>{block.size()});
  CHECK(manner_of(make_gzip_splitter, both) == "BGZF blocks found by their sizes, up to a member without a size");
}

TEST_CASE("gzip: with guesses, a splitter finds members by their headers, for any cuts") {
  decoder_sample members = gzip_sample_builder("members with and without text, names and sizes")
                               .member(sample_text(500))
                               .member({})
                               .member(noise(3), {.level = 0})
                               .member(sample_text(20'000), {.level = 9, .name = "a name", .header_checksum = true})
                               .member(noise(5'000), {.level = 1})
                               .member(sample_text(70), {.extra = "ab"})
                               .block(sample_text(300))
                               .block({})
                               .member(sample_text(40))
                               .member({}, {.comment = std::string(900, 'c')})
                               .member(sample_text(40))
                               .build();
  check_splits(make_guessing_splitter, members, guessed_header_bytes);
  CHECK(manner_of(make_guessing_splitter, members.packed) == "members found by their headers");
  CHECK(split(make_gzip_splitter, members.packed, always(7)).empty());
}

TEST_CASE("gzip: with guesses, a splitter finds all members before any damaged byte") {
  check_damaged_splits(
      make_guessing_splitter,
      gzip_sample_builder("members").member(noise(30)).member({}).member(sample_text(50)).member(noise(5)).build(),
      guessed_header_bytes);
}

TEST_CASE("gzip: the search for headers ends with a member of more than 512 KiB") {
  const byte_vector small = gzip_member_of(sample_text(500));
  const byte_vector half = gzip_member_of(noise(500'000), {.level = 0});
  const byte_vector large = gzip_member_of(noise(530'000), {.level = 0});
  const byte_vector all = joined(joined(small, joined(half, small)), joined(large, small));
  const std::size_t end = 2 * small.size() + half.size();
  for (const std::size_t cut : {std::size_t{1'000}, everything}) {
    CHECK(split(make_guessing_splitter, all, always(cut)) ==
          std::vector{small.size(), small.size() + half.size(), end});
  }
  CHECK(manner_of(make_guessing_splitter, all) == "members found by their headers, up to a long member");
}

TEST_CASE("gzip: what follows a length that the text cannot have is not taken for a header") {
  byte_vector hidden = noise(200);
  const byte_vector inner = gzip_member_of(sample_text(100));
  std::ranges::copy(inner, hidden.begin() + 100);
  const auto set_length = [&](std::uint32_t length) {
    for (std::size_t i = 0; i < 4; ++i) hidden[96 + i] = static_cast<std::byte>(length >> (8 * i));
    return gzip_member_of(hidden, {.level = 0});
  };
  const std::size_t begin = gzip_member_of({}).size() - 2 - 8 + 5 + 100;  // header, header of a stored block
  CHECK(split(make_guessing_splitter, set_length(1'000), always(7)) == std::vector{begin});
  CHECK(split(make_guessing_splitter, set_length(1'000'000), always(7)).empty());
}

TEST_CASE("gzip: a block whose size is smaller than its header has no end") {
  byte_vector block = bgzf_block_of(sample_text(500));
  block[16] = std::byte{17};  // 18 bytes: only the header
  block[17] = std::byte{0};
  CHECK(split(make_gzip_splitter, block, always(everything)).empty());
}

TEST_CASE("gzip: a block with a wrong size never makes other text accepted") {
  const byte_vector text = sample_text(300);
  const byte_vector packed = joined(joined(bgzf_block_of(text), bgzf_block_of(noise(50))), bgzf_end());
  const byte_vector plain = joined(text, noise(50));
  CHECK(decode_split(packed).plain == plain);
  std::size_t accepted = 0;
  for (std::size_t size = 0; size < packed.size() + 10; ++size) {
    CAPTURE(size);
    byte_vector lying = packed;
    lying[16] = static_cast<std::byte>(size & 0xFFU);
    lying[17] = static_cast<std::byte>(size >> 8U);
    const decoding got = decode_split(lying);
    if (!got.accepted()) continue;
    CHECK(got.plain == plain);
    ++accepted;
  }
  CHECK(accepted == packed.size() + 10);  // as by decoders that ignore the size
}

TEST_CASE("gzip: a size that points into text that looks like a block never gives other text") {
  const byte_vector inner = joined(bgzf_block_of(noise(4000)), bgzf_end());
  byte_vector packed = joined(joined(bgzf_block_of(inner), bgzf_block_of(noise(50))), bgzf_end());
  const auto found = std::ranges::search(std::span(packed).subspan(1), std::span(inner).first(block_header_bytes));
  REQUIRE(!found.empty());  // noise is in stored blocks
  const auto size = static_cast<std::size_t>(found.begin() - std::span(packed).begin()) - 1;
  packed[16] = static_cast<std::byte>(size & 0xFFU);
  packed[17] = static_cast<std::byte>(size >> 8U);
  CHECK_FALSE(decode_split(packed).accepted());
}

TEST_CASE("gzip: at most one block is held back, for names of any length") {
  byte_vector packed = bgzf_block_of(sample_text(100));
  const byte_vector named = gzip_member_of(sample_text(10), {.name = std::string(1'000'000, 'x')});
  packed.insert(packed.end(), named.begin(), named.end());
  const auto splitter = make_gzip_splitter();
  std::size_t most = 0;
  for (std::size_t at = 0; at < packed.size(); at += 1000) {
    splitter->advance(std::span(packed).subspan(at, std::min<std::size_t>(1000, packed.size() - at)));
    most = std::max(most, splitter->held_back());
  }
  CHECK(most > 60'000);
  CHECK(most < 65'536);
  CHECK(splitter->is_lost());
}
