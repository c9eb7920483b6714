// Searching strings in the pieces of a tile, after their rows were written (measure.hpp). Lanes read 64 bytes each, in
// turn. A lane sets bits in the rows of the pieces in which a window ends (searched_strings.hpp), and which the text
// around it confirms: a string may begin before the tile and end after it, in the same extent. Pieces of one line share
// what is found in it, so it does not matter which of them has the bit.
#pragma once

#include "gpu/cuda/units/measure.hpp"
#include "gpu/cuda/units/piece_classes.hpp"
#include "gpu/cuda/units/searched_strings.hpp"
#include "gpu/cuda/units/unit_tiles.hpp"
#include "gpu/host_device.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpuhist::gpu::cuda::units {

/// Compares a string with a text around its window.
class string_comparison {
 public:
  /// The text of an extent.
  struct range {
    const std::uint8_t* begin;
    const std::uint8_t* end;
  };

  GPUHIST_HOST_DEVICE string_comparison(const searched_strings& strings, unsigned index, const range& text)
      : string_(strings.strings[index]), bytes_(strings.bytes + string_.at), text_(text) {}

  /// `window_end`: the end of its window in the text.
  GPUHIST_HOST_DEVICE bool holds(const std::uint8_t* window_end) const {
    const std::uint8_t* at = window_end;
    for (unsigned i = string_.window + unsigned{string_.in_window}; i < string_.size; ++i) {
      const unsigned size = size_after(bytes_[i], at);
      if (size == 0) return false;
      at += size;
    }
    at = window_end - string_.in_window;
    for (unsigned i = string_.window; i > 0; --i) {
      const unsigned size = size_before(bytes_[i - 1], at);
      if (size == 0) return false;
      at -= size;
    }
    return true;
  }

 private:
  static constexpr unsigned case_bit = 0x20;

  GPUHIST_HOST_DEVICE bool is_equal(std::uint8_t wanted, std::uint8_t found) const {
    const bool folds = string_.ignores_case != 0 && wanted >= 'a' && wanted <= 'z';
    return (folds ? found | case_bit : found) == wanted;
  }

  // Bytes of the text from `at` on, or up to it, that are this byte of the string; 0: others.
  GPUHIST_HOST_DEVICE unsigned size_after(std::uint8_t wanted, const std::uint8_t* at) const {
    if (at == text_.end) return 0;
    if (is_equal(wanted, *at)) return 1;
    return other_case_at(wanted, at);
  }
  GPUHIST_HOST_DEVICE unsigned size_before(std::uint8_t wanted, const std::uint8_t* at) const {
    if (at == text_.begin) return 0;
    if (is_equal(wanted, at[-1])) return 1;
    const unsigned size = wanted == 's' ? 2 : 3;
    return text_.begin + size <= at && other_case_at(wanted, at - size) == size ? size : 0;
  }

  // U+017F is a case of s, and U+212A of k.
  GPUHIST_HOST_DEVICE unsigned other_case_at(std::uint8_t wanted, const std::uint8_t* at) const {
    if (string_.ignores_case == 0) return 0;
    const auto room = text_.end - at;
    if (wanted == 's') return room >= 2 && at[0] == 0xc5 && at[1] == 0xbf ? 2 : 0;
    if (wanted == 'k') return room >= 3 && at[0] == 0xe2 && at[1] == 0x84 && at[2] == 0xaa ? 3 : 0;
    return 0;
  }

  const searched_strings::entry& string_;
  const std::uint8_t* bytes_;
  const range& text_;
};

/// All lanes of a team have one with the same state. `filter(word, i)`: the entry of the filter for byte i of a word.
template <class Lanes, class Filter>
class string_searcher {
 public:
  GPUHIST_HOST_DEVICE string_searcher(const Lanes& lanes, const unit_launch& launch, const Filter& filter)
      : lanes_(lanes),
        launch_(launch),
        filter_(filter),
        strings_(*launch.strings),
        begins_(strings_.begins),
        ends_(strings_.ends) {}

  /// Sets the bits in the rows of the pieces of an extent in a tile, from `first` on. Returns the row after them.
  GPUHIST_HOST_DEVICE std::uint32_t search(const tile_extent& within, const extent& whole, std::uint32_t first) {
    text_ = {launch_.text + whole.begin, launch_.text + whole.end};
    for (std::uint32_t round = 0; round < within.bytes; round += round_bytes) {
      first += search_round(within, round + lanes_.rank() * round_lane_bytes, first);
    }
    return first + (within.text[within.bytes - 1] == launch_.delimiter ? 0 : 1);
  }

 private:
  static constexpr unsigned blocks = 2;  // of a lane in a round
  static constexpr std::uint32_t round_lane_bytes = blocks * lane_bytes;
  static constexpr std::uint32_t round_bytes = Lanes::size * round_lane_bytes;
  static constexpr unsigned word_bytes = sizeof(std::uint32_t);
  static constexpr unsigned longest_window = 8;

  // Returns the delimiters of the round.
  GPUHIST_HOST_DEVICE std::uint32_t search_round(const tile_extent& within, std::uint32_t at, std::uint32_t first) {
    const std::uint32_t bytes = at >= within.bytes                     ? 0
                                : within.bytes - at < round_lane_bytes ? within.bytes - at
                                                                       : round_lane_bytes;
    const std::uint32_t state = bytes > 0 ? state_before(within.text + at) : 0;
    std::uint32_t passed = state;
    std::uint32_t found = 0;
    std::uint32_t delimiters = 0;
    for (unsigned i = 0; i < blocks; ++i) {
      const lane_text block = load_lane(within.text, at + i * lane_bytes, within.bytes);
      for (const std::uint32_t word : block.words) found |= pass(word, passed);
      const std::uint32_t before = i * lane_bytes;
      const std::uint32_t rest = bytes > before ? bytes - before : 0;
      delimiters += count_delimiters(block, rest < lane_bytes ? rest : lane_bytes, launch_.delimiter * 0x01010101U);
    }
    const bool has_windows = bytes > 0 && found != 0;
    if (lanes_.lanes_with(has_windows) != 0) {
      const std::uint32_t before = lanes_.sum_before(delimiters);
      if (has_windows) mark({within.text + at, bytes}, state, first + before);
    }
    return lanes_.sum(delimiters);
  }

