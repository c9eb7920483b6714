// What is counted, by what, and with how much memory. Shared by counter and count_files.
#pragma once

#include <gpuhist/results.hpp>
#include <gpuhist/units.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist {

/// Whether devices decode zstd frames and gzip members, instead of the host. The results are the same.
enum class device_decoding : std::uint8_t {
  /// With engine::cuda, and with engine::automatic where it pays; except files below 64 KiB and streams.
  automatic,
  on,  ///< with engine::cuda
  off,
};

/// What counts. All engines give the same counts.
enum class engine : std::uint8_t {
  automatic,  ///< the host, and GPUs if the cores are saturated
  host,       ///< SIMD on the cores
  cuda,       ///< NVIDIA GPUs; an error if there is none
};

/// Windows of the text, each of which is counted.
struct window_options {
  enum class measure : std::uint8_t { bytes, lines, milliseconds };

  measure measured_in = measure::bytes;
  /// Of a window, at least 1; 0: with unit_options::event_time or changes, the library chooses so that a result has
  /// some dozens of windows.
  std::uint64_t length = 0;
  std::uint64_t step = 0;  ///< from the start of a window to that of the next one, at most `length`; 0: `length`
  bool per_input = false;  ///< every input has its own windows; false: windows span inputs
};

/// What conditions are checked for.
struct watch_options {
  bool totals = true;
  bool inputs = true;
  bool windows = true;  ///< if there are any
};

/// All values are checked where the counting starts: errc::invalid_argument names the option, "--threads".
struct counting_options {
  /// Names of schemes (letters, alphabet, bytes, classes, utf8) and definitions: "[name:]bucket=characters;...", such
  /// as "vowels=aeiou;digits=0-9". Definitions without a name are called custom, custom-2, ... . A repeated name counts
  /// once. Empty: bytes and lines are counted.
  std::vector<std::string> schemes{"classes"};
  bool ignore_case = false;  ///< A-Z are counted as a-z
  bool byte_counts = false;  ///< keep the counts of all 256 values
  bool pairs = false;  ///< count how often each bucket follows each bucket; the schemes may have 32 classes at most
  std::vector<std::string> measures{};      ///< names of measures (docs/measures.md) that results report, or "all"
  std::optional<results> baseline{};        ///< an earlier result with byte counts, for measures that compare
  std::string baseline_file{};              ///< the path of such a result, instead of `baseline`; empty: none
  unsigned previous_windows = 0;            ///< compare each window with so many before it; 0: with `baseline`
  std::optional<window_options> windows{};  ///< absent: no windows
  std::optional<unit_options> units{};      ///< lines, records, ... that are measured each by itself; absent: none are
  std::vector<std::string> fail_if{};       ///< conditions ("entropy > 7.9", docs/measures.md) that fail the run
  std::vector<std::string> alert_if{};      ///< conditions that are only reported
  watch_options watch{};
  bool fail_fast = false;  ///< the first condition of fail_if that holds ends the reading

  engine counting_engine = engine::automatic;
  std::vector<unsigned> devices{};  ///< CUDA devices by number; empty: the first usable one
  bool all_devices = false;         ///< all usable CUDA devices
  unsigned streams = 0;             ///< CUDA streams for each device, at most 64; 0: the engine's choice
  device_decoding device_decode = device_decoding::automatic;
  std::uint64_t device_memory = 0;  ///< bytes on each device for decoding, from 64 MiB; 0: half, at most 56 GiB
  std::string kernel{};             ///< by a name that `gpuhist devices --verbose` lists; empty: the best one
  unsigned threads = 0;             ///< of the pool, at most 1024; 0: one for each core
  /// Bytes of all buffers and decoders. 0: 256 MiB for a counter; for count_files the default of --memory-limit, 1 GiB
  /// on most machines. For less than the threads need (2: about 27 MiB) the error states how much that is.
  std::uint64_t memory_limit = 0;
  /// The folder of the temporary file that holds the counts of finished inputs, so that memory does not grow with their
  /// number. Empty: they are kept in memory.
  std::string temporary_folder{};
  std::stop_token stop{};  ///< a request ends the counting as soon as possible
};

/// Callbacks of a run. They are called one at a time, on the thread of the run: that of a counter, or the one that
/// called count_files. They may request a stop, and must not call members of the counter or its inputs except
/// counter::cancel(). An exception ends the run, and is thrown by counter::finish() or count_files(). Calls that feed
/// or end an input may wait for callbacks, so these must not wait for anything that such a caller holds.
struct counting_events {
  std::function<void(const window&)> on_window{};    ///< every window, in their order, as soon as it has closed
  std::function<void(const verdict&)> on_verdict{};  ///< on windows that were not verified
  std::function<void(const alert&)> on_alert{};      ///< every condition that holds
  /// Every unit that unit_options::where selects, with unit_options::filter every one that is not kept; those of an
  /// input in order. Of inputs that are fed, before the call returns that fed the end of the unit.
  std::function<void(const unit&)> on_unit{};
  /// With unit_options::allowed_lateness: every window of event time, in their order, as soon as it has closed: what
  /// was read of its lines, with this window alone in line_summary::windows. The result has no windows then.
  std::function<void(const line_summary&)> on_event_window{};
  /// Messages for people. Of files: one that was rotated, and lines without unit_options::jsonl_field. Of a counter:
  /// these lines when their input has ended, and an input that has failed, by damage or otherwise, when it and all
  /// inputs that were opened before have ended.
  std::function<void(std::string_view)> on_notice{};
};

}  // namespace gpuhist
