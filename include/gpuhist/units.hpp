// Units of a text (lines, records, parts, inputs, windows), each of which is measured.
#pragma once

#include <gpuhist/api.hpp>
#include <gpuhist/results.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist {

/// Which text is kept: count_files() forwards it by pass_through_options, a counter passes it to
/// input_options::on_kept.
enum class unit_filter : std::uint8_t {
  none,  ///< all of it
  keep,  ///< of the units for which unit_options::where holds
  drop,  ///< of the other units
};

/// What happens to lines that are without unit_options::jsonl_field. Blank lines are not among them.
enum class missing_field : std::uint8_t {
  by_condition,  ///< a filter keeps them with unit_filter::drop, and drops them with unit_filter::keep
  drop,          ///< a filter drops them
  keep,          ///< a filter keeps them
  fail,          ///< a filter drops them, and the run is run_status::incomplete
};

/// What happens to duplicates: units whose text is that of an earlier unit. The text is without the delimiter of the
/// unit; with unit_options::jsonl_field it is the decoded value.
enum class duplicate_units : std::uint8_t {
  ignored,  ///< they are not looked for
  count,    ///< unit_summary has their number
  drop,     ///< the same, and a filter drops them
};

/// How texts are divided into units, and which units are reported.
struct unit_options {
  enum class kind : std::uint8_t {
    line,    ///< with its line feed
    record,  ///< with the byte that ends it
    part,    ///< of a fixed size, except the last one of an input
    input,   ///< the verified text of an input
    window,  ///< of counting_options::windows
    value,   ///< what input::feed_values() passes: any bytes, also none; only of a counter, without windows
  };

  kind each = kind::line;
  char delimiter = '\0';         ///< of records
  std::uint64_t part_bytes = 0;  ///< of parts, 1 to 2^30
  std::string where{};           ///< a condition ("digit > 0.5", docs/measures.md) that selects units; empty: none
  /// More conditions, each with a name: "short=words < 50". Without a name, its text is its name. A unit is selected if
  /// `where` or one of these holds.
  std::vector<std::string> rules{};
  unsigned top = 0;      ///< keep so many units with the highest values of `top_by`, at most 1000000
  std::string top_by{};  ///< a formula; empty with top = 0
  /// `keep` and `drop` require `where` or `rules`, and a receiver of the text: pass_through_options::content::text of
  /// count_files(), input_options::on_kept of every input of a counter (of values: the result of input::feed_values()).
  /// Units that are not kept are then reported, instead of those that are selected. With file_options::skip_damage,
  /// units with damaged text are not kept, whatever the condition, nor is the unit that a gap cuts; text is held until
  /// its frame is verified.
  unit_filter filter = unit_filter::none;
  bool show_text = false;         ///< reported lines, records and parts, and lines of alerts, have their beginning
  std::string distribution_of{};  ///< a formula; empty: no distribution
  std::vector<double> quantiles{50, 90, 99, 99.9};  ///< of the distribution, in percent: above 0, at most 100
  /// Only of lines, which are JSON objects: the decoded string in this field (UTF-8) is measured instead of the line.
  /// A line that has none has no values: it is without field, and counting_events::on_notice reports the first one of
  /// each input. Empty: lines are measured.
  std::string jsonl_field{};
  missing_field without_field = missing_field::by_condition;
  /// Steps that rewrite the text of `jsonl_field` before it is measured: "drop words < 3" removes lines, "cut REGEX"
  /// what matches, "strip" white space at the ends of lines; each may have a name, "short=drop words < 3"
  /// (docs/texts.md). What is kept by a filter has the rewritten text.
  /// Values are rewritten before they are fed (text_rewriter).
  std::vector<std::string> rewrite{};
  /// Of units that are parts of a text, and that are selected if there is a condition, with a filter kept. The hash of
  /// each text (XXH3, 128 bits) is held in memory, and beyond a part of counting_options::memory_limit in a temporary
  /// file. With `drop`, inputs are read one after the other; of a counter, earlier units are those that were fed
  /// before. A filter that drops duplicates needs no other condition.
  duplicate_units duplicates = duplicate_units::ignored;
  /// A folder: the MinHash signatures of the values of `jsonl_field` are written there, for each input that is complete
  /// (docs/duplicates.md). Only of count_files(), without a filter. Empty: none are written.
  std::string minhash_folder{};

  // ---- read of lines and records (docs/events.md)
  // --------------------------------------------------------------------

