// Counts as values: of a run, of its inputs, and of windows of its text.
#pragma once

#include <gpuhist/api.hpp>
#include <gpuhist/errors.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist {

struct unit_summary;  // gpuhist/units.hpp

/// Why an input is not complete.
enum class failure : std::uint8_t {
  none,
  not_read,       ///< the run ended before this input was started
  stopped,        ///< the run ended while this input was being read
  unreadable,     ///< the system refuses to open or read it
  damaged,        ///< its content contradicts its format, its name or a checksum
  refused,        ///< it is not counted: an unknown format, a limit, a rule
  out_of_memory,  ///< memory, file descriptors or threads could not be allocated
  not_counted,    ///< it was read, but the engine failed
  unknown,        ///< a result that was read from a file does not state it
};

/// What deserves a remark about an input that is counted all the same. It is no failure. A value.
struct input_notice {
  enum class kind : std::uint8_t {
    name_differs,         ///< its content is not what its name promises; the content decided
    unknown_compression,  ///< its bytes look compressed, are of no known format, and were counted as they are
    no_end_marker,        ///< the marker at its end is missing, and everything before it is intact (BGZF)
    trailing_data,        ///< what follows the end of the archive was not counted
    no_end_blocks,        ///< the archive has no end, and an outer layer verified that it is whole
    replaced_characters,  ///< its text is not valid in its encoding: U+FFFD was counted in the place of wrong bytes
    unknown,              ///< a result that was read from a file has a kind of a later version
  };

  kind type = kind::unknown;
  std::string text;  ///< for people; does not name the input
};

/// The lines in which an expression of unit_options::matches matches.
struct match_count {
  std::string name;
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
};

/// The counts of an input or of the totals. A value.
struct input_result {
  std::string name;                               ///< raw bytes, not necessarily UTF-8
  std::string format;                             ///< "raw", "zstd", ...
  std::optional<std::uint64_t> compressed_bytes;  ///< read so far, if the input is compressed
  std::uint64_t bytes = 0;                        ///< of verified text
  std::uint64_t lines = 0;                        ///< line feeds in it
  std::uint64_t unverified_bytes = 0;             ///< decoded without a correct checksum; not in `bytes`
  bool complete = false;                          ///< all of it was counted and verified
  failure kind = failure::none;                   ///< why it is not complete
  std::string error;                              ///< the same for people; empty if there was no error
  /// The archive or frame around this member is damaged, and not the member itself.
  bool is_failure_of_archive = false;
  std::vector<input_notice> notices{};  ///< at most one of each kind
  /// Of each expression, in the order of the options; empty: none were looked for, or they are not known.
  std::vector<match_count> matches{};
};

/// A measure of a text: a number, or the reason why this text has none. A value.
struct measurement {
  std::string name;             ///< "entropy"
  std::string unit;             ///< "bits a byte"; empty for plain numbers
  std::optional<double> value;  ///< absent: see `reason`
  std::string reason;           ///< empty if there is a value
};

/// Why a name in a tree or archive is no input.
enum class skipped_kind : std::uint8_t {
  link,       ///< a symbolic link, or a hard link in an archive
  special,    ///< a FIFO, a socket, a device: neither a file nor a directory
  output,     ///< a file that the run writes
  directory,  ///< in an archive: nothing is missing, because the files below it are inputs of their own
  unknown,    ///< a result that was read from a file does not state it
};

/// Names in trees and archives that were not read, all for the same cause.
struct skipped_inputs {
  std::string cause{};      ///< "symbolic link", in the singular
  std::uint64_t count = 0;  ///< number of names
  std::string first{};      ///< the first of them, raw bytes; empty in a result that was read from a file
  std::uint64_t bytes = 0;  ///< that archives hold for them
  skipped_kind kind = skipped_kind::unknown;
};

/// How an earlier result is read.
struct read_options {
  std::vector<std::string> schemes{"classes"};  ///< as counting_options::schemes
  bool ignore_case = false;                     ///< A-Z are counted as a-z
  bool pairs = false;                           ///< the results must have the pairs of these schemes
};

/// Counts at one moment: of a whole run, or of a part of it (snapshot). A value; copies share their memory. Copies may
/// be used by different threads. Members that read throw only what they document, and errc::system if the counts of an
/// input cannot be read back from the temporary file.
class GPUHIST_API results {
 public:
  enum class kind : std::uint8_t { result, snapshot };

  struct state;  ///< of the implementation

