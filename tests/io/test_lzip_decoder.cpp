// The contracts of decoders for lzip and .lzma and of splitters for lzip, and the properties of these formats alone:
// versions, dictionaries, no magic number; members are found by their headers, and confirmed by their trailers.
#include "io/xz/lzip_decoder.hpp"

#include "tests/contract/splitter_contract.hpp"
#include "tests/io/packed_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace gpuhist::test;
using gpuhist::io::fill_status;
using gpuhist::io::make_lzip_decoder;
using gpuhist::io::make_lzip_splitter;
using gpuhist::io::make_lzma_decoder;

namespace {

const decoder_maker make_lzip = [] { return make_lzip_decoder({}); };
const decoder_maker make_lzma = [] { return make_lzma_decoder({}); };

std::vector<decoder_sample> lzip_samples() {
  std::vector<decoder_sample> samples;
  samples.push_back(packed_sample_builder("one byte").lzip(sample_text(1)).build());
  samples.push_back(packed_sample_builder("nothing, twice").lzip({}).lzip({}).build());
  samples.push_back(packed_sample_builder("text").lzip(sample_text(400)).build());
  samples.push_back(packed_sample_builder("members")
                        .lzip(sample_text(100, 2))
                        .lzip(noise(70), 20)
                        .lzip({})
                        .lzip(byte_vector(300, std::byte{'b'}), 16 + (3U << 5U))
                        .build());
  return samples;
}

std::vector<decoder_sample> lzma_samples() {
  std::vector<decoder_sample> samples;
  for (const bool sized : {false, true}) {
    const auto add = [&](const char* name, const byte_vector& plain) {
      samples.push_back(packed_sample_builder(name).frame(plain, lzma_stream_of(plain, sized)).build());
    };
    add("nothing", {});
    add("one byte", sample_text(1));
    add("text", sample_text(400));
    add("a run", byte_vector(3000, std::byte{'c'}));
  }
  return samples;
}

byte_vector mixed_text() { return joined(sample_text(90'000), noise(70'000)); }

std::string error_of(const decoder_maker& make, const byte_vector& packed) {
  return decode_at_once(make, packed).error;
}

}  // namespace

TEST_CASE("lzip: the contract of decoders") {
  check_decoder(make_lzip, lzip_samples());
  check_decoder_of_large(make_lzip, {packed_sample_builder("large").lzip(mixed_text()).lzip(mixed_text(), 20).build()});
}

TEST_CASE("lzma: the contract of decoders") {
  check_decoder(make_lzma, lzma_samples());
  for (const bool sized : {false, true}) {
    const byte_vector packed = lzma_stream_of(mixed_text(), sized);
    check_decoder_of_large(make_lzma, {packed_sample_builder("large").frame(mixed_text(), packed).build()});
  }
}

TEST_CASE("lzip: other data is reported") {
  check_foreign_data(make_lzip, {"lzip", "member"}, lzip_member_of(sample_text(10)), {"junk", "LZ junk", "\1"});
}

TEST_CASE("lzip: damage never makes other content accepted, for any cuts of input and output") {
  check_damage(make_lzip, packed_sample_builder("text and noise").lzip(sample_text(200)).lzip(noise(20)).build());
}

TEST_CASE("lzip: all text before a wrong checksum is delivered, for any output size, and then the error") {
  const byte_vector plain = mixed_text();
  byte_vector packed = lzip_member_of(plain);
  packed[packed.size() - 20] ^= std::byte{1};
  for_all_cuts(100'000, [&](const size_chooser& in, const size_chooser& out) {
    const decoding got = decode(make_lzip, packed, in, out, plain.size());
    CHECK(got.failed);
    CHECK(got.plain == plain);
    CHECK_MESSAGE(got.error.starts_with("member 1 is damaged (its data does not decode, or does not match its checksum "
                                        "or sizes) at compressed offset "),
                  got.error);
    CHECK_MESSAGE(got.error.ends_with(", decompressed offset 160000"), got.error);
  });
}

TEST_CASE("lzip: unknown versions and invalid dictionary sizes are refused at the header") {
  byte_vector packed = lzip_member_of(sample_text(10));
  packed[4] = std::byte{2};
  CHECK(error_of(make_lzip, packed) ==
        "member 1 is of version 2 of the lzip format, which liblzma does not know, at compressed offset 6, "
        "decompressed offset 0");
  packed[4] = std::byte{1};
  for (const unsigned code : {0U, 11U, 30U, 12U + (1U << 5U)}) {
    packed[5] = static_cast<std::byte>(code);
    CHECK(error_of(make_lzip, packed) ==
          "member 1 is damaged (its header has an invalid dictionary size) at compressed offset 6, "
          "decompressed offset 0");
  }
}

