// What --each measures, selects and ranks: plain values, part of the plan.
#pragma once

#include "pipeline/counts/spilled_bytes.hpp"
#include "report/conditions/formula.hpp"
#include "report/lines/event_times.hpp"
#include "report/lines/match_set.hpp"
#include "report/lines/selector.hpp"
#include "report/texts/rewriting.hpp"
#include "report/texts/text_fact.hpp"
#include "report/units/distribution.hpp"
#include "report/units/group_key.hpp"
#include "report/units/group_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::report::units {

/// What the units are.
struct unit_shape {
  enum class form : std::uint8_t {
    text,     ///< the text of an input is divided into units
    values,   ///< each value that a program feeds is a unit of the text
    inputs,   ///< each input is a unit
    windows,  ///< each window is a unit
  };

  form divides = form::text;
  std::byte delimiter{'\n'};             ///< ends a unit, and belongs to it; without `bytes`
  std::optional<std::uint64_t> bytes{};  ///< every unit has so many bytes, except the last of an input

  static constexpr std::uint64_t all_bytes = std::numeric_limits<std::uint64_t>::max();
  /// Whether the text of an input is one unit, also an empty one, and one with gaps.
  [[nodiscard]] bool are_whole_texts() const { return bytes == all_bytes; }
  /// Whether a unit is a part of the text of an input.
  [[nodiscard]] bool divides_text() const { return divides == form::text || are_values(); }
  [[nodiscard]] bool are_values() const { return divides == form::values; }
  /// Whether units of text end with the delimiter.
  [[nodiscard]] bool are_delimited() const { return !bytes && !are_values(); }
  [[nodiscard]] bool are_lines() const { return are_delimited() && delimiter == std::byte{'\n'}; }
};

/// Which text is passed through.
struct filtering {
  enum class kept : std::uint8_t {
    selected,  ///< that of units for which the condition holds
    others,    ///< that of all other units
  };

  kept units = kept::selected;
  /// Text is observed when it has been verified or found damaged, and units with damaged text are not kept: neither
  /// what was decoded of them, nor the line or record that a gap cuts, before it and after it.
  bool drops_unverified = false;
  std::size_t in_memory = std::size_t{16} << 20U;  ///< bytes of a unit that is not complete; more are spilled
  pipeline::spill_folder spilled_to{};

  [[nodiscard]] bool keeps(double holds) const { return (holds == 1.0) == (units == kept::selected); }
};

/// A unit for which one of the rules holds is selected.
struct unit_rule {
  std::string name;
  gates::condition when;
};

/// Equal texts are found among the units that are counted: all, or those for which the condition holds, with a filter
/// those that are kept.
struct duplicate_search {
  /// With a filter, a unit whose text is that of an earlier one is not kept. Units must be observed in order then.
  bool are_dropped = false;
  std::size_t in_memory = std::size_t{64} << 20U;  ///< distinct_texts::limits
  pipeline::spill_folder spilled_to{};
};

/// The name of the rule that drops them: the last one, which holds for no unit until it is looked up.
inline constexpr const char* rule_of_duplicates = "duplicate";

/// MinHash signatures of the values of a field are written (signature_files).
struct signature_plan {
  std::string folder;
  pipeline::spill_folder spilled_to{};
};

/// Lines are JSON objects, and the value of a field is measured instead of the line.
struct field_of_lines {
  std::string name;           ///< or a JSON Pointer (io::parse_json_path)
  std::size_t max_bytes = 0;  ///< of a line; longer lines are without field
  /// Lines without field are selected, so that a filter that drops selected lines drops them, and one that keeps
  /// selected lines keeps them.
  bool selects_missing = false;
  bool must_exist = false;  ///< with lines without field, a run is incomplete
};

/// The name of what selects lines without field, in the place of a rule.
inline constexpr const char* rule_of_missing_field = "without-field";

/// The units with the highest values.
struct ranking {
  unsigned number = 1;  ///< of units, at least 1
  gates::formula by;
};

/// With windows whose length is chosen.
inline constexpr std::size_t most_windows_of_changes = 200;

/// The value of a fact of values; nothing: it is not known.
std::optional<double> number_of_values(const gates::line_fact& fact, const value_summary& found);