  results();
  results(const results&) = default;
  // A move is a copy, so that no object is without counts. NOLINTNEXTLINE(performance-move-constructor-init)
  results(results&& other) noexcept : state_(other.state_) {}
  results& operator=(const results&) = default;
  results& operator=(results&& other) noexcept {
    state_ = other.state_;
    return *this;
  }
  ~results() = default;

  // Of the implementation.
  explicit results(std::shared_ptr<const state> shared);
  [[nodiscard]] const state& shared() const noexcept;

  /// Reads results from JSON text of schema gpuhist.result/1: a document, or lines of them, which are added as by
  /// merge(). They must have the counts of the 256 byte values: byte_counts, or the scheme `bytes`. Throws
  /// errc::invalid_argument for text that is damaged, that holds no result, or whose sums are inconsistent.
  [[nodiscard]] static results read(std::string_view json, const read_options& options = {});

  /// The same for a file. Throws errc::system if the file cannot be read.
  [[nodiscard]] static results read_file(const std::string& path, const read_options& options = {});

  /// The sum: the inputs of all parts in sequence, the totals added, complete only if all parts are. It has pairs only
  /// if all parts have. Throws errc::invalid_argument if there are no parts, if their schemes differ, or if a count
  /// exceeds 2^64 - 1.
  [[nodiscard]] static results merge(std::span<const results> parts);

  [[nodiscard]] kind type() const;
  [[nodiscard]] bool complete() const;           ///< every byte of every input was counted and verified
  [[nodiscard]] std::uint64_t bytes() const;     ///< of verified text, in all
  [[nodiscard]] std::uint64_t lines() const;     ///< line feeds in it
  [[nodiscard]] std::string_view error() const;  ///< why counting failed, for people; empty: it did not fail

  /// The kind of error(): engine, out_of_memory, system, ...; callback if a `release` of input::feed_borrowed() threw.
  /// Nothing: counting did not fail. Failures of single inputs are in input(), and a cancelled counting has not failed.
  [[nodiscard]] std::optional<errc> error_kind() const;

  /// Bytes without a correct checksum, or not verified yet (snapshots). Not in bytes().
  [[nodiscard]] std::uint64_t unverified_bytes() const;

  /// Snapshots: the time since the first byte was read.
  [[nodiscard]] std::chrono::duration<double> elapsed() const;

  /// What was not read, sorted by cause.
  [[nodiscard]] std::vector<skipped_inputs> skipped() const;

  /// The names of the schemes, in the order in which they were requested.
  [[nodiscard]] std::vector<std::string> schemes() const;

  /// The names of the buckets of a scheme. Throws errc::invalid_argument for an unknown scheme.
  [[nodiscard]] std::vector<std::string> buckets(std::string_view scheme) const;

  /// The totals: one count for each bucket.
  [[nodiscard]] std::vector<std::uint64_t> counts(std::string_view scheme) const;

  /// The number of inputs, in the order in which they were opened.
  [[nodiscard]] std::size_t inputs() const;

  /// Throws errc::invalid_argument if there is no such input.
  [[nodiscard]] input_result input(std::size_t number) const;

  /// One count for each bucket of a scheme, of one input.
  [[nodiscard]] std::vector<std::uint64_t> counts(std::string_view scheme, std::size_t input) const;

  /// Whether pairs were counted (counting_options::pairs).
  [[nodiscard]] bool has_pairs() const;

  /// The totals: how often a byte of each bucket is followed by a byte of each bucket of a scheme. A matrix in the
  /// order of buckets(), row-major: the first byte selects the row. Throws errc::invalid_argument for an unknown
  /// scheme, and if pairs were not counted.
  [[nodiscard]] std::vector<std::uint64_t> pairs(std::string_view scheme) const;

  /// The same for one input.
  [[nodiscard]] std::vector<std::uint64_t> pairs(std::string_view scheme, std::size_t input) const;

  /// Whether the counts of the 256 byte values are known: with byte_counts, measures, or the scheme `bytes`.
  [[nodiscard]] bool has_byte_counts() const;

  /// A measure of the totals, by name, whether it was requested or not. Measures that compare use
  /// counting_options::baseline. Throws errc::invalid_argument for an unknown name, and without byte counts.
  [[nodiscard]] measurement measure(std::string_view name) const;

  /// The same for one input.
  [[nodiscard]] measurement measure(std::string_view name, std::size_t input) const;

  /// The units of all inputs (counting_options::units). Of counter::snapshot(): those that were complete; units that
  /// are inputs or windows, those that were reported. Nothing: no units were measured; so of snapshots of
  /// count_files(), and of results that were read or merged.
  [[nodiscard]] std::optional<unit_summary> units() const;

