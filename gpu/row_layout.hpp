// The layout of a row of 32-bit counters: what an engine writes for an extent.
//
//     | counts: one per class | pairs, row-major: first class x K + second class | edges |
//                               only if pairs are counted: K x K + 1 counters
//
// A pair is a byte and the next byte of the same extent. Pairs have classes of their own, because few are needed: the
// counts also have a class for '\n', and they may have one for every byte value.
#pragma once

#include "gpu/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace gpuhist::gpu {

/// The most classes of pairs. A row of 32 x 32 pairs has 4 KiB.
inline constexpr std::size_t max_pair_classes = 32;

/// A plain value. The columns of a row, in counters.
struct row_layout {
  partition counted;                 ///< the classes of the counts
  std::optional<partition> pairs{};  ///< the classes of pairs, 1 to max_pair_classes; nothing: pairs are not counted

  row_layout() = default;

  /// Implicit: a partition is the layout of a row without pairs.
  row_layout(const partition& counts, const std::optional<partition>& of_pairs = std::nullopt)
      : counted(counts), pairs(of_pairs) {}

  [[nodiscard]] std::size_t pair_classes() const { return pairs ? pairs->classes : 0; }
  [[nodiscard]] std::size_t pair_columns() const { return pair_classes() * pair_classes(); }
  [[nodiscard]] std::size_t pairs_at() const { return counted.classes; }
  [[nodiscard]] std::size_t edges_at() const { return pairs_at() + pair_columns(); }
  [[nodiscard]] std::size_t columns() const { return edges_at() + (pairs ? 1 : 0); }

  bool operator==(const row_layout&) const = default;
};

/// The first and the last byte of a text, by their classes of pairs, as the last column of a row holds them: bit 16 is
/// set if there is text, bits 8 to 15 are the class of the last byte, bits 0 to 7 that of the first. Without text: 0.
inline std::uint32_t edges_of(std::span<const std::byte> text, const partition& pairs) {
  if (text.empty()) return 0;
  const auto class_of = [&](std::byte value) -> std::uint32_t {
    return pairs.class_of[std::to_integer<std::size_t>(value)];
  };
  return 0x10000U | class_of(text.back()) << 8U | class_of(text.front());
}

}  // namespace gpuhist::gpu
