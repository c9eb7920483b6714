// The zstd decoder of devices, on the host, with sequences, blocks and frames that no encoder writes: each rule of the
// format is broken once, next to a frame that differs in nothing else and is valid.
#include "tests/gpu/zstd_corpus.hpp"
#include "tests/gpu/zstd_crafted.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::test;
using gpuhist::gpu::cuda::zstd::verdict;

namespace {

/// The extra bits of an offset that is no repeated one.
run_coded one_match(std::uint8_t literals, std::uint32_t offset, std::uint8_t match_code = 0) {
  unsigned code = 0;
  while ((offset + 3) >> code > 1) ++code;
  return {.literals_code = literals,
          .offset_code = static_cast<std::uint8_t>(code),
          .match_code = match_code,
          .bits = {{offset + 3 - (1U << code), code}}};
}

byte_vector match_frame(std::uint32_t offset) {
  return frame_writer::with_window(10).compressed(raw_literals("abcd"), run_sequences(one_match(4, offset))).bytes();
}

byte_vector window_frame(std::uint32_t offset) {
  const std::string text(1024, 'x');
  return frame_writer::with_window(10)
      .raw(text)
      .raw(text)
      .compressed(raw_literals("abcd"), run_sequences(one_match(4, offset)))
      .bytes();
}

// Sequences without literals after `text`; their offsets are 2 or 3 in one bit each: the third repeated offset, or the
// first one minus 1.
byte_vector repeats_after(std::string_view text, const std::vector<bit_field>& offsets) {
  return frame_writer::with_window(10)
      .raw(text)
      .compressed(
          raw_literals(""),
          run_sequences({.offset_code = 1, .count = static_cast<std::uint32_t>(offsets.size()), .bits = offsets}))
      .bytes();
}

constexpr bit_field third{0, 1};
constexpr bit_field first_minus_one{1, 1};

// Two sequences with offset codes 2 and 1 of the predefined table: the offset 1 + `more`, then the first repeated
// offset minus 1.
byte_vector known_minus_one(std::uint32_t more) {
  constexpr std::uint32_t state_of_code_2 = 14;
  constexpr std::uint32_t state_of_code_1 = 23;
  const byte_vector head{std::byte{2}, std::byte{0x44}, std::byte{0}, std::byte{0}};
  return frame_writer::with_window(10)
      .raw("abcdefgh")
      .compressed(
          raw_literals(""),
          joined(head, backward_stream({{state_of_code_2, 5}, {more, 2}, {state_of_code_1, 5}, first_minus_one})))
      .bytes();
}

}  // namespace

TEST_CASE("zstd crafted: an offset is positive, in the window and in the frame") {
  check_all({
      {"the first byte of the frame", match_frame(4), verdict::decoded},
      {"before the frame", match_frame(5), verdict::match_offset},
      {"far before the frame", match_frame((1U << 27U) - 1), verdict::match_offset},
      {"an offset of 28 bits", match_frame(1U << 27U), verdict::match_offset},
      {"an offset of 31 bits", match_frame(0x7ffffff0U), verdict::match_offset},
      {"an offset of 32 bits", match_frame(0xfffffff0U), verdict::match_offset},
      {"the window", window_frame(1024), verdict::decoded},
      {"beyond the window", window_frame(1025), verdict::match_offset},
      {"8 and 7", repeats_after("abcdefgh", {third, first_minus_one}), verdict::decoded},
      {"8, before the frame", repeats_after("abcdefg", {third, first_minus_one}), verdict::match_offset},
      {"1 minus 1", repeats_after("abcdefgh", {first_minus_one}), verdict::match_offset},
      {"1 minus 1, later", repeats_after("abcdefgh", {third, first_minus_one, third, first_minus_one}),
       verdict::match_offset},
      {"2 minus 1, known", known_minus_one(1), verdict::decoded},
      {"1 minus 1, known", known_minus_one(0), verdict::match_offset},
  });
}

TEST_CASE("zstd crafted: the number of sequences has one, two or three bytes") {
  // a literal and a match of three bytes, at the first repeated offset: no bits
  const auto pairs = [](std::uint32_t count, std::uint32_t literals) {
    return frame_writer::with_window(17)
        .compressed(run_literals('x', literals), run_sequences({.literals_code = 1, .count = count}))
        .bytes();
  };
  const auto only = [](const byte_vector& sequences) {
    return frame_writer::with_window(17).compressed(raw_literals("abcd"), sequences).bytes();
  };
  check_all({
      {"1", pairs(1, 1), verdict::decoded},
      {"127", pairs(127, 127), verdict::decoded},
      {"128", pairs(128, 130), verdict::decoded},
      {"32511", pairs(32511, 32511), verdict::decoded},
      {"32512, three bytes", pairs(32512, 32512), verdict::decoded},
      {"32768, a whole block", pairs(32768, 32768), verdict::decoded},
      {"more text than a block has", pairs(32768, 32769), verdict::sequences_stream},
      {"more sequences than a block has", pairs(32769, 32769), verdict::sequences_stream},
      {"a missing literal", pairs(32512, 32511), verdict::sequences_stream},
      {"most sequences", pairs(0x17eff, 40000), verdict::sequences_stream},
      {"no number", only({}), verdict::sequences_header},
      {"half a number of two bytes", only({std::byte{0x80}}), verdict::sequences_header},
      {"a third of a number", only({std::byte{0xFF}}), verdict::sequences_header},
      {"two thirds of a number", only({std::byte{0xFF}, std::byte{0}}), verdict::sequences_header},
      {"no modes", only({std::byte{1}}), verdict::sequences_header},
      {"none", only(no_sequences()), verdict::decoded},
      {"none, and a byte", only(joined(no_sequences(), {std::byte{0}})), verdict::sequences_header},
  });
}

