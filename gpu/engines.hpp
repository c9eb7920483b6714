// The table of engines: which there are, whether they can be used here, and making one by name.
#pragma once

#include "gpu/engine.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::gpu {

/// An engine that cannot be had or that failed: the message names the device, the call and what to do.
struct engine_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Device memory or page-locked memory that could not be had: less of it may be.
struct memory_shortage : engine_error {
  using engine_error::engine_error;
};

/// A device failed so that it must not be called any more, at the end of the process either.
struct lost_device : engine_error {
  using engine_error::engine_error;
};

/// Runs a task on one of the pipeline's pool threads, later; or throws, and will not run it. Thread-safe.
using executor = std::function<void(std::function<void()>)>;

/// A CUDA device that is to count.
struct cuda_device {
  int number = 0;
  std::string name;
  int multiprocessors = 1;
};

/// What will count, before it is made.
struct engine_forecast {
  bool cuda = false;                   ///< CUDA alone
  bool shared = false;                 ///< the host at once, and devices when the cores fall short; else the host alone
  std::vector<cuda_device> devices{};  ///< that CUDA takes; of `shared`, empty where they are looked for when needed
  unsigned lanes = 0;                  ///< on all of them together; two chunks each can be on their way
  std::string why{};                   ///< one clause for people: the device's name, or what is missing
};

/// What an engine may know of the run that it counts for. The counters outlive the engine.
struct workload {
  const std::atomic<std::uint64_t>* bytes_read = nullptr;     ///< from the inputs so far; null: not known
  std::optional<std::uint64_t> bytes_in_all{};                ///< of the inputs; nothing: not known
  const std::atomic<std::uint64_t>* busy_decoders = nullptr;  ///< decoders at work; null: none
};

struct engine_request {
  partition counted;     ///< what rows hold
  executor run;          ///< where the host engine counts (the pipeline's own pool: no thread beyond the cores)
  unsigned threads = 1;  ///< threads behind `run`, for the statistics
  unsigned streams = 0;  ///< CUDA lanes a device; 0: the default of 3
  std::vector<unsigned> devices{};  ///< CUDA devices by number; empty: the first usable one, or all
  bool all_devices = false;
  std::string kernel{};                       ///< by name; of `auto`, that of the host; empty: the best
  std::uint32_t max_chunk = 0;                ///< bytes of the largest chunk
  std::uint32_t max_extents = 0;              ///< extents of a chunk at the most
  std::uint32_t max_copy = 0;                 ///< bytes that cross at once: chunks are grouped up to here; 0: singly
  workload load{};                            ///< of `auto`: decides whether a device is woken
  std::optional<engine_forecast> forecast{};  ///< of this very request: devices are not looked for again
};

/// The engine that was taken and, for `auto`, why ("no CUDA device: ...").
struct engine_choice {
  std::unique_ptr<engine> taken;
  std::string reason;
};

/// The names `make_engine` knows, canonical ones first: auto, cuda, host, and the synonyms gpu, cpu.
std::vector<std::string_view> engine_names();

/// "cuda" for "gpu", "host" for "cpu", the name itself for the rest. Throws std::invalid_argument for unknown ones.
std::string_view canonical_engine(std::string_view name);

/// What make_engine will take here for this name ("auto", "cuda", "host") and the request's streams and devices; the
/// rest of the request does not matter. "host" costs no call of CUDA's. Where "cuda" is not to be had, the forecast is
/// the host, with the reason. Throws engine_error for devices asked for by number that cannot be had.
engine_forecast forecast_engine(std::string_view name, const engine_request& request);

/// Makes an engine by canonical name. "cuda" throws engine_error where no usable device is. "auto" counts on the host,
/// and wakes devices where there may be any (automatic_engine); their names are looked for at once, and missing ones an
/// engine_error, only where they were asked for by number.
engine_choice make_engine(std::string_view name, const engine_request& request);

}  // namespace gpuhist::gpu