  std::vector<std::string> matches{};  ///< "NAME=REGEX": counts the lines in which it matches; match(NAME) in formulas
  std::string match_file{};            ///< a file with more of them, one on each line; empty: none
  bool match_ignore_case = false;
  bool first_match_only = false;  ///< of the expressions that match in a line, only the first counts
  /// A selector of a key ("field:1", "json:/user/id", "template"), "language" (of the text that is measured),
  /// "character" (each one of this text is counted for itself), or "name" or "family" (the name of the input, without
  /// what rotation adds to it); empty: none.
  std::string group_by{};
  std::string then_by{};        ///< divides each group by a second key
  unsigned most_groups = 1000;  ///< that are reported: those with the most lines
  /// Groups that need too much memory are not written to the temporary file: those with the fewest lines are removed,
  /// and numbers have bounds (line_group::lines_at_most). Requires `group_by`.
  bool approximate = false;
  std::string field_separator{};  ///< of selectors: one byte; empty: runs of blanks for fields, "," for csv
  /// A format of the times in lines ("any", "iso", "json:time", "%Y-%m-%d %H:%M:%S"): windows of
  /// counting_options::windows, which are measured in time, are windows of these times. Empty: times are not read.
  std::string event_time{};
  std::string time_zone{};  ///< of times without a zone: an IANA name; empty: UTC
  /// Windows of `event_time` close while the run lasts: when a line is this much later than the end of the window
  /// (docs/events.md). Only of count_files(), with file_options::follow or one input. Absent: with
  /// file_options::follow 10 seconds, else all windows close at the end.
  std::optional<std::chrono::milliseconds> allowed_lateness{};
  /// Finds what changed in the course of time (docs/changes.md), with `matches`, and no other of these options. Windows
  /// are those of the times in the lines, or of numbers of lines if counting_options::windows are.
  bool changes = false;

  /// Whether there is a condition that selects units.
  [[nodiscard]] bool selects() const { return !where.empty() || !rules.empty(); }
};

/// A unit and the values of the names in the condition or formula that it was selected or ranked by.
struct unit {
  struct state;  ///< of the implementation

  std::string input;         ///< its name, raw bytes
  std::uint64_t number = 1;  ///< in its input, from 1; of a window its index
  std::uint64_t line = 1;    ///< in which it begins, from 1; 0: unknown
  std::uint64_t offset = 0;  ///< of its first byte in the text of the input
  std::uint64_t bytes = 0;
  /// When it was read; if not, it is verified if its input is complete. With a filter and file_options::skip_damage:
  /// false for the units that are dropped because of damage.
  bool verified = false;
  std::vector<alert::named_value> values{};
  std::optional<std::uint64_t> field_bytes{};  ///< with unit_options::jsonl_field: of the decoded value
  std::string without_field{};  ///< why the line is without field, or the value absent; empty: it has one, or is blank
  std::vector<std::string> rules{};       ///< names of those that hold: with a filter, or several rules
  std::string text{};                     ///< with unit_options::show_text: its first 400 bytes, raw, without its end
  std::shared_ptr<const state> shared{};  ///< of the implementation

  /// As window::to_json(), of kind "unit", with the counts. Only of units that the library has passed.
  [[nodiscard]] GPUHIST_API std::string to_json() const;
};

/// A unit and its value.
struct ranked_unit {
  double value = 0;
  unit found;
};

/// Values from `from` on, below `to`; both are 0 for the value 0.
struct value_range {
  double from = 0;
  double to = 0;
  std::uint64_t units = 0;
};

/// The value that `percent` of the units do not exceed: exact if it is a whole number of at most 256, otherwise up to
/// 1/256 too low.
struct quantile {
  double percent = 0;
  double value = 0;
};

/// The values of unit_options::distribution_of in lines of a group.
struct value_summary {
  std::uint64_t units = 0;          ///< lines with a value
  std::uint64_t without_value = 0;  ///< lines
  /// Of the values, each rounded to six digits after the point. Absent: there is no value, or positive or negative
  /// values sum up to 2^62 or more.
  std::optional<double> sum{};
  std::optional<double> mean{};       ///< absent if the sum is
  std::vector<quantile> quantiles{};  ///< unit_options::quantiles, if there is a value
};

/// Lines that have something in common: the same key, or times in the same window.
struct line_group {
  std::string key{};       ///< raw bytes; of a window empty
  std::int64_t start = 0;  ///< of a window: nanoseconds since 1970-01-01 UTC
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  std::vector<std::vector<std::uint64_t>> counts{};  ///< of the buckets, by scheme, in the order of the options
  std::vector<match_count> matches{};
  std::vector<std::uint64_t> lines_by_key{};  ///< of a window: of line_summary::groups, in their order
  std::optional<value_summary> values{};      ///< absent: without unit_options::distribution_of
  /// With unit_options::approximate: lines of this key may be among the others, and it has at most so many. Nothing:
  /// the numbers are exact.
  std::optional<std::uint64_t> lines_at_most{};
};

