// A report: the counts of a run, seen through schemes and measures. And the table of report formats.
#pragma once

#include "pipeline/counts/partitioning.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/flow/statistics/run_stats.hpp"
#include "pipeline/report/measures/measuring.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// The counts of a run and how they are shown: a result at the end of a run, or a snapshot during it.
struct report : run_counts {
  enum class kind { result, snapshot };

  kind type = kind::result;
  std::vector<scheme_view> schemes;
  bool byte_counts = false;       ///< print the 256 counts (the partition is the identity then)
  measures::measuring measuring;  ///< of totals and inputs (the partition is the identity then)
  bool ignore_case = false;       ///< the schemes map A-Z to a-z
  bool totals_only = false;       ///< the table has no row for each input
  /// The run printed the cause of each incomplete input on standard error: the table does not repeat it.
  bool causes_printed = false;
  std::optional<run_stats> stats;
};

/// What a report may know of where it is written to.
struct render_target {
  bool unicode = true;     ///< bars may be block characters
  unsigned width = 80;     ///< columns
  bool color = false;      ///< escape sequences for colours are welcome
  bool terminal = false;   ///< people look at it: nothing may be written that moves their cursor
  bool first = true;       ///< nothing was written there before: a header is due where the format has one
  std::string_view run{};  ///< of make_run_id(): formats of several lines name the run in each; empty: they do not
};

/// How many names were skipped, of all causes.
std::uint64_t skipped_in_all(const run_counts& content);

/// The cause as reports say it: "unknown" where there is none.
std::string_view cause_of(const skipped_names& names);

/// Takes a text piece by piece.
using text_sink = std::function<void(std::string_view)>;

/// Each renders the whole text, with its final newline: piece by piece, so that reports of many inputs need no memory
/// for it. Throws what the sink throws, and std::system_error where inputs cannot be read back.
using renderer = void (*)(const report&, const render_target&, const text_sink&);

/// One row of the table of report formats.
struct report_format {
  std::string_view name;
  renderer render;
  bool carries_stats = false;   ///< --stats is inside; else it goes to standard error
  bool carries_alerts = false;  ///< conditions that hold are lines before the result
  bool names_run = false;       ///< every line says of which run it is
  bool whole = false;           ///< a later report replaces an earlier one, instead of following it
};

void render_table(const report& content, const render_target& target, const text_sink& out);
void render_json(const report& content, const render_target& target, const text_sink& out);
void render_jsonl(const report& content, const render_target& target, const text_sink& out);
void render_csv(const report& content, const render_target& target, const text_sink& out);
void render_prometheus(const report& content, const render_target& target, const text_sink& out);

/// Text of --stats for people: a line a stage, the engine and why, the limiting stage.
std::string render_stats(const run_stats& stats, const render_target& target);

/// The table: table, json, jsonl, csv, prometheus.
std::span<const report_format> report_formats();

/// By name, or null.
const report_format* find_report_format(std::string_view name);

/// Bytes as text that is safe on a terminal: config::on_one_line.
std::string printable(std::string_view raw);

}  // namespace gpuhist::pipeline