/// The formulas of units whose values are summed up: for conditions, and for the groups and windows of a report.
struct watched_values {
  std::vector<gates::formula> formulas{};
  std::vector<std::vector<double>> percents{};  ///< by formula: of its quantiles
  std::size_t reported = 0;                     ///< the first so many formulas are summed up for each group and window
  std::vector<gates::line_fact> conditions{};   ///< those of watch_list::facts that are of values
  bool in_windows = false;                      ///< conditions are about each window of event time, too

  [[nodiscard]] bool is_empty() const { return formulas.empty(); }
  /// Whether conditions are about them.
  [[nodiscard]] bool are_checked() const { return !conditions.empty(); }
  /// The number of formulas that are summed up for each window.
  [[nodiscard]] std::size_t of_windows() const { return in_windows && are_checked() ? formulas.size() : reported; }

  /// As observed_numbers::values. `found`: by formula; empty: no units were measured.
  [[nodiscard]] std::vector<std::optional<double>> numbers(std::span<const value_summary> found) const;
  [[nodiscard]] std::vector<std::optional<double>> numbers(std::span<const distribution> found) const;
};

/// Windows of the times that are written in lines, or of numbers of lines.
struct event_windows {
  lines::event_time_options typed{};
  std::shared_ptr<const lines::event_times> times{};  ///< of them; null: windows are of lines
  /// They begin at multiples of their length since 1970-01-01 UTC, or since the first line of each input.
  window_lengths windows{};
  /// For times without a year, of inputs that are not files: nanoseconds since 1970-01-01 UTC.
  std::int64_t reference = 0;
  /// Windows close while the run lasts: nanoseconds after their end (event_watermark). Nothing: at the end of the run.
  std::optional<std::int64_t> lateness{};
};

/// What is read of lines or records, besides their bytes.
struct line_reading {
  std::shared_ptr<const lines::match_set> matches{};  ///< null: none
  bool ignores_case = false;                          ///< the expressions do
  /// For each condition that shows a line: the expressions, in one of which the first such line must match.
  std::vector<std::vector<std::size_t>> shown_matches{};
  bool first_match_only = false;             ///< of the expressions that match in a line, only the first counts
  std::vector<gates::line_fact> facts{};     ///< that formulas use
  std::string field_separator{};             ///< of selectors, as typed
  std::vector<lines::selector> selectors{};  ///< of the facts that are numbers, in their order
  std::vector<texts::text_fact> texts{};     ///< the facts that are of texts, in their order
  std::vector<group_key> keys{};             ///< by which lines are grouped: none, one or two
  std::optional<event_windows> events{};     ///< lines are grouped by their time
  bool finds_changes = false;                ///< in groups of logs and kinds of lines, by their first lines
  bool is_compared = false;                  ///< with another run: the groups themselves are the result
  std::size_t most_groups = 1000;            ///< that are reported by their key
  bool is_approximate = false;               ///< groups are removed instead of spilled (group_sum)
  std::size_t groups_in_memory = std::size_t{64} << 20U;  ///< bytes; more are spilled
  pipeline::spill_folder spilled_to{};
  std::size_t max_bytes = 0;  ///< of a line that are read, unless reads_strings_only(); its others are only counted

  [[nodiscard]] std::size_t expressions() const { return matches ? matches->size() : 0; }
  /// Whether lines of an input can have different keys.
  [[nodiscard]] bool reads_keys() const { return std::ranges::any_of(keys, &group_key::reads_line); }
  /// Whether a key is the language of a text.
  [[nodiscard]] bool reads_languages() const { return std::ranges::any_of(keys, &group_key::is_language); }
  /// Whether the last key is each character of a text.
  [[nodiscard]] bool counts_characters() const { return !keys.empty() && keys.back().is_character(); }
  /// Those that a line has: all others.
  [[nodiscard]] std::span<const group_key> keys_of_lines() const {
    return std::span(keys).first(keys.size() - (counts_characters() ? 1 : 0));
  }
  /// Whether a reader of lines must have read the first one of its input.
  [[nodiscard]] bool reads_headers() const {
    return std::ranges::any_of(selectors, &lines::selector::reads_header) ||
           std::ranges::any_of(keys, [](const group_key& key) { return key.selector && key.selector->reads_header(); });
  }
  [[nodiscard]] bool has_groups() const { return !keys.empty() || events; }
  /// Whether windows close while the run lasts.
  [[nodiscard]] bool closes_windows() const { return events && events->lateness; }
  /// Whether only strings are searched in lines, so that the parts of a line can be read one by one.
  [[nodiscard]] bool reads_strings_only() const {
    return selectors.empty() && texts.empty() && !reads_keys() && !events && !finds_changes && matches &&
           !matches->strings().empty();
  }
};

