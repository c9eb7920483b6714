// What the stages before counting note of what they did: clocks, and in which manner inputs were read.
#pragma once

#include "pipeline/stage_clock.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// One way in which inputs were read, in words, and how many were.
struct reading_manner {
  std::string how;
  std::uint64_t inputs = 0;
};

/// The clocks are for all threads, the rest is for the one coroutine that feeds, and for anyone after its end.
struct feed_notes {
  stage_clock read{};
  stage_clock decompress{};
  std::vector<reading_manner> manners{};
  bool files_in_parallel = false;  ///< some were read by the threads of the pool, several ranges at once
  std::uint64_t compressed_inputs = 0;
  std::uint64_t frames = 0;  ///< that were decoded to their end

  void add_manner(const std::string& how) {
    const auto known = std::ranges::find(manners, how, &reading_manner::how);
    if (known == manners.end()) {
      manners.push_back({.how = how, .inputs = 1});
    } else {
      ++known->inputs;
    }
  }
};

}  // namespace gpuhist::pipeline