TEST_CASE("zstd crafted: the bits of sequences end with the last one") {
  const auto frame = [](const byte_vector& bits) {
    byte_vector sequences = run_sequences({.literals_code = 4, .offset_code = 2});
    sequences.pop_back();  // the empty stream
    return frame_writer::with_window(10).compressed(raw_literals("abcd"), joined(sequences, bits)).bytes();
  };
  check_all({
      {"two bits", frame(backward_stream({{1, 2}})), verdict::decoded},
      {"one bit", frame(backward_stream({{1, 1}})), verdict::sequences_stream},
      {"no bits", frame(backward_stream({})), verdict::sequences_stream},
      {"no bytes", frame({}), verdict::sequences_stream},
      {"no mark of the end", frame({std::byte{0}}), verdict::sequences_stream},
      {"three bits", frame(backward_stream({{1, 2}, {0, 1}})), verdict::sequences_stream},
      {"seven bits more", frame(backward_stream({{1, 2}, {0, 7}})), verdict::sequences_stream},
      {"forty bits more", frame(backward_stream({{1, 2}, {0, 20}, {0, 20}})), verdict::sequences_stream},
  });
}

namespace {

// 32768 matches of 131074 bytes: the sum is 65536 in 32 bits.
byte_vector wrapping_matches() {
  const std::vector<bit_field> lengths(32768, {0xFFFF, 16});
  return frame_writer::with_window(17)
      .raw("abcdefgh")
      .compressed(raw_literals(""), run_sequences({.match_code = 52, .count = 32768, .bits = lengths}))
      .bytes();
}

}  // namespace

TEST_CASE("zstd crafted: a block is at most as long as the window, a frame as its header says") {
  const std::string text(1025, 'x');
  const auto long_match = [](std::uint32_t more) {  // a literal, and 515 bytes and more at offset 1
    return frame_writer::with_window(10)
        .compressed(raw_literals("a"), run_sequences({.literals_code = 1, .match_code = 45, .bits = {{more, 9}}}))
        .bytes();
  };
  const auto sized_match = [](std::uint32_t more) {  // a literal, and 131 bytes and more
    return frame_writer::with_size(200)
        .compressed(raw_literals("a"), run_sequences({.literals_code = 1, .match_code = 43, .bits = {{more, 7}}}))
        .bytes();
  };
  check_all({
      {"raw", frame_writer::with_window(10).raw(text.substr(1)).bytes(), verdict::decoded},
      {"raw, longer", frame_writer::with_window(10).raw(text).bytes(), verdict::block_size},
      {"a run", frame_writer::with_window(10).run('x', 1024).bytes(), verdict::decoded},
      {"a run, longer", frame_writer::with_window(10).run('x', 1025).bytes(), verdict::block_size},
      {"compressed, longer", frame_writer::with_window(10).compressed(raw_literals(text), no_sequences()).bytes(),
       verdict::block_size},
      {"a match to the end of the block", long_match(508), verdict::decoded},
      {"a match beyond it", long_match(509), verdict::sequences_stream},
      {"2^32 bytes of matches, and a block", wrapping_matches(), verdict::sequences_stream},
      {"content", frame_writer::with_size(8).raw("abcdefgh").bytes(), verdict::decoded},
      {"content, a byte less", frame_writer::with_size(8).raw("abcdefg").bytes(), verdict::content_size},
      {"content, a byte more", frame_writer::with_size(8).raw("abcdefgh").raw("i").bytes(), verdict::content_size},
      {"content, a long run", frame_writer::with_size(8).raw("abcdefgh").run('x', 8).bytes(), verdict::content_size},
      {"no content", frame_writer::with_size(0).raw("").bytes(), verdict::decoded},
      {"a match to the end", sized_match(68), verdict::decoded},
      {"a match beyond the end", sized_match(69), verdict::sequences_stream},
      {"a match before the end", sized_match(67), verdict::content_size},
  });
}

TEST_CASE("zstd crafted: the checksum is that of the text") {
  constexpr std::uint32_t of_no_text = 0x51D8E999;  // XXH64 of nothing
  check_all({{"right", frame_writer::with_size(0).raw("").checksum(of_no_text).bytes(), verdict::decoded},
             {"wrong", frame_writer::with_size(0).raw("").checksum(of_no_text ^ 1U).bytes(), verdict::checksum}});
  std::vector<crafted> damaged;
  for (std::size_t size = 0; size < 200; size += 1 + size / 8) {
    byte_vector frame = encoded_frame_of(byte_vector(size, std::byte{'e'}), {.level = 1});
    damaged.push_back({"right", frame, verdict::decoded});
    frame.back() ^= std::byte{0x80};
    damaged.push_back({"wrong", frame, verdict::checksum});
  }
  check_all(damaged);
}
