// The zstd decoder of devices, on the host, with sequences, blocks, frames and descriptions of literals, Huffman trees
// and tables that no encoder writes: each rule of the format is broken once, next to a frame that differs in nothing
// else and is valid.
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

TEST_CASE("zstd crafted: literals are in the block, and no longer than a block can be") {
  const auto with = [](const byte_vector& literals) {
    return frame_writer::with_window(10).compressed(literals, no_sequences()).bytes();
  };
  check_all({
      {"raw", with(raw_literals("abcd")), verdict::decoded},
      {"raw, longer than the block", with(literals_header_of(literal_kind::raw, 100)), verdict::literals_header},
      {"raw, all of the block", with(literals_header_of(literal_kind::raw, 1)), verdict::sequences_header},
      {"half a header", frame_writer::with_window(10).compressed({std::byte{0x0C}}, {}).bytes(),
       verdict::literals_header},
      {"an empty block", frame_writer::with_window(10).compressed({}, {}).bytes(), verdict::literals_header},
      {"a run", with(run_literals('x', 1024)), verdict::decoded},
      {"a run, longer than the window", with(run_literals('x', 1025)), verdict::literals_header},
      {"a run of 2^20 - 1", with(run_literals('x', 0xFFFFF)), verdict::literals_header},
      {"a run without a byte",
       frame_writer::with_window(10).compressed(literals_header_of(literal_kind::run, 9), {}).bytes(),
       verdict::literals_header},
      {"Huffman, longer than the block", with(literals_header_of(literal_kind::huffman, 4, 100)),
       verdict::literals_header},
      {"Huffman, no symbols",
       with(joined(literals_header_of(literal_kind::huffman, 0, 3), byte_vector(3, std::byte{1}))),
       verdict::literals_header},
  });
}

namespace {

/// The weights of a tree, 4 bits each; the last one is deduced.
byte_vector direct_tree(const std::vector<unsigned>& weights) {
  byte_vector tree{static_cast<std::byte>(127 + weights.size())};
  for (std::size_t i = 0; i < weights.size(); i += 2) {
    tree.push_back(static_cast<std::byte>(weights[i] << 4U | (i + 1 < weights.size() ? weights[i + 1] : 0)));
  }
  return tree;
}

byte_vector huffman_literals(const byte_vector& tree, std::uint32_t count, const byte_vector& streams,
                             unsigned stream_count = 1) {
  const auto kind = tree.empty() ? literal_kind::treeless : literal_kind::huffman;
  const byte_vector content = joined(tree, streams);
  return joined(literals_header_of(kind, count, static_cast<std::uint32_t>(content.size()), stream_count), content);
}

byte_vector huffman_frame(const byte_vector& tree, std::uint32_t count, const byte_vector& streams,
                          unsigned stream_count = 1) {
  return frame_writer::with_window(10)
      .compressed(huffman_literals(tree, count, streams, stream_count), no_sequences())
      .bytes();
}

const byte_vector four_bits = backward_stream({{0, 1}, {1, 1}, {1, 1}, {0, 1}});

/// The weights from `log` to 1, with which the deduced one is 1. The first symbol has the code 1.
byte_vector tree_of_log(unsigned log) {
  std::vector<unsigned> weights;
  for (unsigned weight = log; weight > 0; --weight) weights.push_back(weight);
  return direct_tree(weights);
}

byte_vector four_streams(std::uint16_t first, std::uint16_t second, std::uint16_t third_bytes,
                         const byte_vector& streams) {
  byte_vector all = little_endian_bytes(first, 2);
  all = joined(std::move(all), little_endian_bytes(second, 2));
  all = joined(std::move(all), little_endian_bytes(third_bytes, 2));
  return joined(std::move(all), streams);
}

}  // namespace

