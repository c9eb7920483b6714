#include "io/zstd/zstd_frame_state.hpp"

#include "io/zstd/zstd_blocks.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhist::io {
namespace {

void put(std::vector<std::byte>& to, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFFU));
}

/// The descriptor of the smallest window that is at least as large.
std::byte window_descriptor(std::uint64_t bytes) {
  constexpr unsigned least_log = 10;
  for (unsigned log = least_log; log < 31; ++log) {
    for (unsigned eighths = 0; eighths < 8; ++eighths) {
      const std::uint64_t base = std::uint64_t{1} << log;
      if (base + base / 8 * eighths >= bytes) return static_cast<std::byte>((log - least_log) << 3U | eighths);
    }
  }
  return std::byte{(31 - least_log) << 3U};
}

/// A Huffman tree of two symbols, for frames that have none: they do not use it.
constexpr std::array<std::byte, 2> any_tree{std::byte{128}, std::byte{0x10}};

void put_block(std::vector<std::byte>& to, zstd_block_type type, std::span<const std::byte> content, bool is_last) {
  put(to, content.size() << 3U | static_cast<unsigned>(type) << 1U | (is_last ? 1U : 0U), zstd_block_header::bytes);
  to.insert(to.end(), content.begin(), content.end());
}

/// A compressed block without sequences.
void put_literals(std::vector<std::byte>& to, std::span<const std::byte> section, bool is_last) {
  std::vector<std::byte> content(section.begin(), section.end());
  content.push_back(std::byte{0});
  put_block(to, zstd_block_type::compressed, content, is_last);
}

/// A literals section of `literals` literals in one stream.
std::vector<std::byte> one_stream(bool repeats_tree, std::size_t literals, std::span<const std::byte> coded) {
  std::vector<std::byte> section;
  put(section, (repeats_tree ? 3U : 2U) | literals << 4U | coded.size() << 14U, 3);
  section.insert(section.end(), coded.begin(), coded.end());
  return section;
}

std::span<const std::byte> tree_alone(std::span<const std::byte> section) {
  zstd_literal_table table;
  const auto tree = tree_of(section);
  return tree.first(build_literal_table(tree, table).value_or(0));
}

/// Whether libzstd decodes literals by pairs of symbols after this literals section, which has a tree. It chooses by
/// rules of its own. By pairs, it does not find that a stream has the bits of a symbol more than it states.
bool decodes_by_pairs(std::span<const std::byte> section) {
  constexpr std::byte block_window{7U << 3U};
  zstd_literal_table table;
  build_literal_table(tree_of(section), table);
  const auto bits_of = [](std::uint16_t entry) { return entry & 0xFFU; };
  const auto shortest = std::ranges::min_element(table.entries, {}, bits_of);
  const unsigned bits = bits_of(*shortest);
  const auto code = static_cast<std::uint64_t>(shortest - table.entries.begin()) >> (zstd_literal_table::log - bits);
  std::vector<std::byte> twice;
  put(twice, std::uint64_t{1} << (2 * bits) | code << bits | code, 1 + 2 * bits / 8);
  std::vector<std::byte> frame;
  put(frame, ZSTD_MAGICNUMBER, 4);
  frame.push_back(std::byte{0});
  frame.push_back(block_window);
  put_literals(frame, section, false);
  put_literals(frame, one_stream(true, 1, twice), true);
  std::vector<std::byte> text(std::size_t{2} * zstd_block_header::max_size);
  return ZSTD_isError(ZSTD_decompress(text.data(), text.size(), frame.data(), frame.size())) == 0;
}

}  // namespace

zstd_frame_state::zstd_frame_state(const zstd_frame_header& frame) : frame_(frame) {
  constexpr std::size_t beyond = 64;
  constexpr std::size_t two_blocks = 2 * std::size_t{zstd_block_header::max_size};
  ring_bytes_ = static_cast<std::size_t>(frame.window_bytes) + two_blocks + beyond;
  // a part refers to all of its text, however small the window is
  text_.begin(frame.window_bytes, ring_bytes_ + zstd_part_blocks * zstd_block_header::max_size);
}

bool zstd_frame_state::fits(std::uint64_t bytes, bool is_last) const {
  const std::uint64_t after = text_.bytes() + bytes;
  return !frame_.content_bytes || (is_last ? after == *frame_.content_bytes : after <= *frame_.content_bytes);
}

std::optional<std::span<const std::byte>> zstd_frame_state::add(const zstd_block_plan& block,
                                                                const zstd_kept_descriptions& tables, bool is_last) {
  if (!fits(block.text_bytes, is_last)) return std::nullopt;
  const auto text = text_.execute(block, offsets_);
  if (!text) return std::nullopt;
  tables_.add(tables);
  ring_at_ += text->size();
  const bool holds_all = frame_.content_bytes && ring_bytes_ >= *frame_.content_bytes;
  if (!holds_all && !text->empty() && ring_at_ + zstd_block_header::max_size > ring_bytes_) {
    turn_ = std::exchange(ring_at_, 0);
  }
  return text;
}

