// What --utf8 finds in the text of an input, or of all inputs.
#pragma once

#include "gpu/host/utf8_meter.hpp"

#include <cstdint>
#include <optional>

namespace gpuhist::pipeline {

/// Of the text that was read, verified or not.
struct utf8_report {
  gpu::host::utf8_counts counts{};
  std::optional<std::uint64_t> first_malformed{};       ///< offset in the text of an input; not of totals
  std::optional<std::uint64_t> first_malformed_line{};  ///< its line, from 1

  bool operator==(const utf8_report&) const = default;
};

/// The counts of the pieces that the meter was fed.
inline utf8_report report_of(const gpu::host::utf8_meter& meter) {
  return {.counts = meter.counts(),
          .first_malformed = meter.first_malformed(),
          .first_malformed_line = meter.first_malformed_line()};
}

/// Adds an input to totals. Totals without inputs that were validated stay absent.
inline void add_utf8(std::optional<utf8_report>& totals, const std::optional<utf8_report>& input) {
  if (!input) return;
  if (!totals) totals.emplace();
  totals->counts += input->counts;
}

/// For conditions and formulas: the number of malformed sequences; nothing: not counted.
inline std::optional<std::uint64_t> malformed_in(const std::optional<utf8_report>& found) {
  return found ? std::optional(found->counts.malformed) : std::nullopt;
}

}  // namespace gpuhist::pipeline