TEST_CASE("zstd crafted: a Huffman tree is complete, and its codes have at most 11 bits") {
  const byte_vector ones = backward_stream({{15, 4}});
  check_all({
      {"two symbols", huffman_frame(direct_tree({1}), 4, four_bits), verdict::decoded},
      {"11 bits", huffman_frame(tree_of_log(11), 4, ones), verdict::decoded},
      {"12 bits", huffman_frame(tree_of_log(12), 4, ones), verdict::huffman_tree},
      {"12 bits, without a weight of 12",
       huffman_frame(direct_tree({11, 11, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}), 4, ones), verdict::huffman_tree},
      {"no weight", huffman_frame(direct_tree({0}), 4, four_bits), verdict::huffman_tree},
      {"one symbol", huffman_frame(direct_tree({2}), 4, four_bits), verdict::huffman_tree},
      {"not a power of two", huffman_frame(direct_tree({1, 1, 1, 1, 1}), 4, four_bits), verdict::huffman_tree},
      {"weights above 11", huffman_frame(direct_tree({15, 1}), 4, four_bits), verdict::huffman_tree},
      {"an odd number of the longest codes", huffman_frame(direct_tree({1, 2, 1, 1}), 4, four_bits),
       verdict::huffman_tree},
      {"an empty description", huffman_frame({std::byte{0}}, 4, four_bits), verdict::huffman_tree},
      {"a description without its end", huffman_frame({std::byte{255}}, 4, four_bits), verdict::huffman_tree},
      {"a coded one without its end", huffman_frame({std::byte{127}}, 4, four_bits), verdict::huffman_tree},
      {"no tree before", huffman_frame({}, 4, four_bits), verdict::huffman_tree},
      {"the tree before",
       frame_writer::with_window(10)
           .compressed(huffman_literals(direct_tree({1}), 4, four_bits), no_sequences())
           .raw("between")
           .compressed(raw_literals("abcd"), no_sequences())
           .compressed(huffman_literals({}, 4, four_bits), no_sequences())
           .bytes(),
       verdict::decoded},
      {"an invalid tree before",
       frame_writer::with_window(10)
           .compressed(huffman_literals(direct_tree({2}), 4, four_bits), no_sequences())
           .compressed(huffman_literals({}, 4, four_bits), no_sequences())
           .bytes(),
       verdict::huffman_tree},
  });
}

TEST_CASE("zstd crafted: a Huffman stream ends with its last symbol") {
  const byte_vector tree = direct_tree({1});
  const byte_vector two = backward_stream({{1, 1}, {0, 1}});  // two symbols
  const byte_vector one = backward_stream({{1, 1}});
  const byte_vector none = backward_stream({});
  const auto together = [](const byte_vector& a, const byte_vector& b) { return joined(joined(a, a), joined(a, b)); };
  check_all({
      {"a bit too many", huffman_frame(tree, 3, four_bits), verdict::huffman_stream},
      {"a bit missing", huffman_frame(tree, 5, four_bits), verdict::huffman_stream},
      {"a thousand bits missing", huffman_frame(tree, 1000, four_bits), verdict::huffman_stream},
      {"no mark of its end", huffman_frame(tree, 4, {std::byte{0}}), verdict::huffman_stream},
      {"no bytes", huffman_frame(tree, 4, {}), verdict::huffman_stream},
      {"four", huffman_frame(tree, 8, four_streams(1, 1, 1, together(two, two)), 4), verdict::decoded},
      {"four, the last one shorter", huffman_frame(tree, 7, four_streams(1, 1, 1, together(two, one)), 4),
       verdict::decoded},
      {"four, the last one empty", huffman_frame(tree, 6, four_streams(1, 1, 1, together(two, none)), 4),
       verdict::decoded},
      {"four, fewer than 6 symbols", huffman_frame(tree, 5, four_streams(1, 1, 1, together(two, none)), 4),
       verdict::literals_header},
      {"four, the last one missing", huffman_frame(tree, 8, four_streams(1, 1, 2, together(two, two)), 4),
       verdict::huffman_stream},
      {"four, one beyond the section", huffman_frame(tree, 8, four_streams(1, 1, 0xFFFF, together(two, two)), 4),
       verdict::huffman_stream},
      {"four, without table", huffman_frame(tree, 8, byte_vector(5, std::byte{1}), 4), verdict::huffman_stream},
      {"four, an empty one", huffman_frame(tree, 8, four_streams(1, 0, 1, together(two, two)), 4),
       verdict::huffman_stream},
  });
}

