// The zstd decoder of devices, on the host, with descriptions of literals, Huffman trees and tables that no encoder
// writes: each rule of the format is broken once, next to a frame that differs in nothing else and is valid.
#include "tests/gpu/zstd_crafted.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::test;
using gpuhist::gpu::cuda::zstd::verdict;

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
