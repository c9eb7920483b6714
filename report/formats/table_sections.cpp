#include "report/formats/table_sections.hpp"

#include "report/formats/input_table.hpp"
#include "report/formats/report_groups.hpp"
#include "report/formats/text.hpp"
#include "report/formats/text_table.hpp"
#include "report/measures/pair_measures.hpp"
#include "report/measures/previous_baseline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report {
namespace {

constexpr std::size_t narrowest_name = 4;
constexpr std::size_t widest_name = 16;
constexpr std::size_t widest_cell = 8;
constexpr std::size_t narrowest_number = 4;  // a gap, and up to 100

/// How much of its row a pair has: 0 (none) to 5.
std::size_t level_of(double share) {
  constexpr std::array bounds = {0.0, 0.02, 0.05, 0.15, 0.4};
  return static_cast<std::size_t>(std::ranges::count_if(bounds, [&](double bound) { return share > bound; }));
}

std::string shade(std::size_t level, bool unicode) {
  constexpr std::array<std::string_view, 6> blocks = {" ", "\u00b7", "\u2591", "\u2592", "\u2593", "\u2588"};
  constexpr std::array<std::string_view, 6> characters = {" ", ".", ":", "+", "*", "#"};
  return std::string(unicode ? blocks[level] : characters[level]);
}

std::string on_background(std::string text, std::size_t level) {
  constexpr std::array<std::string_view, 6> blues = {"", "17", "18", "19", "20", "21"};
  if (level == 0) return text;
  return "\x1b[97;48;5;" + std::string(blues[level]) + "m" + std::move(text) + "\x1b[0m";
}

/// The first columns of a name.
std::string cut_to_width(const std::string& name, std::size_t width) {
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t length = std::max<std::size_t>(1, utf8_sequence(std::string_view(name).substr(at)));
    if (columns(text + name.substr(at, length)) > width) break;
    text += name.substr(at, length);
    at += length;
  }
  return text;
}

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string spaces(width - std::min(width, columns(text)), ' ');
  return to_the_right ? spaces + text : text + spaces;
}

/// The heat map of the buckets that occur. A cell is the share of the pairs of its row.
class heat_map {
 public:
  heat_map(const pipeline::scheme_view& view, const pipeline::pair_matrix& pairs, const render_target& target)
      : view_(view), pairs_(pairs), target_(target), of_first_(pairs.buckets) {
    std::vector<bool> occurs(pairs.buckets);
    for (std::size_t i = 0; i < pairs.counts.size(); ++i) {
      of_first_[i / pairs.buckets] += static_cast<double>(pairs.counts[i]);
      if (pairs.counts[i] > 0) occurs[i / pairs.buckets] = occurs[i % pairs.buckets] = true;
    }
    for (std::size_t i = 0; i < pairs.buckets; ++i) {
      if (!occurs[i]) continue;
      shown_.push_back(i);
      name_ = std::max(name_, std::min(columns(printable(view.scheme.buckets[i])), widest_name));
    }
    if (shown_.size() + name_ > target.width) {
      name_ = std::max(narrowest_name, target.width - std::min<std::size_t>(target.width, shown_.size()));
    }
    const std::size_t room = target.width - std::min<std::size_t>(target.width, name_);
    cell_ = shown_.empty() ? 0 : std::min(room / shown_.size(), widest_cell);
  }

  [[nodiscard]] std::string text() const {
    if (shown_.empty()) return "";
    if (cell_ == 0) return "(the heat map of " + std::to_string(shown_.size()) + " buckets needs a wider terminal)\n";
    std::string heading(name_, ' ');
    for (const std::size_t second : shown_) heading += column_heading(second);
    std::string out = painted(heading, ink::heading, target_.color) + "\n";
    for (const std::size_t first : shown_) out += line_of(first) + "\n";
    return out;
  }

  /// "% of the bytes after FIRST" or shades.
  [[nodiscard]] bool has_numbers() const { return cell_ >= narrowest_number; }

 private:
  [[nodiscard]] std::string column_heading(std::size_t second) const {
    const std::string name = printable(view_.scheme.buckets[second]);
    return padded(cut_to_width(name, cell_ > 1 ? cell_ - 1 : 1), cell_, true);
  }

