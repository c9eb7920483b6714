// The table of engines: their names, whether they can be used on this machine, and how one is made by name.
#pragma once

#include "gpu/engine.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::gpu {

/// An engine cannot be made, or failed. The message names the device and the call, and no option.
struct engine_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Device memory or page-locked memory could not be allocated; a smaller amount may succeed.
struct memory_shortage : engine_error {
  using engine_error::engine_error;
};

/// A device failed and must not be called again, not even at the end of the process.
struct lost_device : engine_error {
  using engine_error::engine_error;
};

/// what() of an exception that a thread stored. Precondition: `error` is not null. Throws std::bad_alloc.
inline std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an unknown error";
  }
}

/// Posts a task to a thread pool of the pipeline. If it throws, the task is not run. Thread-safe.
using executor = std::function<void(std::function<void()>)>;

/// A CUDA device that an engine uses.
struct cuda_device {
  int number = 0;
  std::string name;
  int multiprocessors = 1;
};

/// The engine that will count, determined before it is made.
struct engine_forecast {
  bool cuda = false;    ///< CUDA only
  bool shared = false;  ///< the host at once, and devices if the cores are saturated; both false: the host only
  std::vector<cuda_device> devices{};  ///< of the CUDA engine; with `shared` empty: enumerated only when needed
  unsigned lanes = 0;                  ///< lanes of all devices; each can have two chunks in flight
  std::string why{};                   ///< one clause for the user: the name of the device, or what is missing
};

/// State of the run that an engine may read. The counters outlive the engine.
struct workload {
  const std::atomic<std::uint64_t>* bytes_read = nullptr;     ///< from the inputs so far; null: unknown
  std::optional<std::uint64_t> bytes_in_all{};                ///< size of all inputs; empty: unknown
  const std::atomic<std::uint64_t>* busy_decoders = nullptr;  ///< number of busy decoders; null: none
};

struct engine_request {
  partition counted;                 ///< the classes that rows hold
  std::optional<partition> pairs{};  ///< the classes of pairs, at most max_pair_classes; nothing: pairs are not counted
  executor run;          ///< runs the tasks of the host engine (the pool of the pipeline: no more threads than cores)
  unsigned threads = 1;  ///< threads of `run`, for the statistics
  unsigned streams = 0;  ///< CUDA lanes per device; 0: the default of 3
  std::uint64_t decoder_memory = 0;  ///< bytes on each device for engine::decoder(); 0: half of its memory
  std::vector<unsigned> devices{};   ///< CUDA devices by number; empty: the first usable one, or all
  bool all_devices = false;
  std::string kernel{};           ///< by name; with `auto`, the kernel of the host; empty: the best
  std::uint32_t max_chunk = 0;    ///< bytes of the largest chunk
  std::uint32_t max_extents = 0;  ///< maximum number of extents of a chunk
  std::uint32_t max_copy = 0;     ///< bytes of one copy: chunks are grouped up to this size; 0: one chunk per copy
  workload load{};                ///< with `auto`: determines whether a device is woken
  /// With `auto`: the destructor of the engine waits for a device that is still being woken (tenths of a second). Else
  /// the thread that wakes it may outlive the engine, and the process must then end at once.
  bool joins_waker = false;

  [[nodiscard]] row_layout layout() const { return {counted, pairs}; }

  /// Result of forecast_engine for this request: devices are not enumerated again.
  std::optional<engine_forecast> forecast{};
};

/// An engine and, for `auto`, the reason for the choice ("no CUDA device: ...").
struct engine_choice {
  std::unique_ptr<engine> taken;
  std::string reason;
};

/// The names that make_engine accepts, canonical names first: auto, cuda, host, and the synonyms gpu, cpu.
std::vector<std::string_view> engine_names();

/// "cuda" for "gpu", "host" for "cpu"; other names are returned unchanged. Throws std::invalid_argument for an unknown
/// name.
std::string_view canonical_engine(std::string_view name);

/// The engine that make_engine will make on this machine for this name ("auto", "cuda", "host") and the streams and
/// devices of the request; other fields of the request are ignored. "host" makes no CUDA call. If "cuda" is not
/// available, the forecast is the host, with the reason. Throws engine_error if a device that is requested by number
/// cannot be used.
engine_forecast forecast_engine(std::string_view name, const engine_request& request);

/// Makes an engine by name. "cuda" throws engine_error if there is no usable device. "auto" counts on the host and
/// wakes devices if there may be any (automatic_engine). It enumerates devices at once, and throws engine_error for a
/// missing one, only if they are requested by number.
engine_choice make_engine(std::string_view name, const engine_request& request);

}  // namespace gpuhist::gpu
