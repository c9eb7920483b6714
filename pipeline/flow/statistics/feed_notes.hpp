// What the stages before counting note of what they did: clocks, and in which manner inputs were read.
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

/// One way in which inputs were dealt with, in words, and how many were.
struct input_manner {
  std::string description;
  std::uint64_t inputs = 0;
};

/// Counts the manner, one of few, of so many inputs.
inline void add_manner(std::vector<input_manner>& to, std::string_view description, std::uint64_t inputs = 1) {
  const auto known = std::ranges::find(to, description, &input_manner::description);
  if (known == to.end()) {
    to.push_back({.description = std::string(description), .inputs = inputs});
  } else {
    known->inputs += inputs;
  }
}

/// Clocks, counters and add_decoding are for all threads, the rest is for the one coroutine that feeds, and for anyone
/// after its end.
struct feed_notes {
  stage_clock read{};
  stage_clock decompress{};
  std::vector<input_manner> reading{};
  bool files_in_parallel = false;  ///< some were read by the threads of the pool, several ranges at once
  std::uint64_t compressed_inputs = 0;
  std::atomic<std::uint64_t> frames{0};  ///< that were decoded to their end
  std::vector<input_manner> decoding{};  ///< how inputs were split among decoders, or why not

  void add_decoding(std::string_view how) {
    const std::scoped_lock lock(decoding_mutex_);
    add_manner(decoding, how);
  }

 private:
  std::mutex decoding_mutex_;
};

}  // namespace gpuhist::pipeline
