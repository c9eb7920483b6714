// Rolling counts seen through the schemes of the plan, and the table of the formats they are written in.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/partitioning.hpp"
#include "pipeline/run_stats.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// What was lost of a compressed input, and gone on behind (--skip-damage).
struct lost_stretch {
  std::uint64_t compressed_begin = 0;  ///< where the damaged frame begins
  std::uint64_t compressed_end = 0;    ///< where decoding went on
  std::uint64_t text_offset = 0;       ///< the place in the text that was had, where the frame's is missing
  std::uint64_t unverified_bytes = 0;  ///< of that frame's text, decoded before the fault
  std::string cause;
};

/// One input's share of a report. Tallies are over the partition of the report.
struct input_report {
  std::string name;                               ///< raw bytes, not necessarily UTF-8
  std::string format;                             ///< "raw", "zstd", or "unknown" where it could not be opened
  std::optional<std::uint64_t> compressed_bytes;  ///< read so far, where the input is compressed
  bool complete = false;
  std::string error;  ///< empty where there was none
  gpu::tally verified;
  gpu::tally unverified;
  bool counted_unverified = false;   ///< --count-unverified: `verified` holds the unverified bytes as well
  std::vector<lost_stretch> lost{};  ///< in the order of the input; the first thousand
  std::uint64_t lost_stretches = 0;  ///< how many there were in all
};

/// A result at the end of a run, or a snapshot in the middle, of which every input's counts are those of a prefix.
struct report {
  enum class kind { result, snapshot };

  kind what = kind::result;
  bool complete = false;  ///< every byte of every input was counted and verified
  gpu::partition partition;
  std::vector<scheme_view> schemes;
  gpu::tally verified;               ///< the totals
  gpu::tally unverified;             ///< a snapshot calls this "provisional"
  bool counted_unverified = false;   ///< --count-unverified: `verified` holds unverified bytes as well
  std::vector<input_report> inputs;  ///< in the order given
  bool byte_counts = false;          ///< keep the 256 counts (the partition is the identity then)
  bool ignore_case = false;          ///< A-Z were folded onto a-z in the schemes
  bool totals_only = false;          ///< people are not shown a row an input
  std::optional<run_stats> stats;
  double elapsed_seconds = 0;  ///< snapshots: since the first read
};

/// What a report may know of where it is written to.
struct render_target {
  bool unicode = true;    ///< bars may be block characters
  unsigned width = 80;    ///< columns
  bool color = false;     ///< escape sequences for colours are welcome
  bool terminal = false;  ///< people look at it: nothing may be written that moves their cursor
  bool first = true;      ///< nothing was written there before: a header is due where the format has one
};

/// Each renders the whole text, with its final newline.
using renderer = std::string (*)(const report&, const render_target&);

/// One row of the table of report formats.
struct report_format {
  std::string_view name;
  renderer render;
  bool carries_stats = false;  ///< --stats is inside; else it goes to standard error
  bool whole = false;          ///< a later report replaces an earlier one, instead of following it
};

std::string render_table(const report& what, const render_target& target);
std::string render_json(const report& what, const render_target& target);
std::string render_jsonl(const report& what, const render_target& target);
std::string render_csv(const report& what, const render_target& target);
std::string render_prometheus(const report& what, const render_target& target);

/// Text of --stats for people: a line a stage, the engine and why, the limiting stage.
std::string render_stats(const run_stats& stats, const render_target& target);

/// The table: table, json, jsonl, csv, prometheus.
std::span<const report_format> report_formats();

/// By name, or null.
const report_format* find_report_format(std::string_view name);

/// Bytes as text that is safe on a terminal: config::on_one_line.
std::string printable(std::string_view raw);

}  // namespace gpuhist::pipeline