TEST_CASE("lzip: a dictionary above the limit is refused at the header, and requested above the granted size") {
  const byte_vector packed = lzip_member_of(sample_text(10), 26 + (4U << 5U));  // 64 MiB minus a quarter
  byte_vector out(100);
  const auto refusing = make_lzip_decoder({.window_bytes = 47U << 20U});
  CHECK(refusing->fill(packed, out).status == fill_status::failed);
  CHECK(refusing->fault(0) ==
        "member 1 needs a window of 48 MiB, more than the 47 MiB left of --memory-limit; give --memory-limit 48MiB or "
        "more, or --memory-limit none, at compressed offset 6, decompressed offset 0");
  const auto asking = make_lzip_decoder({.window_bytes = 48U << 20U, .granted_bytes = 1U << 20U});
  const auto asked = asking->fill(packed, out);
  CHECK(asked.status == fill_status::needs_window);
  CHECK(asking->window_wanted() == 48U << 20U);
  asking->grant_window(48U << 20U);
  CHECK(asking->fill(std::span(packed).subspan(asked.consumed), out).status == fill_status::frame_verified);
}

TEST_CASE("lzma: a header that no encoder writes is refused, and so is data after the stream") {
  CHECK(error_of(make_lzma, vector_of("plain text that is long enough")) ==
        "is not lzma data: it does not begin with a header that encoders write, at compressed offset 13, "
        "decompressed offset 0");
  const byte_vector stream = lzma_stream_of(sample_text(100), false);
  for (const auto& [place, value] : {std::pair{0U, 225U}, {1U, 1U}, {4U, 7U}, {12U, 0U}}) {
    byte_vector odd = stream;
    odd[place] = static_cast<std::byte>(value);
    CHECK_MESSAGE(error_of(make_lzma, odd).starts_with("is not lzma data"), place);
  }
  for (const byte_vector& more : {stream, vector_of("x")}) {
    CHECK(error_of(make_lzma, joined(stream, more)) ==
          "trailing data after the end of the stream, at compressed offset " + std::to_string(stream.size()) +
              ", decompressed offset 100");
  }
}

namespace {

constexpr std::size_t header_bytes = 6;  // the header confirms the end of the previous member
constexpr std::size_t trailer_bytes = 20;

const decoder_maker make_decoder = [] { return make_lzip_decoder({}); };

decoder_sample small_members() {
  return packed_sample_builder("small members")
      .lzip(noise(30))
      .lzip({})
      .lzip(sample_text(90))
      .lzip({})
      .lzip(noise(5), 20)
      .build();
}

/// A member whose data is `data`, which does not decode.
byte_vector member_around(const byte_vector& data) {
  byte_vector member = lzip_member_of({});
  member.resize(header_bytes);
  member.insert(member.end(), data.begin(), data.end());
  member.resize(member.size() + trailer_bytes);
  for (unsigned i = 0; i < 8; ++i) member[member.size() - 8 + i] = static_cast<std::byte>(member.size() >> (8 * i));
  return member;
}

std::size_t end_of_first(const byte_vector& packed) {
  const std::vector<std::size_t> ends = split(make_lzip_splitter, packed, always(everything));
  return ends.empty() ? 0 : ends.front();
}

}  // namespace

