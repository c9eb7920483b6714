// What --utf8 finds in the text of an input, or of all inputs.
#pragma once

#include "gpu/host/utf8_meter.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuhist::pipeline {

/// Of the text that was read, verified or not.
struct utf8_report {
  gpu::host::utf8_counts counts{};
  std::optional<std::uint64_t> first_malformed{};       ///< offset in the text of an input; not of totals
  std::optional<std::uint64_t> first_malformed_line{};  ///< its line, from 1

  bool operator==(const utf8_report&) const = default;
};

/// A number of utf8_counts in all formats.
struct utf8_number {
  std::string_view name;           ///< in JSON, csv and, with a prefix, prometheus
  std::string_view words;          ///< in the table for people; empty: it is not there
  std::string_view help;           ///< of the metric of all inputs
  std::string_view help_of_input;  ///< of the metric of an input
  std::uint64_t gpu::host::utf8_counts::*value;
};

/// The numbers in the order of all formats, in which those by script follow them.
inline constexpr std::array utf8_numbers = {
    utf8_number{"malformed", "malformed sequences", "Malformed UTF-8 sequences in the text that was read.",
                "Malformed UTF-8 sequences in the text of an input.", &gpu::host::utf8_counts::malformed},
    utf8_number{"malformed_bytes", "", "Bytes of these sequences.", "Bytes of these sequences.",
                &gpu::host::utf8_counts::malformed_bytes},
    utf8_number{"code_points", "code points", "Code points in the text that was read.",
                "Code points in the text of an input.", &gpu::host::utf8_counts::code_points},
};
static_assert(sizeof(gpu::host::utf8_counts) == (utf8_numbers.size() + gpu::host::script_count) * sizeof(std::uint64_t),
              "every number has a row");

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
