// Checks of a job before an engine counts it, so that an invalid job fails alone with a clear message, and checks of
// its rows.
#pragma once

#include "gpu/engine.hpp"
#include "gpu/engines.hpp"

#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>

namespace gpuhist::gpu {

/// Throws engine_error unless the extents are sorted, disjoint and inside the chunk, and the rows have the right size.
inline void check_job(const counting_job& job, std::size_t classes) {
  std::uint32_t covered = 0;
  for (const extent& part : job.extents) {
    if (part.begin < covered || part.end < part.begin || part.end > job.bytes.size()) {
      throw engine_error("a chunk of " + std::to_string(job.bytes.size()) + " bytes has the extent [" +
                         std::to_string(part.begin) + ", " + std::to_string(part.end) +
                         "), which is outside the chunk or overlaps the previous extent");
    }
    covered = part.end;
  }
  if (job.rows.size() != job.extents.size() * classes) {
    throw engine_error("a chunk of " + std::to_string(job.extents.size()) + " extents and " + std::to_string(classes) +
                       " classes has room for " + std::to_string(job.rows.size()) + " counters");
  }
}

/// Throws engine_error unless the sum of each row is the size of its extent. Every byte is in exactly one class, so
/// this detects an engine that miscounts, at the cost of one addition per counter.
inline void check_rows(const counting_job& job, std::size_t classes, std::string_view engine) {
  for (std::size_t i = 0; i < job.extents.size(); ++i) {
    const auto row = job.rows.subspan(i * classes, classes);
    const auto counted = std::accumulate(row.begin(), row.end(), std::uint64_t{0});
    if (counted == job.extents[i].size()) continue;
    throw engine_error("the engine '" + std::string(engine) + "' miscounted: " + std::to_string(counted) +
                       " bytes where there are " + std::to_string(job.extents[i].size()) + ", at offset " +
                       std::to_string(job.extents[i].begin) + " of a chunk of " + std::to_string(job.bytes.size()));
  }
}

}  // namespace gpuhist::gpu
