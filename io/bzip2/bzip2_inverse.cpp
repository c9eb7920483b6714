#include "io/bzip2/bzip2_inverse.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace gpuhist::io {
namespace {

/// The distances between the bytes of a randomised block whose lowest bit was changed: a constant of the format.
constexpr std::array<std::uint16_t, 512> random_distances{
    // clang-format off
    619, 720, 127, 481, 931, 816, 813, 233, 566, 247, 985, 724, 205, 454, 863, 491, 741, 242, 949, 214, 733, 859,
    335, 708, 621, 574, 73, 654, 730, 472, 419, 436, 278, 496, 867, 210, 399, 680, 480, 51, 878, 465, 811, 169, 869,
    675, 611, 697, 867, 561, 862, 687, 507, 283, 482, 129, 807, 591, 733, 623, 150, 238, 59, 379, 684, 877, 625,
    169, 643, 105, 170, 607, 520, 932, 727, 476, 693, 425, 174, 647, 73, 122, 335, 530, 442, 853, 695, 249, 445,
    515, 909, 545, 703, 919, 874, 474, 882, 500, 594, 612, 641, 801, 220, 162, 819, 984, 589, 513, 495, 799, 161,
    604, 958, 533, 221, 400, 386, 867, 600, 782, 382, 596, 414, 171, 516, 375, 682, 485, 911, 276, 98, 553, 163,
    354, 666, 933, 424, 341, 533, 870, 227, 730, 475, 186, 263, 647, 537, 686, 600, 224, 469, 68, 770, 919, 190,
    373, 294, 822, 808, 206, 184, 943, 795, 384, 383, 461, 404, 758, 839, 887, 715, 67, 618, 276, 204, 918, 873,
    777, 604, 560, 951, 160, 578, 722, 79, 804, 96, 409, 713, 940, 652, 934, 970, 447, 318, 353, 859, 672, 112, 785,
    645, 863, 803, 350, 139, 93, 354, 99, 820, 908, 609, 772, 154, 274, 580, 184, 79, 626, 630, 742, 653, 282, 762,
    623, 680, 81, 927, 626, 789, 125, 411, 521, 938, 300, 821, 78, 343, 175, 128, 250, 170, 774, 972, 275, 999, 639,
    495, 78, 352, 126, 857, 956, 358, 619, 580, 124, 737, 594, 701, 612, 669, 112, 134, 694, 363, 992, 809, 743,
    168, 974, 944, 375, 748, 52, 600, 747, 642, 182, 862, 81, 344, 805, 988, 739, 511, 655, 814, 334, 249, 515, 897,
    955, 664, 981, 649, 113, 974, 459, 893, 228, 433, 837, 553, 268, 926, 240, 102, 654, 459, 51, 686, 754, 806,
    760, 493, 403, 415, 394, 687, 700, 946, 670, 656, 610, 738, 392, 760, 799, 887, 653, 978, 321, 576, 617, 626,
    502, 894, 679, 243, 440, 680, 879, 194, 572, 640, 724, 926, 56, 204, 700, 707, 151, 457, 449, 797, 195, 791,
    558, 945, 679, 297, 59, 87, 824, 713, 663, 412, 693, 342, 606, 134, 108, 571, 364, 631, 212, 174, 643, 304, 329,
    343, 97, 430, 751, 497, 314, 983, 374, 822, 928, 140, 206, 73, 263, 980, 736, 876, 478, 430, 305, 170, 514, 364,
    692, 829, 82, 855, 953, 676, 246, 369, 970, 294, 750, 807, 827, 150, 790, 288, 923, 804, 378, 215, 828, 592,
    281, 565, 555, 710, 82, 896, 831, 547, 261, 524, 462, 293, 465, 502, 56, 661, 821, 976, 991, 658, 869, 905, 758,
    745, 193, 768, 550, 608, 933, 378, 286, 215, 979, 792, 961, 61, 688, 793, 644, 986, 403, 106, 366, 905, 644,
    372, 567, 466, 434, 645, 210, 389, 550, 919, 135, 780, 773, 635, 389, 707, 100, 626, 958, 165, 504, 920, 176,
    193, 713, 857, 265, 203, 50, 668, 108, 645, 990, 626, 197, 510, 357, 358, 850, 858, 364, 936, 638
    // clang-format on
};

/// Undoes the randomisation that compressors before version 0.9.5 applied to repetitive blocks.
void derandomise(std::span<std::uint8_t> block) {
  constexpr std::size_t before_end = 2;  // of each distance
  std::size_t at = 0;
  for (std::size_t i = 0; true; i = (i + 1) % random_distances.size()) {
    const std::size_t changed = at + random_distances[i] - before_end;
    if (changed >= block.size()) return;
    block[changed] ^= 1U;
    at += random_distances[i];
  }
}

/// The link of a row of the sorted rotations:
///
///     bits:  63..44 row of the rotation by three bytes | 43..24 by one byte | 23..0 the three bytes, the first one
///     lowest
///
/// Rows are below 900000, so they fit in 20 bits.
constexpr unsigned single_shift = 24;
constexpr unsigned triple_shift = 44;
constexpr std::size_t bytes_of_link = 3;

constexpr std::size_t row_after_one(std::uint64_t link) {
  constexpr std::uint64_t row_mask = 0xFFFFF;
  return link >> single_shift & row_mask;
}

/// Row r begins with the byte at position p of the last column if r is the number of smaller bytes in that column, and
/// of equal ones before p; the rotation by one byte is row p.
void link_single_bytes(std::span<const std::uint8_t> last, std::uint64_t* links) {
  std::array<std::array<std::uint32_t, 256>, 2> counts{};  // two, because equal bytes follow each other
  const std::size_t even = last.size() / 2 * 2;
  for (std::size_t i = 0; i < even; i += 2) {
    ++counts[0][last[i]];
    ++counts[1][last[i + 1]];
  }
  if (even != last.size()) ++counts[0][last[even]];
  std::array<std::uint32_t, 256> rows{};
  std::uint32_t row = 0;
  for (std::size_t byte = 0; byte < rows.size(); ++byte) {
    rows[byte] = row;
    row += counts[0][byte] + counts[1][byte];
  }
  for (std::size_t i = 0; i < last.size(); ++i) links[rows[last[i]]++] = std::uint64_t{i} << single_shift | last[i];
}

/// Adds the second and third byte of each row, and the row after them. Rows that begin with the same byte link to
/// increasing rows, so most loads are near those for the row before.
void compose_links(std::size_t rows, std::uint64_t* links) {
  constexpr std::uint64_t byte = 0xFF;
  constexpr std::uint64_t single = (std::uint64_t{1} << triple_shift) - (std::uint64_t{1} << single_shift) + byte;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint64_t first = links[row];
    const std::uint64_t second = links[row_after_one(first)];
    const std::uint64_t third = links[row_after_one(second)];
    links[row] = (first & single) | (second & byte) << 8U | (third & byte) << 16U |
                 std::uint64_t{row_after_one(third)} << triple_shift;
  }
}