  [[nodiscard]] std::string line_of(std::size_t first) const {
    std::string line = padded(cut_to_width(printable(view_.scheme.buckets[first]), name_), name_, false);
    for (const std::size_t second : shown_) line += cell_of(first, second);
    if (!target_.color) line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

  [[nodiscard]] std::string cell_of(std::size_t first, std::size_t second) const {
    const std::uint64_t count = pairs_.at(first, second);
    const double share = count == 0 ? 0 : static_cast<double>(count) / of_first_[first];
    const std::size_t level = level_of(share);
    if (has_numbers()) {
      const std::string number = padded(count == 0 ? "" : share < 0.005 ? "<1" : fixed(100 * share, 0), cell_, true);
      return target_.color ? on_background(number, level) : number;
    }
    if (target_.color) return on_background(std::string(cell_, ' '), level);
    std::string out;
    for (std::size_t i = 0; i < cell_; ++i) out += shade(level, target_.unicode);
    return out;
  }

  const pipeline::scheme_view& view_;
  const pipeline::pair_matrix& pairs_;
  const render_target& target_;
  std::vector<double> of_first_;  // pairs by the bucket of their first byte
  std::vector<std::size_t> shown_;
  std::size_t name_ = narrowest_name;  // columns
  std::size_t cell_ = 0;               // columns; 0: there is no room
};

std::string surprising_lines(const pipeline::scheme_view& view, const pipeline::pair_matrix& pairs,
                             const render_target& target) {
  std::vector<table_row> rows;
  for (const measures::surprising_pair& each : measures::most_surprising(pairs)) {
    rows.push_back({printable(view.scheme.buckets[each.first]) + " > " + printable(view.scheme.buckets[each.second]),
                    grouped(each.count), measure_text(each.expected)});
  }
  if (rows.empty()) return "";
  const text_table table({{"pair", false}, {"count"}, {"if independent", true, 1}}, rows, target.width);
  return table_lines(table, rows, target.color);
}

// UTF-8.

constexpr std::uint64_t shown_from = 1000;  // one of so many code points

std::vector<std::pair<std::uint64_t, std::string_view>> frequent_scripts(const gpu::host::utf8_counts& counts) {
  std::vector<std::pair<std::uint64_t, std::string_view>> found;
  for (std::size_t i = 0; i < counts.scripts.size(); ++i) {
    const std::uint64_t number = counts.scripts[i];
    if (number > 0 && number >= (counts.code_points + shown_from - 1) / shown_from)
      found.emplace_back(number, gpu::host::script_names()[i]);
  }
  std::ranges::sort(
      found, [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  return found;
}

// "first malformed: a.log, line 3, offset 17"
std::string place_of_first(const run_report& content) {
  for (const pipeline::input_report& each : content.inputs) {
    if (!each.utf8 || !each.utf8->first_malformed) continue;
    return "first malformed: " + printable(each.name) + ", line " +
           grouped(each.utf8->first_malformed_line.value_or(1)) + ", offset " + grouped(*each.utf8->first_malformed) +
           "\n";
  }
  return "";
}

// Units.

constexpr std::size_t max_bins = 24;

std::string totals_lines(const units::unit_result& found, const render_target& target) {
  const units::unit_totals& totals = found.totals;
  std::vector<table_row> rows;
  for (const units::unit_number& each : units::unit_numbers) {
    if (!each.is_in(found)) continue;
    const std::uint64_t number = totals.*each.units;
    const bool has_bytes = each.bytes != nullptr;
    rows.push_back({std::string(each.words), grouped(number), has_bytes ? grouped(totals.*each.bytes) : "",
                    has_bytes && each.is_subset() ? share_of(number, totals.seen) : ""});
  }
  const std::string measured = found.field ? ", field " + printable(*found.field) : "";
  const text_table table({{"each " + found.each + measured, false}, {"units"}, {"bytes"}, {"share", true, 1}}, rows,
                         target.width);
  return table_lines(table, rows, target.color) + "\n";
}

}  // namespace

namespace {

std::string rule_table(const std::string& heading, const std::vector<units::rule_result>& rules,
                       std::span<const units::rule_number> numbers, const render_target& target) {
  std::vector<table_row> rows;
  for (const units::rule_result& each : rules) {
    rows.push_back({printable(each.name)});
    for (const units::rule_number& number : numbers) rows.back().push_back(grouped(each.found.*number.value));
  }
  std::vector<table_column> columns = {{heading, false}};
  for (const units::rule_number& number : numbers) columns.push_back({std::string(number.words)});
  const text_table table(columns, rows, target.width);
  return table_lines(table, rows, target.color);
}

}  // namespace

std::string rule_lines(const units::unit_result& found, const render_target& target) {
  std::string text;
  if (!found.steps.empty()) text += rule_table("rewriting", found.steps, units::step_numbers, target);
  if (found.rules.size() > 1) text += rule_table("rule", found.rules, units::rule_numbers, target);
  return text;
}

namespace {

std::string line_of(const units::unit_place& place) { return place.line > 0 ? grouped(place.line) : "-"; }

std::string top_lines(const units::unit_result& found, const render_target& target) {
  std::vector<table_row> rows;
  for (const units::ranked_unit& each : found.top) {
    const units::unit_place& place = each.unit.place;
    rows.push_back({printable(*each.unit.input), line_of(place), grouped(place.offset), grouped(place.bytes),
                    measure_text(each.value)});
  }
  const text_table table(
      {{"top", false}, {"line"}, {"offset", true, 2}, {"bytes", true, 1}, {printable(*found.ranked_by)}}, rows,
      target.width);
  std::string text = painted(table.heading(), ink::heading, target.color) + "\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += table.line(rows[i]) + "\n";
    if (found.top[i].unit.text) text += cut_end("    " + printable(*found.top[i].unit.text), text_width(target)) + "\n";
  }
  return text + "\n";
}

using bin_list = std::vector<units::distribution_bin>;

// Joins bins in pairs, those without a gap between them only, unless `across_gaps`.
bin_list joined_once(const bin_list& bins, bool across_gaps) {
  bin_list wider;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    wider.push_back(bins[i]);
    if (i + 1 == bins.size() || (!across_gaps && bins[i].to != bins[i + 1].from)) continue;
    ++i;
    wider.back().to = bins[i].to;
    wider.back().units += bins[i].units;
  }
  return wider;
}

// Joins bins until there are few enough rows. Gaps between values remain visible if possible: thresholds lie there.
bin_list joined(bin_list bins) {
  while (bins.size() > max_bins) {
    bin_list wider = joined_once(bins, false);
    if (wider.size() == bins.size()) wider = joined_once(bins, true);
    bins = std::move(wider);
  }
  return bins;
}

std::string distribution_lines(const units::unit_result& found, const render_target& target) {
  const units::distribution& values = found.values;
  std::vector<bar_row> rows;
  row_widths widths;
  for (const units::distribution_bin& each : joined(values.bins())) {
    rows.push_back(
        {{measure_text(each.from), measure_text(each.to), grouped(each.units), share_of(each.units, values.known())},
         each.units});
    widths.add(rows.back().cells);
  }
  const text_table table({{"from"}, {"to below"}, {"units"}, {"share", true, 1}}, widths, target.width);
  std::string text = "distribution of " + printable(*found.distribution_of) + "\n";
  text += bar_lines(table, rows, target.unicode, target.color);
  if (values.known() > 0) {
    const units::value_summary all = values.summary({});
    text += "lowest " + measure_text(values.lowest()) + ", highest " + measure_text(values.highest());
    if (all.mean()) text += ", mean " + measure_text(*all.mean()) + ", sum " + measure_text(*all.total());
    text += "\n";
  }
  std::string_view separator;
  for (const units::distribution_quantile& each : found.quantiles) {
    text.append(std::exchange(separator, ", ")) += "p" + shortest(each.percent) + " " + measure_text(each.value);
  }
  if (!found.quantiles.empty()) text += "\n";
  if (values.unknown() > 0)
    text += number_of(values.unknown(), "unit") + (values.unknown() == 1 ? " has no value\n" : " have no value\n");
  return text + "\n";
}

// Groups of lines.

constexpr std::size_t shown_groups = 20;
constexpr std::size_t shown_windows = 60;

std::string match_lines(const units::group_counts& all, const render_target& target) {
  std::vector<bar_row> rows;
  row_widths widths;
  const auto add = [&](std::string name, std::uint64_t lines, std::uint64_t bytes) {
    rows.push_back({{std::move(name), grouped(lines), grouped(bytes), share_of(lines, all.lines)}, lines});
    widths.add(rows.back().cells);
  };
  for (const units::match_count& each : all.matches) add(printable(each.name), each.lines, each.bytes);
  add("(unmatched)", all.unmatched, all.unmatched_bytes);
  const text_table table({{"match", false}, {"lines"}, {"bytes", true, 2}, {"share", true, 1}}, widths, target.width);
  return bar_lines(table, rows, target.unicode, target.color) + "\n";
}

double fact_of(const units::group_counts& of, const units::group_result& within, const gates::line_fact& fact) {
  if (fact.is_of_values()) {
    const auto at = static_cast<std::size_t>(std::ranges::find(within.formulas, fact.of) - within.formulas.begin());
    return at < of.values.size() ? units::number_of_values(fact, of.values[at]).value_or(gates::unknown)
                                 : gates::unknown;
  }
  const auto found = std::ranges::find(of.matches, fact.of, &units::match_count::name);
  return found == of.matches.end() ? gates::unknown : static_cast<double>(found->lines);
}

// The columns of a table of groups: those that were asked for, or lines, bytes, share, matches and measures.
class group_columns {
 public:
  // Borrows all of them.
  group_columns(const run_report& content, const units::group_result& found, const input_listing& listing)
      : content_(content), found_(found), all_(found.all), listing_(listing) {
    for (const units::keyed_group& each : found.groups) note_values(each.of);
    for (const units::event_window& each : found.windows) note_values(each.of);
  }