namespace {

// One sequence without literals that copies three bytes at offset 8, after 8 raw bytes. The code `kind` has mode
// `mode` and the description `description`, the others are runs of symbol 0 or, for offsets, 1.
byte_vector mode_frame(unsigned kind, unsigned mode, const byte_vector& description, unsigned state_bits) {
  byte_vector sequences = sequence_count_bytes(1);
  unsigned modes = 0x54;
  modes &= ~(3U << (6 - 2 * kind));
  sequences.push_back(static_cast<std::byte>(modes | mode << (6 - 2 * kind)));
  for (unsigned i = 0; i < 3; ++i) {
    const byte_vector run{std::byte{i == 1 ? std::uint8_t{1} : std::uint8_t{0}}};
    sequences = joined(std::move(sequences), i == kind ? description : run);
  }
  const byte_vector bits = backward_stream({{0, state_bits}, {0, 1}});
  return frame_writer::with_window(10).raw("abcdefgh").compressed(raw_literals(""), joined(sequences, bits)).bytes();
}

/// 31 and 1: a table of 32 states, the first of which has symbol 0.
const byte_vector two_counts = forward_stream({{0, 4}, {62, 6}, {3, 2}});
/// -1, then 31: the symbol of the first state is 1.
const byte_vector second_symbol = forward_stream({{0, 4}, {0, 5}, {63, 6}});

/// All but the last one are zero, which has the whole sum.
std::vector<bit_field> symbols(unsigned count) {
  std::vector<bit_field> fields{{0, 4}, {1, 5}};
  unsigned zeros = count - 2;
  for (; zeros >= 3; zeros -= 3) fields.push_back({3, 2});
  fields.push_back({zeros, 2});
  fields.push_back({63, 6});
  return fields;
}

byte_vector of_log(unsigned log) {
  return joined(forward_stream({{log - 5, 4}, {0, 4}}), byte_vector(30, std::byte{0x55}));
}

}  // namespace

TEST_CASE(
    "zstd crafted: a code of sequences has a table that is complete, not too large, or that of an earlier block") {
  constexpr unsigned described = 2;
  constexpr unsigned repeated = 3;
  const byte_vector beyond = forward_stream({{0, 4}, {1, 5}, {3, 2}, {3, 2}});  // zeros, and no end
  check_all({
      {"literals described", mode_frame(0, described, two_counts, 5), verdict::decoded},
      {"offsets described", mode_frame(1, described, second_symbol, 5), verdict::decoded},
      {"matches described", mode_frame(2, described, two_counts, 5), verdict::decoded},
      {"literals, 10 bits", mode_frame(0, described, of_log(10), 5), verdict::distribution},
      {"offsets, 9 bits", mode_frame(1, described, of_log(9), 5), verdict::distribution},
      {"matches, 10 bits", mode_frame(2, described, of_log(10), 5), verdict::distribution},
      {"matches, 20 bits", mode_frame(2, described, of_log(20), 5), verdict::distribution},
      {"54 symbols", mode_frame(2, described, forward_stream(symbols(54)), 5), verdict::distribution},
      {"53 symbols", mode_frame(2, described, forward_stream(symbols(53)), 5), verdict::sequences_stream},
      {"without its end", mode_frame(2, described, beyond, 0), verdict::distribution},
      {"literals repeated", mode_frame(0, repeated, {}, 0), verdict::distribution},
      {"offsets repeated", mode_frame(1, repeated, {}, 0), verdict::distribution},
      {"matches repeated", mode_frame(2, repeated, {}, 0), verdict::distribution},
      {"literals predefined", mode_frame(0, 0, {}, 6), verdict::decoded},
      {"run of literals code 36", mode_frame(0, 1, {std::byte{36}}, 0), verdict::distribution},
      {"run of offset code 32", mode_frame(1, 1, {std::byte{32}}, 0), verdict::distribution},
      {"run of match code 53", mode_frame(2, 1, {std::byte{53}}, 0), verdict::distribution},
      {"reserved bits",
       frame_writer::with_window(10)
           .raw("abcdefgh")
           .compressed(raw_literals(""),
                       {std::byte{1}, std::byte{0x55}, std::byte{0}, std::byte{1}, std::byte{0}, std::byte{2}})
           .bytes(),
       verdict::sequences_header},
  });
}

TEST_CASE("zstd crafted: repeated codes are those of the last block with sequences") {
  const byte_vector runs = run_sequences({.offset_code = 1, .bits = {{0, 1}}});
  const byte_vector repeats = joined({std::byte{1}, std::byte{0xFC}}, backward_stream({{0, 1}}));
  const auto frame = [&](const byte_vector& first) {
    return frame_writer::with_window(10)
        .raw("abcdefgh")
        .compressed(raw_literals(""), first)
        .compressed(raw_literals("xy"), no_sequences())
        .compressed(raw_literals(""), repeats)
        .bytes();
  };
  check_all({{"after runs", frame(runs), verdict::decoded},
             {"after nothing", frame(no_sequences()), verdict::distribution},
             {"twice", frame(repeats), verdict::distribution}});
}
