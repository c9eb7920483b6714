// Jobs of a few thousand bytes, each with memory of its own.
#pragma once

#include "contract/engine_contract.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace gpuhist::gpu {

inline constexpr std::size_t job_bytes = 3000;

inline std::vector<extent> job_extents() { return {{0, 10}, {10, 1001}, {1500, job_bytes}}; }

using job_memories = std::vector<std::unique_ptr<contract::job_memory>>;

inline job_memories memory_for(std::size_t jobs, std::size_t classes) {
  job_memories memory(jobs);
  for (auto& each : memory) each = std::make_unique<contract::job_memory>(job_bytes, job_extents().size(), classes);
  return memory;
}

}  // namespace gpuhist::gpu
