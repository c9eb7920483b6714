// Rolling counts seen through the schemes of the plan, and the table of the formats they are written in.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/measures/measuring.hpp"
#include "pipeline/partitioning.hpp"
#include "pipeline/reports/input_reports.hpp"
#include "pipeline/statistics/run_stats.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Of what was found in trees and archives and is nothing to be read: all of one cause.
struct skipped_names {
  std::string what;         ///< "FIFO", in the singular; empty where an older result does not say it
  std::uint64_t count = 0;  ///< how many there were
  std::string first;        ///< raw bytes; empty where it was read back from a result
  std::uint64_t bytes = 0;  ///< that archives hold for them
};

/// A result at the end of a run, or a snapshot in the middle, of which every input's counts are those of a prefix.
struct report {
  enum class kind { result, snapshot };

  kind what = kind::result;
  bool complete = false;  ///< every byte of every input was counted and verified
  gpu::partition partition;
  std::vector<scheme_view> schemes;
  gpu::tally verified;                 ///< the totals
  gpu::tally unverified;               ///< a snapshot calls this "provisional"
  bool counted_unverified = false;     ///< --count-unverified: `verified` holds unverified bytes as well
  input_reports inputs;                ///< in the order given, or found
  std::vector<skipped_names> skipped;  ///< in trees and archives, by cause
  bool byte_counts = false;            ///< keep the 256 counts (the partition is the identity then)
  measures::measuring measuring;       ///< of totals and inputs (the partition is the identity then)
  bool ignore_case = false;            ///< A-Z were folded onto a-z in the schemes
  bool totals_only = false;            ///< people are not shown a row an input
  std::optional<run_stats> stats;
  double elapsed_seconds = 0;  ///< snapshots: since the first read
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

/// Adds names to those of the same cause. They stand in the order of their causes.
void add_skipped(std::vector<skipped_names>& to, const skipped_names& more);

/// How many names were skipped, of all causes.
std::uint64_t skipped_in_all(const report& what);

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

void render_table(const report& what, const render_target& target, const text_sink& out);
void render_json(const report& what, const render_target& target, const text_sink& out);
void render_jsonl(const report& what, const render_target& target, const text_sink& out);
void render_csv(const report& what, const render_target& target, const text_sink& out);
void render_prometheus(const report& what, const render_target& target, const text_sink& out);

/// Text of --stats for people: a line a stage, the engine and why, the limiting stage.
std::string render_stats(const run_stats& stats, const render_target& target);

/// The table: table, json, jsonl, csv, prometheus.
std::span<const report_format> report_formats();

/// By name, or null.
const report_format* find_report_format(std::string_view name);

/// Bytes as text that is safe on a terminal: config::on_one_line.
std::string printable(std::string_view raw);

}  // namespace gpuhist::pipeline