  [[nodiscard]] std::vector<table_column> headings(std::string first) const {
    std::vector<table_column> made = {{.heading = std::move(first), .to_the_right = false}};
    for (const input_column& each : listing_.columns) made.push_back({.heading = each.heading()});
    if (!listing_.columns.empty()) return made;
    made.insert(made.end(), {{found_.counts_characters() ? "count" : "lines"}, {"bytes", true, 3}, {"share", true, 1}});
    for (const units::match_count& each : all_.matches) made.push_back({printable(each.name), true, 4});
    for (const measures::measure* const each : content_.measuring.asked)
      made.push_back({std::string(each->name), true, 2});
    if (!has_values_) return made;
    made.push_back({"mean", true, 2});
    for (const double each : percents_) made.push_back({"p" + shortest(each), true, 2});
    return made;
  }

  // `mark`: after the number of lines. `baseline`: of a window; null: that of the report.
  [[nodiscard]] table_row cells(std::string name, const units::group_counts& of, std::string_view mark,
                                const measures::byte_counts* baseline) const {
    table_row made = {std::move(name)};
    for (const input_column& each : listing_.columns) made.push_back(cell(each, of, mark, baseline));
    if (!listing_.columns.empty()) return made;
    made.insert(made.end(), {grouped(of.lines) + std::string(mark), grouped(of.bytes), share_of(of.lines, all_.lines)});
    for (const units::match_count& each : of.matches) made.push_back(grouped(each.lines));
    if (!content_.measuring.asked.empty()) {
      for (const measures::measurement& each :
           measures::take_measures(content_.measuring, measures::counts_of(of.counts), baseline)) {
        made.push_back(text_of(each.found.value));
      }
    }
    add_values(made, of);
    return made;
  }

