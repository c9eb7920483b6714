// The options as given: plain values. Names and conditions are still text; the plan resolves them.
#pragma once

#include "gpuhist/files.hpp"

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

/// The command: `gpuhist [FILE...]`, `gpuhist report RESULT...`, `gpuhist devices`, `gpuhist
/// repack FILE...`, `gpuhist filter FILE...`, `gpuhist batch [plan] JOB`, `gpuhist merge DIR...`, `gpuhist changes
/// [FILE...]`, `gpuhist diff A B`, `gpuhist sample [FILE...]`.
enum class command { count, report, devices, repack, filter, batch, merge, changes, diff, sample };

/// Whether a command compares lines of logs.
constexpr bool compares_logs(command which) { return which == command::changes || which == command::diff; }

/// --compress: how the outputs of a filter are compressed.
struct output_compression {
  enum class kind : std::uint8_t {
    none,
    same,  ///< as the input: none, zstd or gzip
    zstd,
    gzip,
  };
  static constexpr int default_level = 3;

  kind type = kind::none;
  int level = default_level;  ///< of zstd, 1 to 22

  bool operator==(const output_compression&) const = default;
};

/// --max-errors: how many inputs may fail.
struct error_limit {
  double amount = 0;
  bool is_percentage = false;  ///< of all inputs

  bool operator==(const error_limit&) const = default;
};

/// --fingerprint: what a manifest has of the content of a file.
enum class fingerprint_kind : std::uint8_t {
  ends,  ///< of files of more than 1 MiB: the first and the last 64 KiB
  full,  ///< all bytes
};

/// --shard I/N; nothing of both: auto.
struct shard_choice {
  unsigned number = 0;  ///< from 1
  unsigned count = 0;

  bool operator==(const shard_choice&) const = default;
};

struct options {
  command what = command::count;

  /// The options of a run, as a program has them, except its inputs. A value of zero, an empty name or an empty list is
  /// one that was not given.
  file_options run{};

  std::vector<std::string> inputs;             ///< paths; "-" is standard input; empty: standard input
  std::optional<output_compression> compress;  ///< filter: of the outputs in output_dir; nothing: none
  std::optional<shard_choice> shard;           ///< batch: the part of the inputs that is counted; nothing: all
  std::uint64_t sample_bytes = std::uint64_t{1} << 30U;  ///< sample: bytes of text that are read, about
  std::optional<double>
      sample_error;  ///< sample: bounds are at most so many percent away; nothing: sample_bytes decides
  std::optional<std::uint64_t> seed;                   ///< sample: of its random numbers; nothing: a random one
  std::uint64_t frame_size = std::uint64_t{8} << 20U;  ///< repack: bytes of text a frame, 1 to 1 GiB
  std::optional<std::string> format;                   ///< table, json, jsonl, csv, prometheus; nothing: the default
  std::optional<std::string> output;                   ///< --output: a path or "fd:N"; nothing: standard output
  std::optional<std::string> result;                   ///< filter: the file with the result, a path
  std::optional<std::string> output_dir;               ///< filter: the folder with one output for each input
  std::optional<std::string> resumed_file;  ///< --resume FILE: a jsonl result, whose complete inputs are skipped
  std::optional<std::string> exec;          ///< --exec: a shell command that is run for each alert; nothing: none
  std::optional<std::string> config;        ///< the configuration file that was read, a path
  std::string job;                          ///< batch: the job file; empty: the job is given by options
  std::optional<std::string> manifest;      ///< batch: a list of inputs with their sizes, a path; nothing: it is made
  std::optional<std::chrono::milliseconds> min_age;    ///< batch: files that changed later are left out
  std::uint64_t split_size = std::uint64_t{1} << 30U;  ///< batch plan: larger files can be divided between shards
  std::chrono::milliseconds checkpoint_every{2000};    ///< batch: how often the progress inside files is recorded
  std::optional<error_limit> max_errors;               ///< batch; nothing: no limit
  std::optional<fingerprint_kind> fingerprint;         ///< batch; nothing: that of the manifest, or ends
  bool append = false;                                 ///< append to the file of --output
  bool totals_only = false;                            ///< no table of the inputs
  bool plans_only = false;                             ///< batch plan: writes the manifest, and counts nothing
  bool stops_on_error = false;                         ///< batch: the first input that fails ends the run
  bool trust_names = false;          ///< batch: times of modification are not compared with the manifest
  bool dry_run = false;              ///< batch: prints the plan only
  bool new_only = false;             ///< batch: inputs that are new or have grown are added to the manifest
  bool drop_missing = false;         ///< batch: with new_only, inputs that disappeared are removed
  bool allow_duplicates = false;     ///< merge: an input may be in several results
  bool partial = false;              ///< merge: results of missing shards are not an error
  std::vector<std::string> columns;  ///< of the table of the inputs: names of columns, formulas (config/expression)
  std::optional<std::string> sort;   ///< a formula: the order of the table of the inputs
  std::optional<unsigned> top;       ///< maximum number of inputs in the table, at least 1
  bool stats = false;
  std::optional<bool> progress;  ///< nothing: if standard error is a terminal
  bool verbose = false;          ///< devices: details of kernels
  bool quiet = false;            ///< neither progress nor hints
  bool waits = false;            ///< batch: for another run in the same folder, which is otherwise an error
  int level = 3;                 ///< repack: compression level of zstd, 1 to 22
  bool force = false;            ///< replace the file at --output (repack), the outputs in --output-dir (filter)
  bool resume = false;           ///< filter: inputs whose output in output_dir is complete are skipped

  /// The values of each option that was given, in their order, as typed, by its key ("buckets").
  std::map<std::string, std::vector<std::string>, std::less<>> given;

  /// The place of each option that was not given on the command line: "--threads" -> "GPUHIST_THREADS", "job.toml:3:
  /// threads".
  std::map<std::string, std::string, std::less<>> origins;

  /// The name of an option in messages: its long name, or the place of its value.
  [[nodiscard]] std::string where(std::string_view long_name) const {
    const auto found = origins.find(long_name);
    return found == origins.end() ? std::string(long_name) : found->second;
  }
};

/// A text to print on standard output instead of a run (help, version); exit status 0.
struct information {
  std::string text;
};

/// Parses the command line, the environment ("NAME=value"; other variables than GPUHIST_... are ignored) and the
/// configuration file that either of them names. Precedence: file < environment < command line. Throws usage_error with
/// the place of the value, the error and the remedy.
std::variant<options, information> parse_command_line(int argc, const char* const* argv,
                                                      std::span<const std::string> environment = {});

}  // namespace gpuhist::config
