#include "io/zstd/zstd_sequences.hpp"

#include "io/zstd/zstd_words.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gpuhist::io {
namespace {

constexpr std::uint32_t max_block_text = zstd_block_header::max_size;

/// A stream of bits, from back to front: those below `left` are not read yet.
struct sequence_bits {
  const std::byte* begin = nullptr;
  std::ptrdiff_t left = 0;

  static constexpr unsigned of_word = 56;  // at least

  /// A word whose lowest of_word() bits or more are the next ones.
  struct word {
    std::uint64_t bits = 0;
    unsigned count = 0;

    [[gnu::always_inline]] std::uint32_t take(unsigned number) {
      count -= number;
      return static_cast<std::uint32_t>(bits >> count) & ((std::uint32_t{1} << number) - 1);
    }
  };

  [[nodiscard, gnu::always_inline]] word next() const {
    return {.bits = word_at(begin + (left >> 3) - 7), .count = 56 + static_cast<unsigned>(left & 7)};
  }
};

/// Adds a sequence whose lengths may be any ones of a block.
zstd_sequence* add_divided(zstd_sequence* to, std::uint32_t literals, std::uint32_t match, std::uint32_t offset) {
  constexpr std::uint32_t most = 0xFFFF;
  for (; literals > most; literals -= most) *to++ = {.offset = 1, .literals = most, .match = 0};
  for (; match > most; match -= most) {
    *to++ = {.offset = offset, .literals = static_cast<std::uint16_t>(literals), .match = most};
    literals = 0;
  }
  *to++ = {
      .offset = offset, .literals = static_cast<std::uint16_t>(literals), .match = static_cast<std::uint16_t>(match)};
  return to;
}

struct sequence_sums {
  std::uint64_t literals = 0;
  std::uint64_t matches = 0;
  std::int32_t max_offset = 0;
  zstd_sequence* end = nullptr;
};

using four_numbers = std::uint32_t __attribute__((vector_size(16)));

/// The number at `which`, and then the others. One instruction, because a branch would often be mispredicted.
[[gnu::always_inline]] inline four_numbers moved_to_front(four_numbers from, std::uint32_t which) {
#if defined(__clang__)  // shuffles by constants only
  constexpr std::array<std::array<std::uint8_t, 4>, 4> orders{{{0, 1, 2, 3}, {1, 0, 2, 3}, {2, 0, 1, 3}, {3, 0, 1, 2}}};
  const auto& order = orders[which];
  return four_numbers{from[order[0]], from[order[1]], from[order[2]], from[order[3]]};
#else
  using sixteen_bytes = std::uint8_t __attribute__((vector_size(16)));
  static constexpr std::array<sixteen_bytes, 4> orders{
      sixteen_bytes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
      sixteen_bytes{4, 5, 6, 7, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15},
      sixteen_bytes{8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15},
      sixteen_bytes{12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
  return four_numbers(__builtin_shuffle(sixteen_bytes(from), orders[which]));
#endif
}

/// The offsets after a sequence, the latest first. Values of 1 to 3 are one of the last three, or, after no literals,
/// of the next ones; the fourth number is not used.
[[gnu::always_inline]] inline four_numbers with_latest(four_numbers last, std::uint32_t value, std::uint32_t literals) {
  const std::uint32_t which = std::min(value - 1 + (literals == 0 ? 1 : 0), 3U);
  last[3] = value - 3;
  if (value == 3 && which == 3) [[unlikely]]
    last[3] = last[0] - 1;
  return moved_to_front(last, which);
}

[[gnu::always_inline]] inline bool read_sequences(sequence_bits bits, std::size_t count,
                                                  const std::array<zstd_sequence_table, zstd_codes>& tables,
                                                  zstd_offsets& offsets, zstd_sequence* to, sequence_sums& sums) {
  sequence_bits::word first = bits.next();
  std::uint32_t literal_state = first.take(tables[0].log);
  std::uint32_t offset_state = first.take(tables[1].log);
  std::uint32_t match_state = first.take(tables[2].log);
  bits.left -= tables[0].log + tables[1].log + tables[2].log;
  four_numbers last{offsets[0], offsets[1], offsets[2], 0};  // and a new one
  std::uint64_t literal_sum = 0;
  std::uint64_t match_sum = 0;
  std::int32_t max_offset = 0;
  for (;;) {
    if (bits.left < 0) return false;
    const zstd_state literal = tables[0].states[literal_state];
    const zstd_state offset = tables[1].states[offset_state];
    const zstd_state match = tables[2].states[match_state];
    sequence_bits::word word = bits.next();
    const unsigned all_bits = literal.both_bits() + offset.both_bits() + match.both_bits();
    constexpr unsigned most_next_bits = 9 + 9 + 8;
    const bool is_long = all_bits >= (sequence_bits::of_word - most_next_bits + 1) << 8U;
    const std::uint32_t value = offset.base() + word.take(offset.extra_bits());
    if (is_long) [[unlikely]] {
      bits.left -= offset.extra_bits();
      if (bits.left < 0) return false;
      word = bits.next();
      bits.left += offset.extra_bits();
    }
    const std::uint32_t matched = match.base() + word.take(match.extra_bits());
    const std::uint32_t literals = literal.base() + word.take(literal.extra_bits());
    bits.left -= all_bits >> 8U;
    if (is_long) [[unlikely]] {
      if (bits.left < 0) return false;
      word = bits.next();
    }
    last = with_latest(last, value, literals);
    max_offset = std::max(max_offset, static_cast<std::int32_t>(last[0]));
    literal_sum += literals;
    match_sum += matched;
    if ((literals | matched) > 0xFFFF) [[unlikely]] {
      // the room for more sequences is that of one block
      if (literal_sum + match_sum > max_block_text) return false;
      to = add_divided(to, literals, matched, last[0]);
    } else {
      *to++ = {.offset = last[0],
               .literals = static_cast<std::uint16_t>(literals),
               .match = static_cast<std::uint16_t>(matched)};
    }
    if (--count == 0) break;
    literal_state = literal.next() + word.take(literal.next_bits());
    match_state = match.next() + word.take(match.next_bits());
    offset_state = offset.next() + word.take(offset.next_bits());
    bits.left -= all_bits & 0xFFU;
  }
  offsets = {last[0], last[1], last[2]};
  sums = {.literals = literal_sum, .matches = match_sum, .max_offset = max_offset, .end = to};
  return bits.left == 0;
}

// --- the same, with the instructions of a newer processor, if there is one ---

using sequence_tables = std::array<zstd_sequence_table, zstd_codes>;

#if defined(__x86_64__)
GPUHIST_WITH_BMI2 bool read_sequences_bmi2(sequence_bits bits, std::size_t count, const sequence_tables& tables,
                                           zstd_offsets& offsets, zstd_sequence* to, sequence_sums& sums) {
  return read_sequences(bits, count, tables, offsets, to, sums);
}
#endif

bool read_sequences_here(sequence_bits bits, std::size_t count, const sequence_tables& tables, zstd_offsets& offsets,
                         zstd_sequence* to, sequence_sums& sums) {
#if defined(__x86_64__)
  if (has_bmi2) return read_sequences_bmi2(bits, count, tables, offsets, to, sums);
#endif
  return read_sequences(bits, count, tables, offsets, to, sums);
}

}  // namespace

void zstd_block_decoder::forget(const zstd_descriptions& of_block) {
  for (std::size_t i = 0; i < of_block.size(); ++i) {
    if (of_block[i].is != zstd_description::kind::repeated) is_built_[i] = false;
  }
}

zstd_block_decoder::verdict zstd_block_decoder::decode(std::span<const std::byte> content,
                                                       const zstd_known_tables& known, std::byte* room,
                                                       zstd_block_plan& to) {
  constexpr std::size_t least_bytes = 3;
  to = {.offsets = zstd_unknown_offsets};
  if (content.size() < least_bytes || content.size() >= max_block_text) return verdict::damaged;
  const verdict of_literals = decode_literals(content, known, room, to);
  if (of_literals == verdict::damaged || content.empty()) return verdict::damaged;
  std::size_t count = number_at(content, 0);
  std::size_t count_bytes = 1;
  if (count >= 128) {
    count_bytes = count == 255 ? 3 : 2;
    if (content.size() < count_bytes) return verdict::damaged;
    count = count == 255 ? number_at(content, 1) + (number_at(content, 2) << 8U) + 0x7F00
                         : ((count - 128) << 8U) + number_at(content, 1);
  }
  content = content.subspan(count_bytes);
  if (count == 0) return count_bytes == 1 && content.empty() ? of_literals : verdict::damaged;
  if (count > most_sequences) return verdict::damaged;
  const verdict of_tables = read_tables(content, known, to);
  if (of_tables == verdict::damaged) return of_tables;
  if (of_literals != verdict::decoded) return of_literals;
  if (of_tables != verdict::decoded) return of_tables;
  constexpr std::size_t alignment = alignof(std::uint64_t);
  const std::size_t at = (to.literals.size() + after_literals + alignment - 1) / alignment * alignment;
  return decode_sequences(content, count, reinterpret_cast<zstd_sequence*>(room + at), to);
}

// Literals section: type (2 bits), format of the sizes (2), size of the literals, and of what they are coded in.
zstd_block_decoder::verdict zstd_block_decoder::decode_literals(std::span<const std::byte>& content,
                                                                const zstd_known_tables& known, std::byte* to,
                                                                zstd_block_plan& plan) {
  enum class kind { raw, single, coded, repeated };
  std::uint64_t header = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(content.size(), 5); ++i) {
    header |= std::uint64_t{number_at(content, i)} << (8 * i);
  }
  const auto is = static_cast<kind>(header & 3U);
  const unsigned format = header >> 2U & 3U;
  const bool is_stored = is == kind::raw || is == kind::single;
  const std::size_t header_bytes = is_stored ? (format == 3 ? 3 : format == 1 ? 2 : 1) : (format < 2 ? 3 : format + 2);
  const unsigned size_bits = is_stored ? (header_bytes == 1   ? 5
                                          : header_bytes == 2 ? 12
                                                              : 20)
                                       : (format < 2    ? 10
                                          : format == 2 ? 14
                                                        : 18);
  const std::uint64_t mask = (std::uint64_t{1} << size_bits) - 1;
  const std::size_t count = header >> (is_stored && header_bytes == 1 ? 3U : 4U) & mask;
  const std::size_t size = is == kind::raw ? count : is == kind::single ? 1 : header >> (4U + size_bits) & mask;
  if (is == kind::repeated && !is_built_[0] && known.get()[0].is == zstd_description::kind::repeated) {
    // libzstd checks this first
    if (header_bytes + size > content.size()) return verdict::lacks_literal_table;
    content = content.subspan(header_bytes + size);
    return verdict::lacks_literal_table;
  }
  if (header_bytes + size > content.size() || count > max_block_text) return verdict::damaged;
  const std::span<const std::byte> section = content.first(header_bytes + size);
  std::span<const std::byte> coded = section.subspan(header_bytes);
  content = content.subspan(header_bytes + size);
  plan.literals = {to, count};
  plan.text_bytes = static_cast<std::uint32_t>(count);
  if (is == kind::raw) {
    std::memcpy(to, coded.data(), count);
    return verdict::decoded;
  }
  if (is == kind::single) {
    std::memset(to, static_cast<int>(number_at(coded, 0)), count);
    return verdict::decoded;
  }
  if (count == 0) return verdict::damaged;
  if (is == kind::coded) {
    is_built_[0] = false;
    const auto described = literals_.build(coded);
    if (!described) return verdict::damaged;
    plan.tables[0] = {.is = zstd_description::kind::listed, .bytes = section};
    coded = coded.subspan(*described);
  } else if (!is_built_[0] && !literals_.build(tree_of(known.get()[0].bytes))) {
    return verdict::damaged;
  }
  is_built_[0] = true;
  return literals_.decode(coded, format == 0, to, count) ? verdict::decoded : verdict::damaged;
}

// A byte with the modes of the three tables, and then those that are described.
zstd_block_decoder::verdict zstd_block_decoder::read_tables(std::span<const std::byte>& content,
                                                            const zstd_known_tables& known, zstd_block_plan& plan) {
  using kind = zstd_description::kind;
  constexpr std::array<kind, 4> kinds{kind::predefined, kind::single, kind::listed, kind::repeated};
  if (content.empty()) return verdict::damaged;
  const unsigned modes = number_at(content, 0);
  if ((modes & 3U) != 0) return verdict::damaged;
  content = content.subspan(1);
  verdict is = verdict::decoded;
  for (std::size_t i = 0; i < zstd_codes; ++i) {
    const auto code = static_cast<zstd_code>(i);
    const kind how = kinds[modes >> (6 - 2 * i) & 3U];
    if (how != kind::repeated) {
      is_built_[1 + i] = false;
      const auto described = build_sequence_table(code, how, content, sequence_tables_[i]);
      if (!described) return verdict::damaged;
      plan.tables[1 + i] = {.is = how, .bytes = content.first(*described)};
      content = content.subspan(*described);
    } else if (!is_built_[1 + i]) {
      const zstd_description last = known.get()[1 + i];
      if (last.is == kind::repeated) {
        is = verdict::lacks_sequence_table;
        continue;
      }
      if (!build_sequence_table(code, last.is, last.bytes, sequence_tables_[i])) return verdict::damaged;
    }
    is_built_[1 + i] = true;
  }
  return is;
}

zstd_block_decoder::verdict zstd_block_decoder::decode_sequences(std::span<const std::byte> content, std::size_t count,
                                                                 zstd_sequence* to, zstd_block_plan& plan) {
  if (content.empty() || content.back() == std::byte{0}) return verdict::damaged;
  const sequence_bits bits{.begin = content.data(),
                           .left = 8 * static_cast<std::ptrdiff_t>(content.size()) - 1 -
                                   std::countl_zero(std::to_integer<std::uint8_t>(content.back()))};
  sequence_sums sums;
  if (!read_sequences_here(bits, count, sequence_tables_, plan.offsets, to, sums)) return verdict::damaged;
  const std::size_t literals = plan.literals.size();
  if (sums.literals > literals || literals + sums.matches > max_block_text) return verdict::damaged;
  plan.sequences = {to, sums.end};
  plan.text_bytes = static_cast<std::uint32_t>(literals + sums.matches);
  plan.max_offset = static_cast<std::uint32_t>(sums.max_offset);
  return verdict::decoded;
}

}  // namespace gpuhist::io
