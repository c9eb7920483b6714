// Statistics of the stages before counting: clocks, and the manner in which inputs were read.
#pragma once

#include "pipeline/flow/statistics/stage_clock.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// One manner of reading or decoding inputs, and the number of inputs.
struct input_manner {
  std::string description;
  std::uint64_t inputs = 0;
};

/// Adds `inputs` to the manner with this description, or inserts it.
inline void add_manner(std::vector<input_manner>& to, std::string_view description, std::uint64_t inputs = 1) {
  const auto known = std::ranges::find(to, description, &input_manner::description);
  if (known == to.end()) {
    to.push_back({.description = std::string(description), .inputs = inputs});
  } else {
    known->inputs += inputs;
  }
}

/// Clocks, atomic counters and the functions are thread-safe. Only the coroutine of feeder::feed_all() may use the
/// other members until it has ended.
struct feed_notes {
  stage_clock read{.name = "read"};
  stage_clock decompress{.name = "decompress"};
  std::vector<input_manner> reading{};
  bool files_in_parallel = false;  ///< threads of the pool read several ranges of files at once
  std::atomic<std::uint64_t> compressed_inputs{0};
  std::atomic<std::uint64_t> frames{0};  ///< decoded to their end
  std::string device_note{};             ///< why devices decode no frames; empty: they do, or were not asked to
  std::vector<input_manner> decoding{};  ///< how inputs were split among decoders, or why not

  /// Why devices decode no frames.
  void note_device(const std::string& why) {
    const std::scoped_lock lock(mutex_);
    device_note = why;
  }

  void add_reading(std::string_view description, std::uint64_t inputs = 1) {
    const std::scoped_lock lock(mutex_);
    add_manner(reading, description, inputs);
  }

  void add_decoding(std::string_view description) {
    const std::scoped_lock lock(mutex_);
    add_manner(decoding, description);
  }

 private:
  std::mutex mutex_;
};

}  // namespace gpuhist::pipeline
