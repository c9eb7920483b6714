// The report as a table for people, fitted to the width of the terminal: buckets with shares and bars, one row per
// input, and at the end the totals, the inputs that failed, and notices.
#include "report/formats/input_table.hpp"
#include "report/formats/notice_lines.hpp"
#include "report/formats/report.hpp"
#include "report/formats/report_changes.hpp"
#include "report/formats/table_sections.hpp"
#include "report/formats/text.hpp"
#include "report/formats/text_table.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace gpuhist::report {
namespace {

/// The rows of all schemes and of the totals. They share one layout, so that their numbers are in one column.
struct bucket_tables {
  std::vector<std::vector<bar_row>> schemes;
  std::vector<table_row> totals;
};

/// "0x41 A": a byte value and, if it can be printed, its character.
std::string with_character(const std::string& name, std::size_t byte) {
  if (byte == '\t') return name + " \\t";
  if (byte == '\n') return name + " \\n";
  if (byte == '\r') return name + " \\r";
  if (byte == ' ') return name + " ' '";
  return byte > ' ' && byte < 0x7f ? name + " " + static_cast<char>(byte) : name;
}

std::vector<bar_row> rows_of(const pipeline::scheme_view& view, const gpu::tally& counts) {
  const bool by_byte = view.scheme.name == "bytes";  // of 256 rows, empty ones are left out
  const std::vector<std::uint64_t> folded = view.fold(counts);
  std::vector<bar_row> rows;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    if (by_byte && folded[i] == 0) continue;
    const std::string& name = view.scheme.buckets[i];
    const std::string shown = by_byte ? with_character(name, i) : printable(name);
    rows.push_back({{shown, grouped(folded[i]), share_of(folded[i], counts.bytes())}, folded[i]});
  }
  return rows;
}

std::vector<table_row> totals_of(const run_report& content, const gpu::tally& counts) {
  std::vector<table_row> rows = {{"bytes", grouped(counts.bytes()), ""},
                                 {"lines", grouped(pipeline::lines_in(counts, content.partition)), ""}};
  if (content.type == run_report::kind::result && content.unverified.bytes() > 0) {
    rows.push_back({"unverified", grouped(content.unverified.bytes()), ""});
  }
  return rows;
}

table_row skipped_row(const run_report& content) { return {"skipped", grouped(skipped_in_all(content)), ""}; }

std::string measure_lines(const run_report& content, const gpu::tally& counts, const render_target& target) {
  std::vector<table_row> rows;
  for (const measures::measurement& each : measurements_of(content, counts)) {
    const measures::finding& found = each.found;
    rows.push_back({std::string(each.definition->name), found.value ? measure_text(*found.value) : "-",
                    std::string(found.value ? each.definition->unit : found.reason)});
  }
  if (rows.empty()) return "";
  const text_table table({{"measure", false}, {"value"}, {"", false, 1}}, rows, target.width);
  return table_lines(table, rows, target.color) + "\n";
}

// "skipped  5 (symbolic link: 4, FIFO: 1)": a row of the totals.
std::string skipped_line(const run_report& content, const text_table& frame) {
  if (content.skipped.empty()) return "";
  std::string causes;
  for (const pipeline::skipped_names& each : content.skipped) {
    causes += (causes.empty() ? "" : ", ") + printable(cause_of(each)) + ": " + grouped(each.count);
    if (each.bytes > 0) causes += " of " + number_of(each.bytes, "byte");
  }
  return frame.line(skipped_row(content)) + " (" + causes + ")\n";
}

std::string totals_lines(const run_report& content, const std::vector<table_row>& totals, const text_table& frame) {
  std::string text;
  for (const table_row& each : totals) text += frame.line(each) + "\n";
  if (totals.size() > 2) {
    const std::uint64_t lines = pipeline::lines_in(content.unverified, content.partition);
    text.insert(text.size() - 1, " (" + number_of(lines, "line") + ")");
  }
  if (content.counted_unverified) text += "The counts include unverified text (--count-unverified).\n";
  return text;
}

/// ": not counted to its end", or nothing if a message on standard error has the cause.
std::string cause_text(const table_sections& sections, const pipeline::input_report& input) {
  if (input.error.empty()) return ": not counted to its end";
  return sections.causes ? ": " + printable(input.error) : "";
}

bool has_failed(const pipeline::input_report& input) { return !input.complete || !input.error.empty(); }

