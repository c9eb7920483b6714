// The command line as it was typed: plain values, names still text. The plan resolves them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace gpuhist::config {

/// --snapshot-every: a time or an amount of text.
using snapshot_interval = std::variant<std::chrono::milliseconds, std::uint64_t>;

struct options {
  std::vector<std::string> inputs;   ///< paths; "-" is standard input; empty: standard input
  std::vector<std::string> buckets;  ///< scheme names, split at commas, in order; default {"classes"}
  std::string engine = "auto";
  std::string input_format = "auto";
  std::optional<unsigned> threads;          ///< 1 to 1024
  std::optional<unsigned> streams;          ///< 1 to 64
  std::optional<std::uint64_t> chunk_size;  ///< bytes, 1 to 1 GiB
  std::optional<unsigned> slots;            ///< 2 to 65536
  std::uint64_t memory_limit = std::uint64_t{1} << 30U;
  std::string label = "(standard input)";  ///< what standard input is called in the result
  std::string format = "table";            ///< table, json
  std::optional<std::string> output;       ///< --output: a path or "fd:N"; nothing: standard output
  std::optional<snapshot_interval> snapshot_every;
  bool byte_counts = false;
  bool count_unverified = false;
  bool stats = false;
};

/// Asked for instead of a run: the text goes to standard output, exit status 0.
struct information {
  std::string text;
};

/// Parses the command line. Throws usage_error: one line that says what was wrong, what would be right, and names the
/// option. Does not look at the environment.
std::variant<options, information> parse_command_line(int argc, const char* const* argv);

}  // namespace gpuhist::config
