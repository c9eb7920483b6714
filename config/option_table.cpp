// The table of the command's options: one row an option, with its names, its help and its effect.
#include "config/option_table.hpp"

#include "config/quote.hpp"
#include "config/size.hpp"
#include "config/usage_error.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace gpuhist::config {
namespace {

constexpr std::uint64_t largest_chunk = std::uint64_t{1} << 30U;

struct range {
  unsigned least;
  unsigned most;
};

unsigned number_in(const std::string& typed, range allowed) {
  unsigned number = 0;
  const char* const end = typed.data() + typed.size();
  const auto [rest, error] = std::from_chars(typed.data(), end, number);
  const std::string right = "; give " + std::to_string(allowed.least) + " to " + std::to_string(allowed.most);
  if (error == std::errc::invalid_argument || rest != end) {
    throw usage_error(quote(typed) + " is not a whole number" + right);
  }
  if (error != std::errc{} || number < allowed.least || number > allowed.most) {
    throw usage_error(typed + " is out of range" + right);
  }
  return number;
}

std::string not_empty(const std::string& typed, std::string_view right) {
  if (typed.empty()) throw usage_error("the value is empty; " + std::string(right));
  return typed;
}

std::uint64_t chunk_size(const std::string& typed) {
  const std::uint64_t size = parse_size(typed);
  if (size == 0 || size > largest_chunk) throw usage_error(typed + " is out of range; give 1 byte to 1GiB");
  return size;
}

std::uint64_t memory_limit(const std::string& typed) {
  const std::uint64_t size = parse_size(typed);
  if (size == 0) throw usage_error(typed + " leaves no memory at all; give a size such as 512MiB or 2GiB");
  return size;
}

void add_buckets(options& into, const std::string& typed) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = typed.find(',', begin);
    const std::string name = typed.substr(begin, comma - begin);
    if (name.empty()) {
      throw usage_error("a name is missing in " + quote(typed) + "; give names separated by commas, as letters,bytes");
    }
    into.buckets.push_back(name);
    if (comma == std::string::npos) return;
    begin = comma + 1;
  }
}

/// "-" is standard output, as it is standard input among the inputs. "fd:" with anything but a number is a slip; as a
/// file it would surprise.
std::optional<std::string> destination_name(const std::string& typed) {
  if (typed == "-") return std::nullopt;
  constexpr std::string_view prefix = "fd:";
  if (!typed.starts_with(prefix)) return not_empty(typed, "give a path, or fd:N for a descriptor");
  int number = -1;
  const char* const end = typed.data() + typed.size();
  const auto [rest, error] = std::from_chars(typed.data() + prefix.size(), end, number);
  if (error != std::errc{} || rest != end || number < 0) {
    throw usage_error(quote(typed) +
                      " names no descriptor; give fd:N with a number, or a path with a slash for a file");
  }
  return typed;
}

/// A time where the unit is one of time (lower case, so that 5m is five minutes and 5M is 5 MiB), else a size.
snapshot_interval interval(const std::string& typed) {
  constexpr std::string_view good = "; good forms are 500ms, 1s, 5m, 64MiB";
  const std::size_t unit_at = typed.find_first_not_of("0123456789");
  if (!typed.empty() && unit_at == std::string::npos) {
    throw usage_error(quote(typed) + " has no unit: seconds or bytes?" + std::string(good));
  }
  const std::string unit = unit_at == std::string::npos ? "" : typed.substr(unit_at);
  try {
    if (unit == "ms" || unit == "s" || unit == "m" || unit == "h") {
      const std::chrono::milliseconds time = parse_duration(typed);
      if (time.count() > 0) return time;
    } else {
      const std::uint64_t size = parse_size(typed);
      if (size > 0) return size;
    }
  } catch (const usage_error&) {
    throw usage_error(quote(typed) + " is neither a duration nor a size" + std::string(good));
  }
  throw usage_error(typed + " is no interval" + std::string(good));
}

constexpr std::string_view inputs = "Inputs";
constexpr std::string_view counting = "Counting";
constexpr std::string_view output = "Output";
constexpr std::string_view tuning = "Engines and tuning";

using value = const std::string&;

constexpr std::array rows = {
    option_row{inputs, "--input-format", "FORMAT", "auto (by content; the default), raw, zstd",
               [](options& o, value v) { o.input_format = not_empty(v, "give auto, raw or zstd"); }},
    option_row{inputs, "--label", "NAME", "what standard input is called in the result",
               [](options& o, value v) { o.label = not_empty(v, "give a name for standard input"); }},
    option_row{counting, "-b,--buckets", "NAMES", "letters, bytes, classes (the default); comma-separated, repeatable",
               add_buckets},
    option_row{counting, "--ignore-case", "", "fold A-Z onto a-z before bucketing",
               [](options& o, value) { o.ignore_case = true; }},
    option_row{counting, "--byte-counts", "", "keep the counts of all 256 byte values in the result (json)",
               [](options& o, value) { o.byte_counts = true; }},
    option_row{counting, "--count-unverified", "", "add what damaged input held before the fault",
               [](options& o, value) { o.count_unverified = true; }},
    option_row{output, "--format", "FORMAT", "table (for people; the default), json",
               [](options& o, value v) { o.format = not_empty(v, "give table or json"); }},
    option_row{output, "-o,--output", "WHERE", "a file (appears whole), a device, a FIFO, fd:N; - is standard output",
               [](options& o, value v) { o.output = destination_name(v); }},
    option_row{output, "--append", "", "add to the end of --output instead of replacing it",
               [](options& o, value) { o.append = true; }},
    option_row{output, "--totals-only", "", "no row for each input in the table",
               [](options& o, value) { o.totals_only = true; }},
    option_row{output, "--snapshot-every", "1s|64MiB", "rolling snapshots, by time or by amount of text",
               [](options& o, value v) { o.snapshot_every = interval(v); }},
    option_row{output, "--stats", "", "stage by stage: bytes, busy and waiting time, and what limited the run",
               [](options& o, value) { o.stats = true; }},
    option_row{output, "--progress", "", "show progress also where standard error is no terminal",
               [](options& o, value) { o.progress = true; }},
    option_row{output, "-q,--quiet", "", "no progress, no hints: errors only",
               [](options& o, value) { o.quiet = true; }},
    option_row{tuning, "--engine", "NAME", "auto (the default), cuda, host; gpu and cpu mean the same",
               [](options& o, value v) { o.engine = not_empty(v, "give auto, cuda or host"); }},
    option_row{tuning, "-T,--threads", "N", "threads on the host (default: the cores)",
               [](options& o, value v) { o.threads = number_in(v, {1, 1024}); }},
    option_row{tuning, "--streams", "N", "CUDA streams, each with buffers of its own",
               [](options& o, value v) { o.streams = number_in(v, {1, 64}); }},
    option_row{tuning, "--chunk-size", "SIZE", "bytes counted at a time",
               [](options& o, value v) { o.chunk_size = chunk_size(v); }},
    option_row{tuning, "--slots", "N", "chunks in flight at most, from 2",
               [](options& o, value v) { o.slots = number_in(v, {2, 65536}); }},
    option_row{tuning, "--memory-limit", "SIZE", "of the whole process (default 1GiB)",
               [](options& o, value v) { o.memory_limit = memory_limit(v); }},
};

}  // namespace

std::span<const option_row> option_table() { return rows; }

}  // namespace gpuhist::config