  /// As JSON, schema gpuhist.result/1, with a final newline.
  [[nodiscard]] std::string to_json() const;

 private:
  std::shared_ptr<const state> state_;
};

/// Lines of a text, numbered from 1, both included.
struct line_range {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

/// The counts of a window of the text, verified or not. A value; copies share their memory.
class GPUHIST_API window {
 public:
  /// Why a window has closed.
  enum class end : std::uint8_t {
    full,   ///< it has its full length
    input,  ///< its input, or the last input, has ended
    error,  ///< text is missing after it
  };

  using time_point = std::chrono::system_clock::time_point;

  struct state;  ///< of the implementation

  // Of the implementation.
  explicit window(std::shared_ptr<const state> shared);
  [[nodiscard]] const state& shared() const noexcept;

  window(const window&);
  window(window&&) noexcept;
  window& operator=(const window&);
  window& operator=(window&&) noexcept;
  ~window();

  [[nodiscard]] std::uint64_t index() const;          ///< from 0, in the order in which windows close
  [[nodiscard]] std::string_view input() const;       ///< the name of the input of its first text; empty: none yet
  [[nodiscard]] std::string_view last_input() const;  ///< the name of the input of its last text
  [[nodiscard]] std::uint64_t first_offset() const;   ///< in the text of the input, or of all inputs in sequence
  [[nodiscard]] std::uint64_t end_offset() const;     ///< one past its last byte
  [[nodiscard]] std::optional<line_range> line_numbers() const;  ///< absent if unknown, and without text
  [[nodiscard]] time_point start_time() const;  ///< of windows of time; others: the arrival of the first text
  [[nodiscard]] time_point end_time() const;    ///< of windows of time; others: the arrival of the last text
  [[nodiscard]] end end_reason() const;
  [[nodiscard]] std::string_view error() const;  ///< why text is missing; empty: none is
  [[nodiscard]] bool verified() const;           ///< when it closed; false: a verdict follows
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::uint64_t lines() const;  ///< line feeds

  /// One count for each bucket of a scheme. Throws errc::invalid_argument for an unknown scheme.
  [[nodiscard]] std::vector<std::uint64_t> counts(std::string_view scheme) const;

  /// As results::pairs: the pairs whose second byte is in the window.
  [[nodiscard]] std::vector<std::uint64_t> pairs(std::string_view scheme) const;

  /// As results::measure. With counting_options::previous_windows, the baseline are the windows before this one.
  [[nodiscard]] measurement measure(std::string_view name) const;

  /// As a line of JSON of kind "window", schema gpuhist.result/1, as `gpuhist --format jsonl` writes it, without `run`.
  [[nodiscard]] std::string to_json() const;

 private:
  std::shared_ptr<const state> state_;
};

/// The verdict on windows that were not verified when they closed.
struct verdict {
  std::uint64_t first = 0;  ///< index of the first window
  std::uint64_t last = 0;   ///< index of the last window
  bool verified = false;    ///< false: some text of each window is damaged

  /// As window::to_json(), of kind "verdict".
  [[nodiscard]] GPUHIST_API std::string to_json() const;
};

/// A condition that holds.
struct alert {
  enum class unit : std::uint8_t { totals, input, window, event_window };

  /// A name in the condition and its value; no value: these counts have none.
  struct named_value {
    std::string name;
    std::optional<double> value;
  };

  /// The beginning of a line, as that of a unit.
  struct matched_line {
    std::string input;  ///< the name of its input
    std::uint64_t line = 1;
    std::uint64_t offset = 0;
    std::string text;
  };

  bool fails = false;                 ///< of counting_options::fail_if; false: of alert_if
  std::string condition;              ///< as it was given
  unit of = unit::totals;             ///< what it holds for
  std::string input;                  ///< its name; empty for the totals
  std::uint64_t window = 0;           ///< index of the window
  std::int64_t event_start = 0;       ///< of an event window: nanoseconds since 1970-01-01 UTC
  std::uint64_t first_offset = 0;     ///< in the text of the input, or of all inputs in sequence
  std::uint64_t end_offset = 0;       ///< one past the last byte; of an event window its bytes
  std::optional<line_range> lines{};  ///< absent if unknown, and for the totals
  std::vector<named_value> values{};  ///< of every name in the condition
  /// With unit_options::show_text: the first line in which an expression of match() in the condition matches.
  std::optional<matched_line> line{};

  /// As window::to_json(), of kind "alert".
  [[nodiscard]] GPUHIST_API std::string to_json() const;
};

}  // namespace gpuhist
