// The table of engines: which there are, whether they can be used here, and making one by name.
#pragma once

#include "gpu/engine.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::gpu {

/// An engine that cannot be had or that failed: the message names the device, the call and what to do.
struct engine_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Runs a task on one of the pipeline's pool threads, later. Thread-safe.
using executor = std::function<void(std::function<void()>)>;

struct engine_request {
  partition counted;     ///< what the host counts; CUDA counts all 256 values
  executor run;          ///< where the host engine counts (the pipeline's own pool: no thread beyond the cores)
  unsigned threads = 1;  ///< threads behind `run`, for the statistics
  unsigned streams = 0;  ///< CUDA lanes a device; 0: the default of 3
  std::vector<unsigned> devices{};  ///< CUDA devices by number; empty: the first usable one, or all
  bool all_devices = false;
  std::uint32_t max_chunk = 0;    ///< bytes of the largest chunk
  std::uint32_t max_extents = 0;  ///< extents of a chunk at the most
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

/// Whether the name ("auto", "cuda", "host") will be answered by CUDA here: a usable device is present. Cheap for
/// "host" (no runtime call). `why` gets one clause for people: the device's name, or what is missing.
bool will_use_cuda(std::string_view name, std::string& why);

/// Makes an engine by canonical name. "cuda" throws engine_error where no usable device is; "auto" takes the host then.
engine_choice make_engine(std::string_view name, const engine_request& request);

}  // namespace gpuhist::gpu