/// A row that ends a walk has no row three bytes later, but a mark above all rows: the text continues with that of walk
/// `mark / 3`, except for the first `mark % 3` bytes.
constexpr std::size_t first_mark = (std::size_t{1} << 20U) - bytes_of_link * bzip2_inverter::most_walks;

/// Walks may pass the first row of another one in three ways: with a step to it, or to one of the two rows after it. So
/// three rows are marked, from `row`, three bytes before. Returns the first row, or a mark if there is a mark already.
std::size_t mark_begin(std::uint64_t* links, std::size_t row, std::size_t walk) {
  const std::size_t begin = links[row] >> triple_shift;
  if (begin >= first_mark) return begin;
  const std::array rows{row, row_after_one(links[row]), row_after_one(links[row_after_one(links[row])])};
  constexpr std::uint64_t others = (std::uint64_t{1} << triple_shift) - 1;
  for (std::size_t i = rows.size(); i-- > 0;) {
    const std::uint64_t mark = first_mark + bytes_of_link * walk + i;
    links[rows[i]] = (links[rows[i]] & others) | mark << triple_shift;
  }
  return begin;
}

/// Copies the three bytes of a link, and one more, which the next ones overwrite; returns the row after them.
[[gnu::always_inline]] inline std::size_t follow(std::uint64_t link, std::uint8_t* out) {
  auto bytes = static_cast<std::uint32_t>(link);
  if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap32(bytes);
  std::memcpy(out, &bytes, sizeof bytes);
  return link >> triple_shift;
}

/// Continues walks from `at` to `end` bytes of their pieces, or until one of them ends. The rows are in registers.
template <std::size_t... Indices>
std::size_t walk_together(const std::uint64_t* links, std::size_t* rows, std::uint8_t* const* pieces, std::size_t at,
                          std::size_t end, std::index_sequence<Indices...> /*walks*/) {
  std::array<std::size_t, sizeof...(Indices)> now{rows[Indices]...};
  const std::array<std::uint8_t*, sizeof...(Indices)> out{pieces[Indices]...};
  bool ends = false;
  while (!ends && at < end) {
    ((now[Indices] = follow(links[now[Indices]], out[Indices] + at)), ...);
    at += bytes_of_link;
    ends = (static_cast<unsigned>(now[Indices] >= first_mark) | ...) != 0;
  }
  ((rows[Indices] = now[Indices]), ...);
  return at;
}

using walk_function = std::size_t (*)(const std::uint64_t*, std::size_t*, std::uint8_t* const*, std::size_t,
                                      std::size_t);

