// The report of one input, and the compact form in which reports of finished inputs are spilled.
#pragma once

#include "gpu/tally.hpp"
#include "io/failure_kind.hpp"
#include "io/notice.hpp"
#include "pipeline/counts/utf8_report.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

using io::failure_kind;
using io::failure_origin;

/// A range of a compressed input that was lost before decoding resumed (--skip-damage).
struct lost_range {
  std::uint64_t compressed_begin = 0;  ///< where the damaged frame begins
  std::uint64_t compressed_end = 0;    ///< where decoding resumed, or the end of the input
  std::uint64_t text_offset = 0;       ///< where the frame's text is missing in the decoded text
  std::uint64_t unverified_bytes = 0;  ///< of the frame's text, decoded before the damage
  std::string cause;
  failure_kind kind = failure_kind::damaged;  ///< or refused: the frame may be intact

  bool operator==(const lost_range&) const = default;
};

/// One input of a report. Its tallies have the partition of the report.
struct input_report {
  std::string name;                               ///< raw bytes, not necessarily UTF-8
  std::string format;                             ///< "raw", "zstd", ...; "unknown" if it could not be opened
  std::optional<std::uint64_t> compressed_bytes;  ///< read so far, if the input is compressed
  bool complete = false;
  std::string error;  ///< for people; empty if there was none
  failure_kind error_kind = failure_kind::none;
  failure_origin error_origin = failure_origin::input;
  gpu::tally verified;
  gpu::tally unverified;
  bool counted_unverified = false;          ///< --count-unverified: `verified` includes the unverified bytes
  std::vector<lost_range> lost_ranges{};    ///< the first max_lost_ranges, in the order of the input
  std::uint64_t number_of_lost_ranges = 0;  ///< listed or not
  std::optional<utf8_report> utf8{};        ///< --utf8, if text of the input was read
  std::vector<io::notice> notices{};        ///< at most one of each kind

  bool operator==(const input_report&) const = default;
};

/// --count-unverified: adds the unverified counts to the verified ones and sets counted_unverified.
void count_unverified(input_report& input);

/// Reverses the verdict that a report assumes (input_counts::waiting_report()): its text is not verified.
void set_unverified(input_report& input);

/// Unless there is a notice of its kind.
void add_notice(std::vector<io::notice>& to, const io::notice& added);

/// The whole report in few bytes. Classes that do not occur take none.
std::string packed_report(const input_report& input);

/// Reverses packed_report(). `classes`: of the tallies.
input_report unpacked_report(std::string_view text, std::size_t classes);

}  // namespace gpuhist::pipeline
