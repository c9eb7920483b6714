// The report of one input: why it is not complete, what --utf8 and observers find in it, the prefix from which a later
// run can continue, and the compact form in which reports of finished inputs are spilled.
#pragma once

#include "gpu/host/utf8_meter.hpp"
#include "gpu/tally.hpp"
#include "io/failure.hpp"
#include "io/notice.hpp"
#include "pipeline/counts/text_tally.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// What --utf8 finds in the text of an input, or of all inputs: in the text that was read, verified or not.
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
  std::uint64_t gpu::host::utf8_counts::* value;
};

/// The numbers in the order of all formats, in which those by script follow them.
inline constexpr std::array utf8_numbers = {
    utf8_number{"malformed", "malformed sequences", "Malformed UTF-8 sequences in the text that was read.",
                "Malformed UTF-8 sequences in the text of an input.", &gpu::host::utf8_counts::malformed},
    utf8_number{"malformed_bytes", "", "Bytes of malformed UTF-8 sequences in the text that was read.",
                "Bytes of malformed UTF-8 sequences in the text of an input.",
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

// Why an input is not complete: a kind for programs and a text for people.

using io::failure_kind;
using io::failure_origin;
using io::lack;

/// One failure of one input. Kind `none`: no failure, and the text is empty.
struct input_failure {
  failure_kind kind = failure_kind::none;
  std::string text{};  ///< a clause without the input's name
  failure_origin origin = failure_origin::input;
  lack missing = lack::nothing;

  [[nodiscard]] bool is_none() const { return kind == failure_kind::none; }

  bool operator==(const input_failure&) const = default;
};

/// The text of an exception of a source or decoder: "Input/output error at offset 4096", "No such file or directory".
std::string failure_text(const std::exception_ptr& error);

/// The text, the kind and the origin: those of an io::input_error, out_of_memory for std::bad_alloc, else unreadable.
input_failure failure_from(const std::exception_ptr& error);

/// Whether the input has caused an exception: an io::input_error or std::bad_alloc; others belong to the run. Not null.
bool is_of_input(const std::exception_ptr& error);

/// "stopped at offset 4096": reading was stopped by a signal or by a failure elsewhere.
input_failure left_at(std::uint64_t offset);

/// "not verified: ...": a member of an archive was read to its end, but the archive or frame around it is damaged.
input_failure not_verified_in_archive();

/// "not read": the run was stopped before this input was read.
input_failure not_read();

/// The failure as an exception.
io::input_error as_error(const input_failure& failure);

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

/// A line of which a report shows the beginning.
struct observed_line {
  std::shared_ptr<const std::string> input{};  ///< its name; null: that of the report which has the line
  std::uint64_t line = 1;                      ///< from 1
  std::uint64_t offset = 0;                    ///< of its first byte in the text of the input
  std::string text{};                          ///< raw

  bool operator==(const observed_line&) const = default;
};

/// What an observer of text has found in the text of an input (text_observer): few numbers, which stay with the report
/// of the input. Lines and parts are those of the decoded text, verified or not.
struct observed_numbers {
  /// Lines that an expression matches.
  struct matched {
    std::uint64_t lines = 0;
    std::uint64_t bytes = 0;

    bool operator==(const matched&) const = default;
  };

  std::uint64_t lines = 0;                      ///< that were counted
  std::vector<matched> matches{};               ///< of each expression, then of lines without a match
  std::vector<std::optional<double>> values{};  ///< in the order of the observer; nothing: there is no value
  /// The first lines that the observer keeps, in its order; nothing: there is none. Usually empty.
  std::vector<std::optional<observed_line>> first_lines{};

  /// Adds what was found in later lines, or subtracts what was found in some of them, except values; first lines
  /// remain.
  observed_numbers& operator+=(const observed_numbers& more);
  observed_numbers& operator-=(const observed_numbers& some);

  /// Adds the first lines of later text that are missing.
  void add_first_lines(const std::vector<std::optional<observed_line>>& later);

  bool operator==(const observed_numbers&) const = default;
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
  bool counted_unverified = false;             ///< --count-unverified: `verified` includes the unverified bytes
  std::vector<lost_range> lost_ranges{};       ///< the first max_lost_ranges, in the order of the input
  std::uint64_t number_of_lost_ranges = 0;     ///< listed or not
  std::optional<utf8_report> utf8{};           ///< --utf8, if text of the input was read
  std::vector<io::notice> notices{};           ///< at most one of each kind
  std::optional<observed_numbers> observed{};  ///< nothing: no observer has seen text of it

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

/// The counts of a prefix of an input, from which a later run can continue. Ends between two frames of a compressed
/// input, or anywhere in plain text. If only a part of an input is counted, the counts are those of the beginning of
/// the part.
struct input_prefix {
  input_report counted;           ///< of the prefix; if compressed, `compressed_bytes` is where it ends
  std::uint64_t frames = 0;       ///< of the input up to the end of the prefix; skippable ones are not counted
  text_edges edges{};             ///< of its verified text, if pairs are counted
  std::uint64_t text_before = 0;  ///< bytes of text before the part

  /// Bytes of text of the input up to the end of the prefix.
  [[nodiscard]] std::uint64_t text_bytes() const {
    return text_before + counted.verified.bytes() + counted.unverified.bytes();
  }

  /// Where the rest begins in the input as it is stored, in bytes.
  [[nodiscard]] std::uint64_t stored_bytes() const { return counted.compressed_bytes.value_or(text_bytes()); }

  bool operator==(const input_prefix&) const = default;
};

}  // namespace gpuhist::pipeline