/// By the number of walks, less one.
template <std::size_t... Numbers>
constexpr std::array<walk_function, sizeof...(Numbers)> walk_functions(std::index_sequence<Numbers...> /*numbers*/) {
  return {
      [](const std::uint64_t* links, std::size_t* rows, std::uint8_t* const* pieces, std::size_t at, std::size_t end) {
        return walk_together(links, rows, pieces, at, end, std::make_index_sequence<Numbers + 1>());
      }...};
}

}  // namespace

/// The walks that have not ended. All have taken the same number of steps.
struct bzip2_inverter::walks {
  std::size_t number = 0;
  std::array<std::size_t, most_walks> segments{};
  std::array<std::size_t, most_walks> rows{};
  std::array<std::uint8_t*, most_walks> pieces{};  // the current ones
};

void bzip2_inverter::reserve(std::size_t bytes) {
  if (bytes <= room_) return;
  room_ = 0;
  links_ = nullptr;
  links_ = std::make_unique_for_overwrite<std::uint64_t[]>(bytes);
  room_ = bytes;
}

std::span<const std::uint8_t> bzip2_inverter::invert(const bzip2_transformed& block) {
  link_single_bytes({block.column, block.size}, links_.get());
  compose_links(block.size, links_.get());
  walks active;
  begin_walks(block, active);
  walk_all(block, active);
  const std::span<std::uint8_t> text = join(block);
  if (block.randomised) derandomise(text);
  return text;
}

/// The first walk begins three bytes after the origin, the others after rows at equal distances: anywhere in the text.
void bzip2_inverter::begin_walks(const bzip2_transformed& block, walks& active) {
  constexpr std::size_t cached_bytes = std::size_t{1} << 15U;  // smaller blocks do not wait for memory
  const std::size_t number = block.size < cached_bytes ? 1 : most_walks;
  for (std::size_t i = 0; i < number; ++i) {
    const std::size_t before = i == 0 ? block.origin : (block.origin + i * (block.size / number)) % block.size;
    const std::size_t row = mark_begin(links_.get(), before, i);
    segments_[i].pieces.clear();
    segments_[i].length = 0;
    if (row >= first_mark) continue;
    active.segments[active.number] = i;
    active.rows[active.number++] = row;
  }
}

void bzip2_inverter::walk_all(const bzip2_transformed& block, walks& active) {
  static constexpr auto functions = walk_functions(std::make_index_sequence<most_walks>());
  std::size_t piece = 0;
  for (std::size_t before = 0; active.number != 0; before += piece_bytes) {
    for (std::size_t i = 0; i < active.number; ++i) {
      if (piece == pieces_for(block.size)) return end_walks(active, before);  // not reached: each row is passed once
      segments_[active.segments[i]].pieces.push_back(static_cast<std::uint16_t>(piece));
      active.pieces[i] = block.column + piece_stride * piece++;
    }
    for (std::size_t at = 0; at < piece_bytes && active.number != 0; end_walks(active, before + at)) {
      at = functions[active.number - 1](links_.get(), active.rows.data(), active.pieces.data(), at, piece_bytes);
    }
  }
}

/// Ends the walks that arrived at marks, after `length` bytes.
void bzip2_inverter::end_walks(walks& active, std::size_t length) {
  for (std::size_t i = active.number; i-- > 0;) {
    if (active.rows[i] < first_mark) continue;
    segment& ended = segments_[active.segments[i]];
    ended.length = length;
    ended.next = (active.rows[i] - first_mark) / bytes_of_link;
    ended.skip = (active.rows[i] - first_mark) % bytes_of_link;
    const std::size_t last = --active.number;
    active.segments[i] = active.segments[last];
    active.rows[i] = active.rows[last];
    active.pieces[i] = active.pieces[last];
  }
}

/// Joins the segments, from the origin on, in the memory of the links.
std::span<std::uint8_t> bzip2_inverter::join(const bzip2_transformed& block) {
  auto* const text = reinterpret_cast<std::uint8_t*>(links_.get());
  follow(links_[block.origin], text);
  std::size_t size = bytes_of_link;
  std::size_t skip = 0;
  for (const segment* from = segments_.data(); size < block.size; from = &segments_[from->next]) {
    if (from->length <= skip) break;  // not reached: the shortest segments have three bytes
    for (std::size_t at = skip; at < from->length && size < block.size;) {
      const std::size_t in_piece = at % piece_bytes;
      const std::size_t bytes = std::min({piece_bytes - in_piece, from->length - at, block.size - size});
      std::memcpy(text + size, block.column + piece_stride * from->pieces[at / piece_bytes] + in_piece, bytes);
      size += bytes;
      at += bytes;
    }
    skip = from->skip;
  }
  return {text, block.size};
}

}  // namespace gpuhist::io
