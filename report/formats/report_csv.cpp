// The report as comma-separated values (RFC 4180, but lines end in LF, as other tools of the system expect):
// kind,input,scheme,bucket,count,share.
//
// Kinds of a result are `total`, `input` and `unverified` (with the name of an input, or without for the total); of a
// snapshot `snapshot` and `provisional`. Rows without a scheme have bytes, lines, complete (0 or 1) and, if unverified
// bytes are among the counts, counted_unverified. A share refers to the bytes of the row's own total, input or
// unverified part, from 0 to 1; it is empty without a scheme, and if there are no bytes. Rows of kind `measure` have
// the measure in `bucket`, the size of the sample in `count`, and the value, if there is one, in `share`. Rows of kind
// `pair` have two buckets in `bucket`, separated by '>', the number of such pairs in `count`, and their share of all
// pairs; pairs that do not occur have no row. The measure conditional_entropy has its scheme in `scheme` and the number
// of pairs in `count`. Rows of kind `error` have the cause why an input is incomplete in `bucket`. Rows of kind
// `notice` have the kind in `scheme` and the text in `bucket`. Rows of kind
// `skipped` have the cause in `bucket` and the number of names in `count`. Rows of kind `units` have what is measured
// in `scheme`, of kind `top` the formula in `scheme`, the number of the unit in `bucket`, its offset in `count` and its
// value in `share`, of kind `distribution` the bounds in `bucket` and the number of units in `count`. Rows of kind
// `match`, `group` and `event_window` have the expression, the key or the start of the window in `input`, and then rows
// as those of an input, and `measure` in `scheme` for their measures; the share of lines refers to all lines; if it is
// not exact, `lines_at_most` follows. Rows of kind `change` have the log in `input`, what
// differs in `scheme`, its name in `bucket`, its lines in `count` and the level in the changed stretch in `share`. Rows
// of kind `utf8` have the name of a number in `bucket`; of a script, `script` in `scheme` and the share of all code
// points. They are rows and not a column, so that reports can be appended to a file that an earlier version wrote.
#include "report/formats/report.hpp"
#include "report/formats/report_changes.hpp"
#include "report/formats/report_groups.hpp"
#include "report/formats/text.hpp"
#include "report/measures/pair_measures.hpp"
#include "report/measures/previous_baseline.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace gpuhist::report {
namespace {

/// Identifies the counts of a row.
struct row_owner {
  std::string_view kind;
  std::string_view input;
};

std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

std::string share_of_all(std::uint64_t count, std::uint64_t all) {
  if (all == 0) return "";
  return shortest(static_cast<double>(count) / static_cast<double>(all));
}

void add_row(std::string& out, const row_owner& owner, std::string_view scheme, std::string_view bucket,
             std::uint64_t count, std::string_view share = "") {
  for (const std::string_view each : {owner.kind, owner.input, scheme, bucket}) out += field(each) + ",";
  out += std::to_string(count) + ",";
  out.append(share) += '\n';
}

void add_buckets(std::string& out, const run_report& content, const row_owner& owner, const gpu::tally& counts) {
  const std::uint64_t all = counts.bytes();
  for (const pipeline::scheme_view& view : content.schemes) {
    const std::vector<std::uint64_t> folded = view.fold(counts);
    for (std::size_t i = 0; i < folded.size(); ++i) {
      add_row(out, owner, view.scheme.name, view.scheme.buckets[i], folded[i], share_of_all(folded[i], all));
    }
  }
}

void add_sizes(std::string& out, const run_report& content, const row_owner& owner, const gpu::tally& counts) {
  add_row(out, owner, "", "bytes", counts.bytes());
  add_row(out, owner, "", "lines", pipeline::lines_in(counts, content.partition));
}

void add_measures(std::string& out, const run_report& content, std::string_view input, const gpu::tally& counts) {
  for (const measures::measurement& each : measurements_of(content, counts)) {
    add_row(out, {.kind = "measure", .input = input}, "", each.definition->name, each.sample_size,
            each.found.value ? shortest(*each.found.value) : "");
  }
}

/// --utf8 of the totals or of an input.
void add_utf8_rows(std::string& out, std::string_view input, const std::optional<pipeline::utf8_report>& found) {
  if (!found) return;
  const row_owner owner{.kind = "utf8", .input = input};
  const gpu::host::utf8_counts& counts = found->counts;
  for (const pipeline::utf8_number& each : pipeline::utf8_numbers)
    add_row(out, owner, "", each.name, counts.*each.value);
  if (found->first_malformed) add_row(out, owner, "", "first_malformed", *found->first_malformed);
  if (found->first_malformed_line) add_row(out, owner, "", "first_malformed_line", *found->first_malformed_line);
  for (std::size_t i = 0; i < counts.scripts.size(); ++i) {
    add_row(out, owner, "script", gpu::host::script_names()[i], counts.scripts[i],
            share_of_all(counts.scripts[i], counts.code_points));
  }
}

/// Pairs of the totals or of an input.
void add_pairs(std::string& out, const run_report& content, std::string_view input, const gpu::tally& counts) {
  for (const pipeline::scheme_view& view : content.schemes) {
    if (!view.has_pairs()) continue;
    const pipeline::pair_matrix pairs = view.fold_pairs(counts);
    const std::uint64_t all = measures::pairs_in(pairs);
    for (std::size_t i = 0; i < pairs.counts.size(); ++i) {
      if (pairs.counts[i] == 0) continue;
      const std::string both = view.scheme.buckets[i / pairs.buckets] + ">" + view.scheme.buckets[i % pairs.buckets];
      add_row(out, {.kind = "pair", .input = input}, view.scheme.name, both, pairs.counts[i],
              share_of_all(pairs.counts[i], all));
    }
    const measures::finding bits = measures::conditional_entropy(pairs);
    add_row(out, {.kind = "measure", .input = input}, view.scheme.name, "conditional_entropy", all,
            bits.value ? shortest(*bits.value) : "");
  }
}

void add_error(std::string& out, const row_owner& input, const std::string& error, bool terminal) {
  if (error.empty()) return;
  add_row(out, {.kind = "error", .input = input.input}, "", terminal ? printable(error) : error, 1);
}

void add_notices(std::string& out, const row_owner& input, const std::vector<io::notice>& notices, bool terminal) {
  for (const io::notice& each : notices) {
    add_row(out, {.kind = "notice", .input = input.input}, io::name_of(each.kind),
            terminal ? printable(each.text) : each.text, 1);
  }
}

void add_unverified(std::string& out, const run_report& content, const row_owner& owner, const gpu::tally& counts) {
  if (counts.bytes() == 0) return;
  add_sizes(out, content, owner, counts);
  add_buckets(out, content, owner, counts);
}

/// Sum, mean and quantiles of values, of which `units` are known.
void add_value_rows(std::string& out, const row_owner& owner, std::string_view scheme,
                    const units::value_summary& values) {
  if (values.units == 0) return;
  const std::optional<double> mean = values.mean();
  add_row(out, owner, scheme, "sum", values.units, values.sum.text().value_or(""));
  add_row(out, owner, scheme, "mean", values.units, mean ? shortest(*mean) : "");
  for (const units::distribution_quantile& each : values.quantiles) {
    add_row(out, owner, scheme, "p" + shortest(each.percent), values.units, shortest(each.value));
  }
}

/// Units that were seen and selected, the highest values, and their distribution.
void add_units(std::string& out, const units::unit_result& found) {
  const row_owner owner{.kind = "units", .input = ""};
  const units::unit_totals& totals = found.totals;
  for (const units::unit_number& each : units::unit_numbers) {
    if (!each.is_in(found)) continue;
    const auto share = [&](std::uint64_t number, std::uint64_t all) {
      return each.is_subset() ? share_of_all(number, all) : "";
    };
    add_row(out, owner, found.each, each.name, totals.*each.units, share(totals.*each.units, totals.seen));
    if (each.bytes == nullptr) continue;
    add_row(out, owner, found.each, std::string(each.name) + "_bytes", totals.*each.bytes,
            share(totals.*each.bytes, totals.bytes));
  }
  for (const units::rule_result& each : found.rules) {
    for (const units::rule_number& number : units::rule_numbers) {
      add_row(out, {.kind = "rule", .input = ""}, each.name, number.name, each.found.*number.value);
    }
  }
  for (const units::rule_result& each : found.steps) {
    for (const units::rule_number& number : units::step_numbers) {
      add_row(out, {.kind = "rewrite", .input = ""}, each.name, number.name, each.found.*number.value);
    }
  }
  for (const units::ranked_unit& one : found.top) {
    add_row(out, {.kind = "top", .input = *one.unit.input}, *found.ranked_by, std::to_string(one.unit.place.number),
            one.unit.place.offset, shortest(one.value));
  }
  for (const units::distribution_bin& bin : found.values.bins()) {
    add_row(out, {.kind = "distribution", .input = ""}, *found.distribution_of,
            shortest(bin.from) + ".." + shortest(bin.to), bin.units, share_of_all(bin.units, found.values.known()));
  }
  if (!found.distribution_of) return;
  units::value_summary values = found.values.summary({});
  values.quantiles = found.quantiles;
  add_value_rows(out, {.kind = "quantile", .input = ""}, *found.distribution_of, values);
}

void add_match(std::string& out, std::string_view kind, std::string_view name, std::uint64_t lines, std::uint64_t bytes,
               std::uint64_t all) {
  const row_owner owner{.kind = kind, .input = name};
  add_row(out, owner, "", "bytes", bytes);
  add_row(out, owner, "", "lines", lines, share_of_all(lines, all));
}

/// As those of a group.
void add_match_rows(std::string& out, const row_owner& owner, const units::group_counts& of) {
  for (const units::match_count& each : of.matches)
    add_row(out, owner, "match", each.name, each.lines, share_of_all(each.lines, of.lines));
}

void add_matches_of_input(std::string& out, const run_report& content, const row_owner& owner,
                          const pipeline::input_report& input) {
  if (const auto found = matches_of(content, input)) add_match_rows(out, owner, *found);
}

/// A row for each difference: the log, what differs, its name, lines and the level; and for each log of one side.
void add_change_rows(std::string& out, const run_report& content, const units::change_result& found, bool terminal) {
  for (const units::found_change& change : found.found) {
    const std::string stream = terminal ? printable(change.stream) : change.stream;
    for (const units::found_difference& each : change.differences) {
      add_row(out, {.kind = "change", .input = stream}, series_name(each.of.of), subject_of(content, each),
              each.of.lines, fixed(each.of.inside, 6));
    }
  }
  for (const units::compared_side& side : found.sides) {
    for (const units::lone_log& each : side.only_here) {
      add_row(out, {.kind = "only_here", .input = terminal ? printable(each.name) : each.name}, "",
              terminal ? printable(side.name) : side.name, each.lines);
    }
  }
}

/// The measures of a group or window are rows of its own kind, since a key may be the name of an input.
void add_group_measures(std::string& out, const run_report& content, const row_owner& owner,
                        const units::group_counts& of, const measures::byte_counts* baseline) {
  if (content.measuring.asked.empty()) return;
  for (const measures::measurement& each :
       measures::take_measures(content.measuring, measures::counts_of(of.counts), baseline)) {
    add_row(out, owner, "measure", each.definition->name, each.sample_size,
            each.found.value ? shortest(*each.found.value) : "");
  }
}

/// Lines by match, key and time.
void add_groups(std::string& out, const run_report& content, const units::group_result& found, bool terminal) {
  for (const units::match_count& each : found.all.matches)
    add_match(out, "match", each.name, each.lines, each.bytes, found.all.lines);
  if (!found.all.matches.empty()) {
    add_match(out, "unmatched", "", found.all.unmatched, found.all.unmatched_bytes, found.all.lines);
  }
  const auto add = [&](std::string_view kind, std::string_view name, const units::group_counts& of,
                       std::optional<std::uint64_t> at_most = {}, const measures::byte_counts* baseline = nullptr) {
    const row_owner owner{.kind = kind, .input = name};
    add_row(out, owner, "", "bytes", of.bytes);
    add_row(out, owner, "", "lines", of.lines, share_of_all(of.lines, found.all.lines));
    if (at_most) add_row(out, owner, "", "lines_at_most", *at_most);
    add_match_rows(out, owner, of);
    add_buckets(out, content, owner, of.counts);
    add_group_measures(out, content, owner, of, baseline);
    if (const units::value_summary* const values = found.distribution_in(of)) {
      add_row(out, owner, "distribution", "without_value", values->without_value);
      add_value_rows(out, owner, "distribution", *values);
    }
  };
  const auto add_if = [&](std::string_view kind, std::string_view name, const std::optional<units::group_counts>& of) {
    if (of) add(kind, name, *of);
  };
  for (const units::keyed_group& each : found.groups) {
    const std::string key = found.then_by ? each.key + "\t" + each.then : each.key;
    add("group", terminal ? printable(key) : key, each.of, each.lines_at_most);
  }
  add_if("other_groups", "", found.other_groups);
  if (found.other_group_at_most)
    add_row(out, {.kind = "other_groups", .input = ""}, "", "group_lines_at_most", *found.other_group_at_most);
  add_if("without_key", "", found.without_key);
  std::optional<measures::previous_baseline> previous;
  if (content.measuring.previous_windows) previous.emplace(*content.measuring.previous_windows);
  for (const units::event_window& each : found.windows) {
    add("event_window", utc_text(each.start), each.of, {}, previous ? previous->get() : nullptr);
    if (previous) previous->close(measures::counts_of(each.of.counts));
  }
  add_if("without_time", "", found.without_time);
  add_if("implausible_time", "", found.implausible_time);
  add_if("late", "", found.late);
}

void write_result(const run_report& content, bool terminal, const text_sink& to, std::string out) {
  const row_owner total{.kind = "total", .input = ""};
  add_sizes(out, content, total, content.verified);
  add_row(out, total, "", "complete", content.complete ? 1 : 0);
  if (content.counted_unverified) add_row(out, total, "", "counted_unverified", 1);
  add_buckets(out, content, total, content.verified);
  add_measures(out, content, "", content.verified);
  add_pairs(out, content, "", content.verified);
  add_utf8_rows(out, "", content.utf8);
  add_unverified(out, content, {.kind = "unverified", .input = ""}, content.unverified);
  if (content.units) add_units(out, *content.units);
  if (content.units && content.units->groups) add_groups(out, content, *content.units->groups, terminal);
  if (content.units && content.units->changes) add_change_rows(out, content, *content.units->changes, terminal);
  for (const pipeline::skipped_names& each : content.skipped) {
    add_row(out, {.kind = "skipped", .input = ""}, "", cause_of(each), each.count);
  }
  for (const pipeline::input_report& each : content.inputs) {
    const std::string name = terminal ? printable(each.name) : each.name;
    const row_owner input{.kind = "input", .input = name};
    add_sizes(out, content, input, each.verified);
    add_row(out, input, "", "complete", each.complete ? 1 : 0);
    if (each.counted_unverified) add_row(out, input, "", "counted_unverified", 1);
    add_error(out, input, each.error, terminal);
    add_notices(out, input, each.notices, terminal);
    add_buckets(out, content, input, each.verified);
    add_measures(out, content, name, each.verified);
    add_pairs(out, content, name, each.verified);
    add_utf8_rows(out, name, each.utf8);
    add_matches_of_input(out, content, input, each);
    add_unverified(out, content, {.kind = "unverified", .input = name}, each.unverified);
    to(std::exchange(out, {}));
  }
  to(out);
}

// For inputs only the bytes read so far: the result has their counts.
void write_snapshot(const run_report& content, bool terminal, const text_sink& to, std::string out) {
  const row_owner total{.kind = "snapshot", .input = ""};
  const row_owner provisional{.kind = "provisional", .input = ""};
  add_row(out, total, "", "elapsed_milliseconds",
          static_cast<std::uint64_t>(std::llround(1000 * content.elapsed_seconds)));
  add_sizes(out, content, total, content.verified);
  add_buckets(out, content, total, content.verified);
  add_measures(out, content, "", content.verified);
  add_sizes(out, content, provisional, content.unverified);
  add_buckets(out, content, provisional, content.unverified);
  if (content.units && content.units->groups) add_groups(out, content, *content.units->groups, terminal);
  for (const pipeline::input_report& each : content.inputs) {
    const std::string name = terminal ? printable(each.name) : each.name;
    add_row(out, {.kind = "snapshot", .input = name}, "", "bytes", each.verified.bytes());
    add_row(out, {.kind = "provisional", .input = name}, "", "bytes", each.unverified.bytes());
    to(std::exchange(out, {}));
  }
  to(out);
}

}  // namespace

void render_csv(const run_report& content, const render_target& target, const text_sink& out) {
  const std::string heading = target.first ? "kind,input,scheme,bucket,count,share\n" : "";
  if (content.type == run_report::kind::result) {
    write_result(content, target.terminal, out, heading);
  } else {
    write_snapshot(content, target.terminal, out, heading);
  }
}

}  // namespace gpuhist::report