struct unit_plan {
  static constexpr std::size_t shown_bytes = 400;  ///< of the text of a unit

  unit_shape shape;
  std::string each;                                ///< as typed: "line"
  std::optional<field_of_lines> field{};           ///< only of lines; nothing: the units themselves are measured
  std::vector<texts::rewriting_step> rewriting{};  ///< of the text that is measured, before it is; of fields only
  std::optional<gates::condition> where{};         ///< that one of the rules holds; nothing: no unit is selected
  std::vector<unit_rule> rules{};                  ///< in the order in which they are compared
  std::optional<filtering> filter{};               ///< requires `where`; nothing: text is not filtered
  std::optional<duplicate_search> duplicates{};    ///< only of units that are parts of a text
  std::optional<signature_plan> signatures{};      ///< requires `field`
  std::optional<ranking> top{};
  std::optional<gates::formula> distribution{};
  std::vector<double> quantiles{};      ///< of the distribution, in percent
  watched_values watched{};             ///< only of lines, records and parts
  std::optional<line_reading> lines{};  ///< only of lines and records
  bool shows_text = false;              ///< reported units of a text have the beginning of it
  /// Of selected units and kept text that readers of later text hold together until the text before has been read.
  std::size_t held_bytes = std::size_t{128} << 20U;

  /// Whether units for which the condition holds are reported one by one: not if they are grouped.
  [[nodiscard]] bool lists_selected() const { return where && (filter || !lines || !lines->has_groups()); }

  /// Whether it is reported which rules hold.
  [[nodiscard]] bool reports_rules() const { return where && !rules.empty() && (filter || rules.size() > 1); }
  /// Whether rules are evaluated one by one: a single one is the condition.
  [[nodiscard]] bool divides_rules() const { return reports_rules() && (rules.size() > 1 || selects_missing()); }
  /// Whether duplicates are dropped, so that earlier units decide on later ones.
  [[nodiscard]] bool drops_duplicates() const { return duplicates && duplicates->are_dropped; }
  /// The value of the condition of a duplicate that is dropped.
  [[nodiscard]] double condition_of_dropped() const { return filter->units == filtering::kept::others ? 1.0 : 0.0; }
  [[nodiscard]] bool selects_missing() const { return field && field->selects_missing; }
  /// The rules that are counted one by one, and what selects lines without field.
  [[nodiscard]] std::size_t counted_rules() const {
    return divides_rules() ? rules.size() + (selects_missing() ? 1 : 0) : 0;
  }
  /// Of rule_totals: the counted rules, then the steps of the rewriting.
  [[nodiscard]] std::size_t counted_rows() const { return counted_rules() + rewriting.size(); }

  /// Whether a line with this value of the condition is counted by matches and in groups: one that is selected, with a
  /// filter one that is kept.
  [[nodiscard]] bool counts_in_groups(double holds) const { return filter ? filter->keeps(holds) : holds == 1.0; }

  /// The same of any plan: all units are counted without a condition.
  [[nodiscard]] bool counts(double holds) const { return !where || counts_in_groups(holds); }

  /// Whether the reports of inputs have what was found in their units (observed_numbers).
  [[nodiscard]] bool reports_inputs() const { return (lines && lines->expressions() > 0) || watched.are_checked(); }

  /// Whether inputs and windows must be counted by byte value. (Units of text have counts of their own.)
  [[nodiscard]] bool needs_byte_counts() const {
    return !shape.divides_text() && ((where && where->needs_byte_counts()) || (top && top->by.needs_byte_counts()) ||
                                     (distribution && distribution->needs_byte_counts()));
  }
};

}  // namespace gpuhist::report::units