TEST_CASE("lzip: a splitter finds the same members as the decoder, for any cuts") {
  check_splits(make_lzip_splitter, packed_sample_builder("one").lzip(sample_text(700)).build(), header_bytes);
  check_splits(make_lzip_splitter, small_members(), header_bytes);
  check_splits(make_lzip_splitter,
               packed_sample_builder("large and small")
                   .lzip(sample_text(90'000), 20)
                   .lzip({})
                   .lzip(noise(70'000))
                   .lzip(sample_text(1), 16 + (3U << 5U))
                   .build(),
               header_bytes);
}

TEST_CASE("lzip: a splitter finds all members before any damaged byte") {
  check_damaged_splits(make_lzip_splitter, small_members(), header_bytes);
}

TEST_CASE("lzip: members that are decoded by a decoder each give the result of one decoder, damaged or not") {
  const decoder_sample members = small_members();
  check_frames_of_damaged(make_lzip_splitter, make_decoder, members, 4096);
  for (const std::string_view trailing : {"garbage", "LZIP", "LZIP\1\x10", "LZI", "LZIP\1\x10 and so on"}) {
    const byte_vector packed = joined(members.packed, vector_of(trailing));
    check_frames_like_whole(make_lzip_splitter, make_decoder, packed, 4096);
    CHECK_FALSE(decode_frames(make_lzip_splitter, make_decoder, packed, always(everything), 4096).accepted());
  }
}

TEST_CASE("lzip: headers inside the data of a member are no ends, wherever the bytes before them point") {
  byte_vector data = joined(noise(40), lzip_member_of(sample_text(50)));
  for (int i = 0; i < 300; ++i) data = joined(data, vector_of("LZIP\1\x10 LZLZILZIPLZIP\1"));
  const byte_vector member = member_around(data);
  const byte_vector packed = joined(member, lzip_member_of(sample_text(9)));
  for (const std::size_t cut : {std::size_t{1}, std::size_t{7}, std::size_t{26}, everything}) {
    CHECK(split(make_lzip_splitter, packed, always(cut)) == std::vector<std::size_t>{member.size()});
  }
}

TEST_CASE("lzip: the end of a member is found if its size is the distance to its start, and not otherwise") {
  const byte_vector first = lzip_member_of(sample_text(300));
  const byte_vector both = joined(first, lzip_member_of(sample_text(9)));
  CHECK(end_of_first(both) == first.size());
  for (std::size_t place = first.size() - 8; place < first.size(); ++place) {
    byte_vector wrong = both;
    wrong[place] ^= std::byte{1};
    CHECK(end_of_first(wrong) == 0);
  }
}

TEST_CASE("lzip: only headers of version 1 with a defined dictionary end a member") {
  const byte_vector first = lzip_member_of(sample_text(300));
  for (const auto& [version, code, is_end] : {std::tuple{1U, 12U, true},
                                              {1U, 29U, true},
                                              {1U, 29U + (7U << 5U), true},
                                              {0U, 16U, false},
                                              {2U, 16U, false},
                                              {1U, 11U, false},
                                              {1U, 30U, false},
                                              {1U, 12U + (1U << 5U), false}}) {
    byte_vector both = joined(first, lzip_member_of(sample_text(9)));
    both[first.size() + 4] = static_cast<std::byte>(version);
    both[first.size() + 5] = static_cast<std::byte>(code);
    CHECK(end_of_first(both) == (is_end ? first.size() : 0));
  }
}

TEST_CASE("lzip: a splitter is lost after a member without its size, and the manner states the cause") {
  const byte_vector member = lzip_member_of(sample_text(300));
  CHECK(manner_of(make_lzip_splitter, joined(member, member)) == "members found by their headers and trailers");
  byte_vector damaged = member;
  damaged[damaged.size() - 8] ^= std::byte{1};
  CHECK(manner_of(make_lzip_splitter, joined(damaged, member)) ==
        "the end of a member whose trailer does not state its size cannot be found without decoding");
}

TEST_CASE("lzip: a part of a header is held back only after a trailer that fits") {
  const byte_vector first = lzip_member_of(sample_text(300));
  const byte_vector both = joined(first, lzip_member_of(sample_text(9)));
  const auto splitter = make_lzip_splitter();
  for (std::size_t at = 0; at < both.size(); ++at) {
    splitter->advance(std::span(both).subspan(at, 1));
    const std::size_t taken = at + 1;
    CHECK(splitter->held_back() ==
          (taken > first.size() && taken < first.size() + header_bytes ? taken - first.size() : 0));
  }
  const auto other = make_lzip_splitter();
  const byte_vector data = vector_of("no member, LZIP");
  other->advance(data);
  CHECK(other->held_back() == 0);
}

TEST_CASE("lzip: a million empty members are found") {
  const byte_vector member = lzip_member_of({});
  byte_vector packed;
  for (int i = 0; i < 1'000'000; ++i) packed.insert(packed.end(), member.begin(), member.end());
  const std::vector<std::size_t> ends = split(make_lzip_splitter, packed, always(std::size_t{256} << 10U));
  REQUIRE(ends.size() == 999'999);
  CHECK(std::ranges::all_of(ends, [&](std::size_t end) { return end % member.size() == 0; }));
}
