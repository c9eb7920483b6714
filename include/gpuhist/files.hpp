// Counts files, directory trees, archives and streams.
//
//     const gpuhist::file_outcome outcome =
//         gpuhist::count_files({.inputs = {"january.log.zst", "february.log"}, .counting = {.schemes = {"letters"}}});
//     outcome.result.counts("letters");  // a-d, e-h, ..., other
#pragma once

#include <gpuhist/api.hpp>
#include <gpuhist/errors.hpp>
#include <gpuhist/options.hpp>
#include <gpuhist/results.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace gpuhist {

/// Directories among the inputs: the files below them are counted, in byte order of their names. Patterns have the
/// syntax of the shell: * ? [...] and backslash. One without a slash is compared with the last component of a name, one
/// with a slash with the path below the directory, where ** is any number of components.
struct tree_options {
  std::vector<std::string> include{};  ///< patterns of files; empty: all
  std::vector<std::string> exclude{};  ///< patterns of files and directories; "build/": of directories only
  bool follow_symlinks = false;        ///< links below a directory; a link that is given as an input is followed
};

/// A file with the names of more inputs.
struct list_options {
  std::string path{};
  char terminator = '\n';  ///< of each name; '\n' or 0
};

/// Forwards what is read. If the consumer is too slow, reading waits.
struct pass_through_options {
  enum class content : std::uint8_t {
    input,  ///< the bytes of the inputs as they are
    text,   ///< the decompressed text, which is counted
  };

  content forwarded = content::input;
  /// A descriptor of the caller, open for writing until count_files() returns. It is not closed, and its flags are not
  /// changed. -1: `sink` is called.
  int descriptor = -1;
  /// Receives the bytes in their order, on a thread of the run, one call at a time. An exception ends the run, and is
  /// thrown by count_files().
  std::function<void(std::span<const std::byte>)> sink{};
};

/// The encoding of text. Other text than UTF-8 is converted to UTF-8, which is counted.
enum class text_encoding : std::uint8_t {
  automatic,  ///< UTF-16 if the text begins with a byte order mark of UTF-16, else UTF-8
  utf8,       ///< or any bytes: they are counted as they are
  utf16,      ///< in the byte order of its mark, else in little endian
  utf16le,
  utf16be,
};

/// What count_files() reads, and how.
struct file_options {
  std::vector<std::string> inputs{};  ///< paths; "-" is standard input if `standard_input` is set, else refused
  counting_options counting = counting_options();  // not {}: GCC 12 then crashes if memory is exhausted here
  std::optional<list_options> list{};              ///< more inputs
  std::optional<tree_options> trees{};             ///< absent: a directory is an input that failed
  bool standard_input = false;                     ///< "-" may be read
  std::string label = "(standard input)";          ///< the name of standard input in results
  std::string format{};                            ///< "zstd", "raw", ...; empty: the content of each input decides
  text_encoding encoding = text_encoding::automatic;
  std::string dictionary{};       ///< path of a zstd dictionary; empty: none
  std::uint64_t max_output = 0;   ///< most bytes of text of a compressed input; 0: unlimited
  bool skip_damage = false;       ///< continue after a damaged part at the next intact frame or member
  bool strict_names = false;      ///< refuse an input whose content is not what its name promises
  bool fail_on_unknown = false;   ///< refuse what looks compressed and is of no known format
  bool count_unverified = false;  ///< unverified text is in the totals
  bool follow = false;            ///< inputs are files that grow; a stop request ends the run
  std::optional<pass_through_options> pass_through{};
  /// Between two snapshots: a time, or an amount of text in bytes. Absent: no snapshots.
  std::optional<std::variant<std::chrono::milliseconds, std::uint64_t>> snapshot_every{};
  bool utf8 = false;             ///< validate the text as UTF-8; not with `follow`
  std::uint32_t chunk_size = 0;  ///< bytes of text in a slot, at most 1 GiB; 0: chosen by engine and threads
  std::uint32_t slots = 0;       ///< 2 to 65536; 0: chosen by engine and threads, within the memory limit
};

/// How far a run is.
struct progress {
  std::uint64_t source_bytes = 0;         ///< read from the inputs, as they are stored
  std::uint64_t text_bytes = 0;           ///< counted
  std::chrono::duration<double> elapsed;  ///< since the first read
};

/// Callbacks of count_files(). All are called on the thread that called it.
struct file_events : counting_events {
  std::function<void(const results&)> on_snapshot{};  ///< the counts so far: file_options::snapshot_every
  /// Every input as soon as it and all inputs before it have ended, until a condition ends the run (fail_fast): a
  /// result with this input alone.
  std::function<void(const results&)> on_input{};
  std::function<void(const progress&)> on_progress{};
  std::chrono::milliseconds progress_interval{500};
};

/// How a run ended.
enum class run_status : std::uint8_t {
  complete,        ///< everything was counted and verified, and no condition of fail_if held
  incomplete,      ///< an input failed, counting failed, or text could not be forwarded
  condition_held,  ///< a condition of fail_if held, and nothing else failed
  stopped,         ///< a stop was requested before everything was read, and nothing else failed
};

/// Why text could not be forwarded to the descriptor.
struct pass_through_failure {
  int error = 0;             ///< errno; EPIPE: there is no reader
  std::uint64_t offset = 0;  ///< bytes that were forwarded before
};

struct file_outcome {
  results result;
  run_status status = run_status::complete;
  bool ended_by_condition = false;  ///< fail_fast: the counts cover what was read until then
  std::string warning{};            ///< a failure without effect on the counts, such as a lost device; empty: none
  std::optional<pass_through_failure> pass_through_error{};
  std::uint64_t not_passed_through = 0;  ///< bytes that were counted and not forwarded
  skipped_inputs empty_trees{};          ///< directories in which no file was found; `cause` is empty
};

/// Counts all inputs, and blocks until the end. Failures of inputs do not throw: they are in the result. Throws the
/// exceptions of callbacks, and error: errc::invalid_argument, whose text names the option, before anything is read;
/// errc::engine; errc::out_of_memory; errc::system for a descriptor that cannot be written, or a thread that cannot be
/// started. A failure of the counting is in the result (results::error_kind()). No thread of the run exists after the
/// return. Calls on several threads at once are independent of each other.
///
/// A pipe or socket of pass_through whose reader has disappeared is a pass_through_error. SIGPIPE is blocked in the
/// calling thread and the threads of the run meanwhile, and one that these writes cause is discarded; the disposition
/// and the mask of the caller are as before after the return.
[[nodiscard]] GPUHIST_API file_outcome count_files(const file_options& options, const file_events& events = {});

}  // namespace gpuhist