/// What was read of lines.
struct line_summary {
  std::vector<match_count> matches{};  ///< in the order of the options
  match_count unmatched{};             ///< lines in which no expression matches
  std::vector<line_group> groups{};    ///< by key: those with the most lines first, equal ones in the order of the keys
  std::uint64_t number_of_groups = 0;  ///< different keys
  std::optional<std::uint64_t> number_of_groups_error{};  ///< it is an estimate with this standard error
  line_group other_groups{};  ///< the sum of the keys that are not in `groups`, and what these lack
  /// A key that is not in `groups` has at most so many lines. Nothing: as the last of `groups`.
  std::optional<std::uint64_t> other_group_lines_at_most{};
  line_group without_key{};           ///< lines without a key
  std::vector<line_group> windows{};  ///< with lines, in the order of time
  line_group without_time{};          ///< lines before the first line with a time of their input
  line_group implausible_time{};      ///< lines with a year that is not plausible, and the lines after them
  line_group late{};                  ///< lines of windows that had closed: unit_options::allowed_lateness
};

/// What is different in a change of a log, or between two sides.
struct log_difference {
  std::string what;   ///< "kind", "level", "match", "rate", "length", "bytes_of_class"
  std::string of{};   ///< the kind, the level, the expression or the bucket; empty: it is of all lines
  double before = 0;  ///< a share, or a number of lines or bytes
  double inside = 0;  ///< the same in the change
  std::string words;  ///< both, for people
  double evidence = 0;
};

/// What changed in a log (docs/changes.md).
struct log_change {
  std::string log;         ///< its name without what rotation adds, raw bytes
  std::int64_t start = 0;  ///< nanoseconds since 1970-01-01 UTC; of windows of lines the number of lines before it
  std::int64_t end = 0;    ///< after its last window
  double evidence = 0;
  std::vector<log_difference> differences{};  ///< what is more, then what is less, by evidence
  std::string input{};                        ///< that has the first line concerned, raw bytes; empty: there is none
  std::uint64_t line = 0;                     ///< its number, from 1
  std::string text{};                         ///< its first 400 bytes, raw
};

/// A condition of unit_options, and the units for which it holds. For others, an earlier one may hold, too: those for
/// which it is the first add up to all that are selected.
struct unit_rule {
  std::string name;
  std::string condition;
  std::uint64_t units = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first_units = 0;
  std::uint64_t first_bytes = 0;
};

/// A step of unit_options::rewrite, and what it removed from the texts of all units.
struct rewriting_step {
  std::string name;
  std::string step;         ///< as typed
  std::uint64_t lines = 0;  ///< of texts: removed or changed
  std::uint64_t bytes = 0;  ///< removed
};

/// The units of all inputs: of a run, or of a counter so far (results::units()).
struct unit_summary {
  std::uint64_t seen = 0;
  std::uint64_t bytes = 0;     ///< of all units
  std::uint64_t selected = 0;  ///< by unit_options::where or rules, or dropped because of unit_options::without_field
  std::uint64_t selected_bytes = 0;
  /// With a filter, or several rules: `where`, then unit_options::rules, then "without-field", the lines that are
  /// dropped or kept whatever the conditions.
  std::vector<unit_rule> rules{};
  std::vector<rewriting_step> rewriting{};  ///< unit_options::rewrite
  std::vector<ranked_unit> top{};  ///< the highest value first; equal values in the order of the inputs and units
  std::vector<value_range> distribution{};  ///< ranges with units, lowest first
  std::vector<quantile> quantiles{};        ///< unit_options::quantiles of the distribution, if a value is known
  std::uint64_t without_value = 0;          ///< units for which the formula of the distribution has no value
  std::optional<double> sum{};              ///< of the values, as that of value_summary
  std::optional<double> mean{};             ///< of the values; absent if the sum is
  std::uint64_t without_field = 0;  ///< lines without unit_options::jsonl_field, except blank ones; absent values
  std::uint64_t unverified = 0;     ///< with a filter and file_options::skip_damage: dropped because of damage
  std::uint64_t unverified_bytes = 0;
  // With unit_options::duplicates: bytes of texts, without delimiters; of the values of unit_options::jsonl_field.
  std::uint64_t distinct = 0;  ///< different texts
  std::uint64_t distinct_bytes = 0;
  std::uint64_t duplicates = 0;  ///< units with the text of an earlier one
  std::uint64_t duplicate_bytes = 0;
  std::optional<line_summary> lines{};  ///< nothing: nothing was read of lines
  std::vector<log_change> changes{};    ///< unit_options::changes: the strongest evidence first
};

/// Rewrites texts as unit_options::rewrite does, for values that are then fed. One thread at a time.
class GPUHIST_API text_rewriter {
 public:
  /// Throws errc::invalid_argument.
  explicit text_rewriter(const std::vector<std::string>& steps);
  text_rewriter(text_rewriter&&) noexcept;
  text_rewriter& operator=(text_rewriter&&) noexcept;
  text_rewriter(const text_rewriter&) = delete;
  text_rewriter& operator=(const text_rewriter&) = delete;
  ~text_rewriter();

  /// In UTF-8: malformed sequences of `text` become U+FFFD. Throws errc::invalid_argument for 2 GiB or more.
  [[nodiscard]] std::string rewrite(std::string_view text);

  /// The steps, and what each has removed.
  [[nodiscard]] std::vector<rewriting_step> steps() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gpuhist