  GPUHIST_HOST_DEVICE std::uint32_t after(std::uint32_t state, std::uint32_t bits) const {
    return (state << 1U | begins_) & bits;
  }

  // The state after a word. Returns its bits where windows end.
  GPUHIST_HOST_DEVICE std::uint32_t pass(std::uint32_t word, std::uint32_t& state) const {
    std::uint32_t found = 0;
    for (unsigned i = 0; i < word_bytes; ++i) {
      state = after(state, filter_(word, i));
      found |= state;
    }
    return found & ends_;
  }

  // At the begin of a lane, which is the begin of the extent, or a multiple of lane_bytes after it.
  GPUHIST_HOST_DEVICE std::uint32_t state_before(const std::uint8_t* text) const {
    if (text == text_.begin) return 0;
    alignas(longest_window) std::uint32_t words[longest_window / word_bytes];
    std::uint32_t state = 0;
#if defined(__CUDA_ARCH__)
    *reinterpret_cast<uint2*>(words) = __ldg(reinterpret_cast<const uint2*>(text - longest_window));
#else
    std::memcpy(words, text - longest_window, longest_window);
#endif
    for (const std::uint32_t word : words) pass(word, state);
    return state;
  }

  // `row`: of the first piece.
  GPUHIST_HOST_DEVICE void mark(const tile_extent& lane, std::uint32_t state, std::uint32_t row) const {
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < lane.bytes; ++i) {
      const std::uint8_t byte = lane.text[i];
      state = after(state, strings_.filter[byte]);
      for (std::uint32_t rest = state & ends_; rest != 0; rest &= rest - 1) {
        const unsigned index = lowest_bit(rest) / strings_.field_bits;
        const bool is_new = (found >> index & 1U) == 0;
        if (is_new && string_comparison(strings_, index, text_).holds(lane.text + i + 1)) found |= 1U << index;
      }
      if (byte != launch_.delimiter) continue;
      set_bits(row++, found);
      found = 0;
    }
    set_bits(row, found);
  }

  // Several lanes may have bytes of a piece.
  GPUHIST_HOST_DEVICE void set_bits(std::uint32_t row, std::uint32_t bits) const {
    if (bits == 0 || row >= launch_.row_room) return;
    std::uint32_t& word = launch_.rows[std::size_t{row} * 2 + 1];
#if defined(__CUDA_ARCH__)
    atomicOr(&word, bits << 16U);
#else
    std::atomic_ref(word).fetch_or(bits << 16U, std::memory_order_relaxed);
#endif
  }

  const Lanes& lanes_;
  const unit_launch& launch_;
  const Filter& filter_;
  const searched_strings& strings_;
  const std::uint32_t begins_;
  const std::uint32_t ends_;
  string_comparison::range text_{};
};

/// Writes rows with text (piece_classes.hpp), from `first` on.
template <class Lanes>
GPUHIST_HOST_DEVICE void write_edge(const Lanes& lanes, const unit_launch& launch, const tile_extent& text,
                                    std::uint32_t first, std::uint32_t flags) {
  constexpr std::uint32_t row_bytes = edge_rows::bytes_of_row;
  const std::uint32_t rows = (text.bytes + row_bytes - 1) / row_bytes;
  for (std::uint32_t i = lanes.rank(); i < rows && first + i < launch.row_room; i += Lanes::size) {
    const std::uint32_t rest = text.bytes - i * row_bytes;
    const std::uint32_t bytes = rest < row_bytes ? rest : row_bytes;
    std::uint32_t word = 0;
    for (std::uint32_t at = 0; at < bytes; ++at) word |= std::uint32_t{text.text[i * row_bytes + at]} << (8 * at);
    const std::uint32_t all_flags = piece_rows::text_flag | flags | (i + 1 == rows ? piece_rows::last_flag : 0);
    std::uint32_t* const to = launch.rows + std::size_t{first + i} * 2;
    to[0] = (all_flags | bytes) << 16U;
    to[1] = word;
  }
}

/// Searches strings in the pieces of a tile, and writes the rows of edges. `launch.tile_pieces`: of each tile, the
/// number of pieces before it.
template <class Lanes, class Filter>
GPUHIST_HOST_DEVICE void search_tile(const Lanes& lanes, const unit_launch& launch, const Filter& filter,
                                     std::uint32_t tile) {
  string_searcher<Lanes, Filter> searcher(lanes, launch, filter);
  std::uint32_t row = launch.tile_pieces[tile];
  for_extents_in(launch, tile, [&](std::uint32_t index, bool begins, const tile_extent& within) {
    if (within.bytes == 0) return;
    const extent whole = launch.extents[index];
    const edge_rows edges = edges_in(launch, index, begins, within);
    const std::uint32_t bytes = edge_bytes_of(launch, whole);
    if (edges.before > 0) write_edge(lanes, launch, {launch.text + whole.begin, bytes}, row, 0);
    row = searcher.search(within, whole, row + edges.before);
    if (edges.after > 0) write_edge(lanes, launch, {launch.text + whole.end - bytes, bytes}, row, piece_rows::end_edge);
    row += edges.after;
  });
}

}  // namespace gpuhist::gpu::cuda::units
