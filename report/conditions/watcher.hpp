// Checks the conditions of --fail-if and --alert-if for each subject: a window, an input or the totals.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "report/conditions/formula.hpp"
#include "report/measures/measure.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report::gates {

/// What conditions are checked for: the counts of a window, of an input or of the run. Borrows everything.
struct subject {
  enum class kind : std::uint8_t { total, input, window, event_window };

  kind type = kind::total;
  std::string_view source;                         ///< name of the input, raw bytes; empty for the totals
  std::uint64_t window = 0;                        ///< index of the window
  std::uint64_t begin = 0;                         ///< offset in the text of the source, in bytes
  std::uint64_t end = 0;                           ///< one past its last byte
  std::optional<pipeline::line_range> lines{};     ///< of a window, if known; the watcher computes those of an input
  std::int64_t event_start = 0;                    ///< of an event window: nanoseconds since 1970-01-01 UTC
  const gpu::tally& counts;                        ///< over the partition of the watcher
  std::optional<std::uint64_t> malformed{};        ///< UTF-8 sequences; nothing: not counted
  std::optional<std::uint64_t> number_of_lines{};  ///< nothing: line feeds are counted
  std::span<const double> facts{};                 ///< by watch_list::facts; empty: conditions about them are skipped
  /// By gate::shown_line; may be shorter.
  std::span<const std::optional<pipeline::observed_line>> first_lines{};
  bool is_of_facts = false;                         ///< conditions that are not about facts are skipped
  const measures::byte_counts* baseline = nullptr;  ///< of this window; null: that of the watcher
};

/// A condition and its effect: a failed run or an alert.
struct gate {
  enum class kind : std::uint8_t { fail, alert };

  kind effect = kind::fail;
  condition when;
  std::optional<std::size_t> shown_line{};  ///< the index of its first_lines; nothing: no line is shown
};

/// All conditions of a run and the kinds of subjects that they apply to. A plain value, part of the plan.
struct watch_list {
  std::vector<gate> gates;             ///< empty: nothing is checked
  std::vector<line_fact> facts{};      ///< that conditions are about: matches, and numbers of values
  std::vector<std::string> matches{};  ///< the names of all expressions, in the order of observed_numbers::matches
  /// By gate::shown_line: the expressions in the condition, as indices of `matches`.
  std::vector<std::vector<std::size_t>> shown_matches{};
  bool totals = true;
  bool inputs = true;
  bool windows = true;
  bool fail_fast = false;
  /// Inputs and totals are checked repeatedly while they grow. A condition is reported when it begins to hold.
  bool growing = false;

  /// Whether a condition needs the counts of all 256 byte values.
  [[nodiscard]] bool needs_byte_counts() const;

  /// Whether subjects of this kind are checked.
  [[nodiscard]] bool covers(subject::kind type) const;

  /// The values of `facts`.
  [[nodiscard]] std::vector<double> facts_in(const pipeline::observed_numbers& found) const;
};

/// A condition that holds. Owns everything, so that it may be passed to another thread.
struct firing {
  gate::kind effect = gate::kind::fail;
  std::string condition;  ///< as typed
  subject::kind type = subject::kind::total;
  std::string source;
  std::uint64_t window = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::optional<pipeline::line_range> lines{};  ///< absent if unknown, and for the totals
  std::int64_t event_start = 0;                 ///< as that of the subject
  std::vector<named_value> values;              ///< of every name in the condition
  /// The first line in which an expression of the condition matches, with the name of its input.
  std::optional<pipeline::observed_line> line{};
};

/// Checks subjects against conditions. Any thread, one at a time.
class watcher {
 public:
  /// Borrows `list`, `counted`, `measuring` and `schemes`, which conditions that need pairs look at. watch() calls
  /// `report_firing` once for each condition that holds.
  watcher(const watch_list& list, const gpu::partition& counted, const measures::measuring& measuring,
          std::function<void(const firing&)> report_firing, std::span<const pipeline::scheme_view> schemes = {});

  /// Checks the subject if the list covers its kind. Returns true if the run must end: --fail-fast is given, and a
  /// condition of --fail-if holds. With `growing`, a condition that also held at the last call for the same input, or
  /// for the totals, is not reported again.
  bool watch(const subject& checked);

  /// Whether a condition of --fail-if held: the exit status is then 3.
  [[nodiscard]] bool has_failed() const { return failed_; }

 private:
  [[nodiscard]] bool begins_to_hold(std::size_t gate, const subject& checked, bool holds);
  [[nodiscard]] std::optional<pipeline::line_range> lines_of(const subject& checked) const;
  [[nodiscard]] static std::optional<pipeline::observed_line> first_line_of(const gate& of, const subject& checked);

  const watch_list& list_;
  const gpu::partition& partition_;
  const measures::measuring& measuring_;
  const std::span<const pipeline::scheme_view> schemes_;
  std::function<void(const firing&)> report_firing_;
  std::set<std::pair<std::size_t, std::string>> holding_;  // with `growing`: gate and input name; empty name: totals
  bool failed_ = false;
};

/// Checks the verified text of an input, and the conditions about facts for what was observed in it. True: the run must
/// end.
bool watch_input(const pipeline::input_report& input, const watch_list& list, watcher& checker);

/// The same for a window. `baseline`: of the window; null: that of the watcher.
bool watch_window(const pipeline::closed_window& closed, const watch_list& list, watcher& checker,
                  const measures::byte_counts* baseline);

/// Checks the totals of a report; not if its only input was checked, which has the same counts. True: the run must end.
/// `found`: what was observed in all inputs; null: nothing was.
bool watch_totals(const pipeline::run_counts& result, const watch_list& list, watcher& checker,
                  const pipeline::observed_numbers* found = nullptr);

/// Checks the bytes counted so far of each input, and the totals; conditions about facts for inputs that have ended
/// only. True: the run must end.
bool watch_so_far(const pipeline::run_counts& snapshot, const watch_list& list, watcher& checker);

/// Checks the conditions about facts for the totals so far, which are those of an only input. True: the run must end.
bool watch_facts_so_far(const pipeline::run_counts& snapshot, const watch_list& list, watcher& checker,
                        const pipeline::observed_numbers& found);

}  // namespace gpuhist::report::gates