// The lines of inputs that failed, and of notices.
void write_remarks(const run_report& content, const render_target& target, const text_sink& out) {
  if (content.type == run_report::kind::snapshot) return;
  const std::string incomplete = painted("INCOMPLETE", ink::alarm, target.color) + "  ";
  const std::string notice = painted("NOTICE", ink::heading, target.color) + "  ";
  notice_lines notices;
  bool any = false;
  for (const pipeline::input_report& each : content.inputs) {
    if (target.sections.causes) {
      for (const std::string& line : notices.of(each)) out(notice + line + "\n");
    }
    if (!has_failed(each)) continue;
    out(incomplete + printable(each.name) + cause_text(target.sections, each) + "\n");
    any = true;
  }
  for (const std::string& line : notices.of_others()) out(notice + line + "\n");
  // as after a signal between two inputs: no single input failed
  if (!any && !content.complete) out(incomplete + "not everything was counted\n");
}

std::size_t line_ends_in(std::string_view text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

// Only of a terminal, whose height is limited.
std::size_t lines_of_remarks(const run_report& content, const render_target& target) {
  std::size_t lines = 0;
  if (target.height > 0) write_remarks(content, target, [&](std::string_view text) { lines += line_ends_in(text); });
  return lines;
}

std::string snapshot_line(const run_report& content, const gpu::tally& counts) {
  const std::string unverified =
      content.unverified.bytes() == 0 ? "" : ", " + grouped(content.unverified.bytes()) + " of them not yet verified";
  return "snapshot " + fixed(content.elapsed_seconds, 1) + " s: " + number_of(counts.bytes(), "byte") + unverified;
}

bucket_tables tables_of(const run_report& content, const gpu::tally& counts) {
  bucket_tables all{.schemes = {}, .totals = totals_of(content, counts)};
  for (const pipeline::scheme_view& view : content.schemes) all.schemes.push_back(rows_of(view, counts));
  return all;
}

text_table frame_of(const run_report& content, const bucket_tables& tables, std::size_t width) {
  std::vector<table_row> rows = tables.totals;
  if (!content.skipped.empty()) rows.push_back(skipped_row(content));
  for (const auto& scheme : tables.schemes) {
    for (const bar_row& each : scheme) rows.push_back(each.cells);
  }
  return {{{"bucket", false}, {"count"}, {"share", true, 1}}, rows, width};
}

// The buckets, pairs, measures, UTF-8 and units.
std::string lines_before_inputs(const run_report& content, const gpu::tally& counts, const bucket_tables& tables,
                                const text_table& frame, const render_target& target) {
  std::string text;
  if (content.type == run_report::kind::snapshot) {
    text += painted(snapshot_line(content, counts), ink::heading, target.color) + "\n";
  }
  for (std::size_t i = 0; i < content.schemes.size(); ++i) {
    if (content.schemes.size() > 1) text += printable(content.schemes[i].scheme.name) + "\n";
    text += bar_lines(frame, tables.schemes[i], target.unicode, target.color) + "\n";
  }
  for (const pipeline::scheme_view& view : content.schemes) text += pair_lines(view, counts, target);
  text += measure_lines(content, counts, target);
  text += utf8_lines(content, target);
  if (content.units) text += unit_lines(content, target);
  return text;
}

}  // namespace

void render_table(const run_report& content, const render_target& target, const text_sink& out) {
  if (content.units && content.units->changes) {
    out(change_lines(content, *content.units->changes, target));
    return write_remarks(content, target, out);
  }
  const gpu::tally counts = shown_counts(content, content.verified, content.unverified);
  const bucket_tables tables = tables_of(content, counts);
  const text_table frame = frame_of(content, tables, target.width);
  const std::string first = lines_before_inputs(content, counts, tables, frame, target);
  const std::string last = totals_lines(content, tables.totals, frame) + skipped_line(content, frame);
  out(first);
  const bool has_columns = target.sections.listing != nullptr && !target.sections.listing->columns.empty();
  if (target.sections.inputs && content.inputs.size() > (has_columns ? 0 : 1)) {
    const std::size_t others = line_ends_in(first) + line_ends_in(last) + lines_of_remarks(content, target);
    write_input_table(content, target, others, out);
  }
  out(last);
  write_remarks(content, target, out);
}

}  // namespace gpuhist::report