  [[nodiscard]] std::optional<double> value(const gates::formula& of_group, const units::group_counts& of,
                                            const measures::byte_counts* baseline) const {
    std::vector<double> facts;
    for (const gates::line_fact& each : listing_.facts) facts.push_back(fact_of(of, found_, each));
    return of_group.value({.counts = of.counts,
                           .partition = content_.partition,
                           .baseline = baseline != nullptr ? baseline : content_.measuring.baseline.get(),
                           .lines = of.lines,
                           .facts = facts});
  }

 private:
  [[nodiscard]] std::string cell(const input_column& column, const units::group_counts& of, std::string_view mark,
                                 const measures::byte_counts* baseline) const {
    using kind = input_column::kind;
    switch (column.type) {
      case kind::bytes:
        return grouped(of.bytes);
      case kind::lines:
        return grouped(of.lines) + std::string(mark);
      case kind::share:
        return share_of(of.lines, all_.lines);
      case kind::mostly:
        return of.bytes == 0 ? "-" : most_of(content_, of.counts);
      case kind::formula:
        break;
    }
    return text_of(value(*column.formula, of, baseline));
  }

  static std::string text_of(const std::optional<double>& value) { return value ? measure_text(*value) : "-"; }

  void note_values(const units::group_counts& of) {
    const units::value_summary* const values = found_.distribution_in(of);
    if (values == nullptr) return;
    has_values_ = true;
    if (!percents_.empty()) return;
    for (const units::distribution_quantile& each : values->quantiles) percents_.push_back(each.percent);
  }