// Magic number, ID, Huffman tree, distributions of offsets, match lengths and literal lengths, offsets (RFC 8878, 5).
std::vector<std::byte> zstd_frame_state::dictionary_tables() const {
  using kind = zstd_description::kind;
  const zstd_descriptions known = tables_.get();
  std::vector<std::byte> made;
  put(made, ZSTD_MAGIC_DICTIONARY, 4);
  put(made, 1, 4);
  const auto tree = known[0].is == kind::listed ? tree_alone(known[0].bytes) : std::span<const std::byte>(any_tree);
  made.insert(made.end(), tree.begin(), tree.end());
  for (const zstd_code code : {zstd_code::offset, zstd_code::match_length, zstd_code::literal_length}) {
    const auto listed = listed_distribution(code, known[1 + static_cast<std::size_t>(code)]);
    made.insert(made.end(), listed.begin(), listed.end());
  }
  for (const std::uint32_t each : offsets_) put(made, each, 4);
  return made;
}

bool zstd_frame_state::may_resume() const {
  using kind = zstd_description::kind;
  const auto is_exact = [](const zstd_description& each) {
    return each.is == kind::listed || each.is == kind::predefined;
  };
  const zstd_descriptions known = tables_.get();
  return has_turned() && known[0].is == kind::listed && std::ranges::all_of(std::span(known).subspan(1), is_exact) &&
         std::ranges::all_of(offsets_, [this](std::uint32_t each) { return each != 0 && each <= frame_.window_bytes; });
}

// The dictionary is the text before the turn, with the tables in the place of the first bytes: so the text that libzstd
// takes for reachable, and the room in its buffer, are the same as without. After a compressed block, here one without
// text, libzstd decodes the next ones as without a dictionary. With the tree of the dictionary, it decodes literals by
// pairs of symbols; with that of a block of one stream, it does not.
//
// Known differences:
//  - Without a turn, damaged matches may refer to the tables, up to some 100 bytes before the text that is reachable.
//  - Without a tree, damaged blocks may repeat any_tree.
//  - Without sequences so far, damaged blocks may repeat the predefined tables.
//  - If a block repeats the table of one symbol, its states have 5 bits, and the block is damaged. libzstd writes none.
//  - Damaged matches may refer to text that is longer ago than the window, while it is in the buffer of libzstd. Here,
//    they may get a piece of the tables, or text that libzstd would have replaced.
//  - Before 8 bytes of text, but after 2 MiB of empty blocks, blocks that only libzstd accepts are damaged.
std::optional<zstd_frame_state::resumption> zstd_frame_state::resume() const {
  constexpr std::uint64_t size_in_8_bytes = 3U << 6U;
  constexpr std::array<std::byte, 1> no_literals{};
  resumption made{.dictionary = dictionary_tables(), .text_bytes = has_turned() ? ring_at_ : 0};
  const std::size_t tables_bytes = has_turned() ? std::min(turn_, made.dictionary.size()) : 0;
  const std::size_t text =
      (has_turned() ? turn_ : static_cast<std::size_t>(std::min(text_.bytes(), frame_.window_bytes))) - tables_bytes;
  if (std::ranges::any_of(offsets_, [text](std::uint32_t each) { return each == 0 || each > text; }))
    return std::nullopt;
  text_.put(made.dictionary, text, made.text_bytes);
  put(made.begin, ZSTD_MAGICNUMBER, 4);
  // with its size, as a frame that has not turned, libzstd would use a smaller buffer
  const bool has_size = frame_.content_bytes && !has_turned();
  put(made.begin, has_size ? size_in_8_bytes : 0, 1);
  made.begin.push_back(window_descriptor(frame_.window_bytes));
  if (has_size) put(made.begin, *frame_.content_bytes - text_.bytes(), 8);
  const zstd_description& tree = tables_.get()[0];
  if (tree.is == zstd_description::kind::listed && !decodes_by_pairs(tree.bytes)) {
    const auto alone = tree_alone(tree.bytes);
    std::vector<std::byte> coded(alone.begin(), alone.end());
    coded.push_back(std::byte{1});
    put_literals(made.begin, one_stream(false, 0, coded), false);
  } else {
    put_literals(made.begin, no_literals, false);
  }
  for (std::size_t left = made.text_bytes; left != 0;) {
    const std::size_t size = std::min<std::size_t>(left, zstd_block_header::max_size);
    std::vector<std::byte> stored;
    left -= size;
    text_.put(stored, size, left);
    put_block(made.begin, zstd_block_type::raw, stored, false);
  }
  return made;
}

}  // namespace gpuhist::io
