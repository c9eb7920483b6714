// What was asked for, as typed: plain values, names still text. The plan resolves them.
#pragma once

#include "config/expression.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gpuhist::config {

/// --snapshot-every: a time or an amount of text.
using snapshot_interval = std::variant<std::chrono::milliseconds, std::uint64_t>;

/// --window, --step: an amount of text, or a time.
struct window_extent {
  enum class measure : std::uint8_t { bytes, lines, milliseconds };
  measure unit = measure::bytes;
  std::uint64_t amount = 0;

  bool operator==(const window_extent&) const = default;
};

/// --baseline: a path, or so many windows before the one that is compared.
struct previous_windows {
  unsigned number = 1;  ///< 1 to 4096
};
using baseline_source = std::variant<std::string, previous_windows>;

/// What the program is asked to do: `gpuhist [FILE...]`, `gpuhist report RESULT...`, `gpuhist devices`, `gpuhist
/// repack FILE...`.
enum class command { count, report, devices, repack };

/// --pass-through: what goes on to standard output, beside being counted.
enum class pass_through_mode : std::uint8_t {
  nothing,
  raw,   ///< the bytes of the inputs as they are
  text,  ///< what is counted: decompressed
};

struct options {
  command what = command::count;
  bool recursive = false;                 ///< directories among the inputs are walked
  bool follow_symlinks = false;           ///< in them
  bool null = false;                      ///< names in the list of files end in NUL
  bool fail_fast = false;                 ///< the first of the conditions of --fail-if that holds ends the run
  std::vector<std::string> inputs;        ///< paths; "-" is standard input; empty: standard input
  std::optional<std::string> files_from;  ///< a list of more inputs: a path; "-" is standard input
  std::vector<std::string> include;       ///< patterns (io/path_pattern) of files in trees; empty: all
  std::vector<std::string> exclude;       ///< patterns of files and directories in trees
  std::vector<std::string> buckets;  ///< names of schemes and definitions of custom ones, in order; default {"classes"}
  std::string engine = "auto";
  std::vector<unsigned> devices;      ///< CUDA devices by number; empty: the engine's choice, or all of them
  std::optional<std::string> kernel;  ///< by name; nothing: the best one
  std::string input_format = "auto";
  std::optional<std::string> zstd_dictionary;          ///< a path
  std::optional<std::uint64_t> max_output;             ///< bytes of text of a compressed input, at least 1
  std::optional<unsigned> threads;                     ///< 1 to 1024
  std::optional<unsigned> streams;                     ///< 1 to 64
  std::optional<std::uint64_t> chunk_size;             ///< bytes, 1 to 1 GiB
  std::optional<unsigned> slots;                       ///< 2 to 65536
  std::optional<std::uint64_t> memory_limit;           // default: by what the process may have
  std::uint64_t frame_size = std::uint64_t{8} << 20U;  ///< repack: bytes of text a frame, 1 to 1 GiB
  std::string label = "(standard input)";              ///< what standard input is called in the result
  std::optional<std::string> format;  ///< table, json, jsonl, csv, prometheus; nothing: the command's default
  std::optional<std::string> output;  ///< --output: a path or "fd:N"; nothing: standard output
  std::optional<snapshot_interval> snapshot_every;
  std::optional<window_extent> window;  ///< of rolling windows; nothing: none
  std::optional<window_extent> step;    ///< from one window to the next; nothing: as long as a window
  bool per_input = false;               ///< every input has windows of its own
  pass_through_mode pass_through = pass_through_mode::nothing;
  bool append = false;       ///< to the end of --output, instead of replacing it
  bool totals_only = false;  ///< no table of the inputs
  bool ignore_case = false;
  bool all_devices = false;
  bool skip_damage = false;
  bool follow = false;  ///< inputs are files that grow: read on until a signal
  bool byte_counts = false;
  bool count_unverified = false;
  std::vector<std::string> measures;  ///< names, or "all"
  std::optional<baseline_source> baseline;
  std::vector<expression> fail_if;   ///< conditions that make the exit status 3
  std::vector<expression> alert_if;  ///< conditions that are told
  std::vector<std::string> watch;    ///< what they are held against: totals, inputs, windows; empty: all of it
  bool stats = false;
  std::optional<bool> progress;  ///< nothing: on where standard error is a terminal
  bool verbose = false;          ///< devices: with what the kernels' shape depends on
  bool quiet = false;            ///< neither progress nor hints
  int level = 3;                 ///< repack: of zstd, 1 to 22
  bool force = false;            ///< repack: replace the file at --output

  /// Where an option was given, if not on the command line: "--threads" -> "GPUHIST_THREADS", "job.toml:3: threads".
  std::map<std::string, std::string, std::less<>> origins;

  /// What messages call an option: its long name, or where its value came from.
  [[nodiscard]] std::string where(std::string_view long_name) const {
    const auto found = origins.find(long_name);
    return found == origins.end() ? std::string(long_name) : found->second;
  }
};

/// Asked for instead of a run: the text goes to standard output, exit status 0.
struct information {
  std::string text;
};

/// Parses the command line, the environment ("NAME=value", of which those that begin with GPUHIST_ count) and the
/// configuration file that either of them names. Precedence: file < environment < command line. Throws usage_error: one
/// line that says where the value came from, what was wrong and what would be right.
std::variant<options, information> parse_command_line(int argc, const char* const* argv,
                                                      std::span<const std::string> environment = {});

}  // namespace gpuhist::config