  void add_values(table_row& to, const units::group_counts& of) const {
    if (!has_values_) return;
    const units::value_summary none;
    const units::value_summary* const found = found_.distribution_in(of);
    const units::value_summary& values = found != nullptr ? *found : none;
    to.push_back(text_of(values.mean()));
    for (const double each : percents_) to.push_back(text_of(values.quantile(each)));
  }

  const run_report& content_;
  const units::group_result& found_;
  const units::group_counts& all_;
  bool has_values_ = false;       // of the distribution
  std::vector<double> percents_;  // of its quantiles
  const input_listing& listing_;
};

// When the lines of each group were written, from the first window to the last one: the rows of a heat map.
class group_times {
 public:
  // Borrows it.
  explicit group_times(const units::group_result& found) : windows_(found.windows) {
    if (!are_known()) return;
    begin_ = static_cast<double>(windows_.front().start);
    length_ = static_cast<double>(windows_.back().start) - begin_ + static_cast<double>(found.window);
    columns_ = static_cast<std::size_t>(std::min(most_columns, length_ / static_cast<double>(found.window)));
  }

  [[nodiscard]] bool are_known() const { return windows_.size() > 1 && !windows_.front().lines_by_key.empty(); }

  // `group`: its index in the result. The highest column is the one with most of its lines.
  [[nodiscard]] std::string row(std::size_t group, bool unicode) const {
    std::vector<double> lines(columns_);
    for (const units::event_window& each : windows_) {
      constexpr double rounding = 1e-6;
      const double at = (static_cast<double>(each.start) - begin_) / length_ * static_cast<double>(columns_) + rounding;
      lines[std::min(columns_ - 1, static_cast<std::size_t>(at))] += static_cast<double>(each.lines_by_key[group]);
    }
    const double most = std::ranges::max(lines);
    for (double& each : lines) each /= std::max(1.0, most);
    return sparkline(lines, columns_, unicode);
  }

 private:
  static constexpr double most_columns = 24;

  const std::vector<units::event_window>& windows_;
  double begin_ = 0;  // nanoseconds
  double length_ = 0;
  std::size_t columns_ = 0;
};

// A table of groups with their bars.
class group_rows {
 public:
  group_rows(std::string heading, const group_columns& columns)
      : columns_(columns), headings_(columns.headings(std::move(heading))) {}

  // Rows that are added have a cell more.
  void add_column(std::string heading) {
    headings_.push_back({.heading = std::move(heading), .to_the_right = false, .dispensable = 5});
  }

  // `last`: the cell of add_column().
  void add(std::string name, const units::group_counts& of, std::string_view mark = "",
           const measures::byte_counts* baseline = nullptr, std::string last = "") {
    table_row cells = columns_.cells(std::move(name), of, mark, baseline);
    cells.push_back(std::move(last));
    add_row(std::move(cells), of.lines);
  }

  // Without a bar.
  void add_last(std::string_view name, const std::optional<units::group_counts>& of) {
    if (of) add_row(columns_.cells(std::string(name), *of, "", nullptr), 0);
  }

  [[nodiscard]] std::string lines(const render_target& target) const {
    return bar_lines(text_table(headings_, widths_, target.width), rows_, target.unicode, target.color);
  }

 private:
  void add_row(table_row cells, std::uint64_t bar) {
    cells.resize(headings_.size());
    widths_.add(cells);
    rows_.push_back({std::move(cells), bar});
  }

  const group_columns& columns_;
  std::vector<table_column> headings_;
  std::vector<bar_row> rows_;
  row_widths widths_;
};

// The reported groups in the order of the table: that of the result or, with --sort, the highest value first.
std::vector<const units::keyed_group*> groups_in_order(const units::group_result& found, const group_columns& columns,
                                                       const input_listing& listing) {
  struct ranked_group {
    std::optional<double> value;
    std::size_t number = 0;
  };
  std::vector<ranked_group> ranked;
  for (const units::keyed_group& each : found.groups) {
    ranked.push_back({.value = listing.order ? columns.value(*listing.order, each.of, nullptr) : std::nullopt,
                      .number = ranked.size()});
  }
  std::ranges::sort(ranked, [](const ranked_group& a, const ranked_group& b) {
    return a.value != b.value ? b.value < a.value : a.number < b.number;  // no value is less than any
  });
  std::vector<const units::keyed_group*> made;
  for (const ranked_group& each : ranked) made.push_back(&found.groups[each.number]);
  return made;
}

// "... and 7 groups more". `shown`: the rows.
std::string remaining_groups(const units::group_result& found, std::span<const units::keyed_group* const> shown) {
  std::string text;
  if (found.number_of_groups > shown.size()) {
    text += std::string("... and ") + (found.number_is_least ? "at least " : "") +
            (found.number_error ? "about " : "") + number_of(found.number_of_groups - shown.size(), "group") + " more";
    text += found.groups.size() > shown.size() ? " (--top all shows " + grouped(found.groups.size()) + ")\n" : "\n";
  }
  if (std::ranges::any_of(shown, [](const units::keyed_group* each) { return each->lines_at_most.has_value(); }))
    text += "+: at least so many lines; more may be among the other groups\n";
  return text;
}

const input_listing& listing_of(const render_target& target) {
  static const input_listing usual;
  return target.sections.listing != nullptr ? *target.sections.listing : usual;
}

std::string key_lines(const run_report& content, const units::group_result& found, const render_target& target) {
  const auto joined = [&](const std::string& key, const std::string& then) {
    return printable(key) + (found.then_by ? ", " + printable(then) : "");
  };
  const input_listing& listing = listing_of(target);
  const group_columns columns(content, found, listing);
  group_rows rows(joined(*found.by, found.then_by.value_or("")), columns);
  std::vector<const units::keyed_group*> groups = groups_in_order(found, columns, listing);
  groups.resize(static_cast<std::size_t>(std::min<std::uint64_t>(groups.size(), listing.top.value_or(shown_groups))));
  const group_times times(found);
  const bool has_times = times.are_known() && listing.columns.empty();
  if (has_times) rows.add_column("over time");
  for (const units::keyed_group* const each : groups) {
    const auto group = static_cast<std::size_t>(each - found.groups.data());
    rows.add(joined(each->key, each->then), each->of, each->lines_at_most ? "+" : "", nullptr,
             has_times ? times.row(group, target.unicode) : "");
  }
  rows.add_last("(without key)", found.without_key);
  return rows.lines(target) + remaining_groups(found, groups) + "\n";
}

// Joins neighbouring windows until there are few enough rows.
std::vector<units::event_window> joined_windows(const units::group_result& found, std::int64_t& length) {
  std::vector<units::event_window> joined = found.windows;
  for (length = found.window; joined.size() > shown_windows;) {
    length *= 2;
    std::vector<units::event_window> wider;
    for (units::event_window& each : joined) {
      const std::int64_t start = each.start - ((each.start % length) + length) % length;
      if (wider.empty() || wider.back().start != start) {
        wider.push_back(std::move(each));
        wider.back().start = start;
      } else {
        units::add(wider.back().of, each.of);
      }
    }
    joined = std::move(wider);
  }
  return joined;
}

std::string window_lines(const run_report& content, const units::group_result& found, const render_target& target) {
  std::int64_t length = 0;
  const std::vector<units::event_window> shown = joined_windows(found, length);
  const group_columns columns(content, found, listing_of(target));
  group_rows rows("event time", columns);
  std::optional<measures::previous_baseline> previous;
  if (content.measuring.previous_windows) previous.emplace(*content.measuring.previous_windows);
  for (const units::event_window& each : shown) {
    rows.add(utc_text(each.start), each.of, "", previous ? previous->get() : nullptr);
    if (previous) previous->close(measures::counts_of(each.of.counts));
  }
  rows.add_last("(without time)", found.without_time);
  rows.add_last("(implausible time)", found.implausible_time);
  rows.add_last("(late)", found.late);
  std::string text = rows.lines(target);
  if (length > found.window) {
    text += "each row has " + grouped(static_cast<std::uint64_t>(length / found.window)) +
            " windows; --format json has all " + grouped(found.windows.size()) + "\n";
  }
  return text + "\n";
}

std::string group_lines(const run_report& content, const units::group_result& found, const render_target& target) {
  std::string text;
  if (!found.all.matches.empty()) text += match_lines(found.all, target);
  if (found.window > 0) text += window_lines(content, found, target);
  if (found.by) text += key_lines(content, found, target);
  return text;
}

void append_bytes(std::string& to, std::uint64_t number) {
  append_number(to, number);
  to += number == 1 ? " byte" : " bytes";
}

class unit_text_form final : public units::unit_renderer {
 public:
  [[nodiscard]] std::string beginning_of(const std::string& input) const override { return printable(input) + ":"; }

  void add_place(const units::unit_place& place, std::string& to) const override {
    if (place.line > 0) {
      append_number(to, place.line);
      to += ':';
    }
    to += " offset ";
    append_number(to, place.offset);
  }

  void add_end(const units::unit_record& found, std::string& to) const override {
    to += ", ";
    append_bytes(to, found.place.bytes);
    if (found.field) {
      to += ", field ";
      append_bytes(to, found.field->bytes.value_or(0));
    }
    for (const gates::named_value& each : found.values) {
      to += ", " + printable(each.name) + " " + (each.value ? measure_text(*each.value) : "unknown");
    }
    if (found.text) to += ": " + printable(*found.text);
    to += '\n';
  }
};

}  // namespace

std::string pair_lines(const pipeline::scheme_view& view, const gpu::tally& counts, const render_target& target) {
  if (!view.has_pairs()) return "";
  const pipeline::pair_matrix pairs = view.fold_pairs(counts);
  const heat_map map(view, pairs, target);
  const std::string title = number_of(measures::pairs_in(pairs), "pair") + ", " + printable(view.scheme.name);
  std::string text = cut_to(title, std::max<std::size_t>(target.width, 3)) + "\n";
  const measures::finding bits = measures::conditional_entropy(pairs);
  if (!bits.value) return text + "\n";
  text += "conditional entropy " + measure_text(*bits.value) + " bits\n";
  const std::string legend = std::string("first byte in rows, second in columns") +
                             (map.has_numbers() ? ", in % of the row" : ", shades by % of the row");
  if (columns(legend) <= target.width) text += legend + "\n";
  return text + map.text() + surprising_lines(view, pairs, target) + "\n";
}

std::string utf8_lines(const run_report& content, const render_target& target) {
  if (!content.utf8) return "";
  const gpu::host::utf8_counts& counts = content.utf8->counts;
  std::vector<table_row> rows;
  for (const pipeline::utf8_number& each : pipeline::utf8_numbers) {
    if (!each.words.empty()) rows.push_back({std::string(each.words), grouped(counts.*each.value), ""});
  }
  for (const auto& [number, name] : frequent_scripts(counts)) {
    rows.push_back({std::string(name), grouped(number), share_of(number, counts.code_points)});
  }
  const text_table table({{"utf-8", false}, {"count"}, {"share", true, 1}}, rows, target.width);
  std::string text = table_lines(table, rows, target.color);
  if (counts.malformed > 0) text += place_of_first(content);
  return text + "\n";
}

std::string unit_lines(const run_report& content, const render_target& target) {
  const units::unit_result& found = *content.units;
  std::string text = totals_lines(found, target);
  if (const std::string rules = rule_lines(found, target); !rules.empty()) text += rules + "\n";
  if (found.ranked_by) text += top_lines(found, target);
  if (found.distribution_of) text += distribution_lines(found, target);
  if (found.groups) text += group_lines(content, *found.groups, target);
  return text;
}

std::unique_ptr<const units::unit_renderer> unit_text_lines(const run_report& /*frame*/, std::string_view /*run*/) {
  return std::make_unique<const unit_text_form>();
}

}  // namespace gpuhist::report
