// What every engine demands of a job before it touches it, so that a wrong job fails alone and clearly.
#pragma once

#include "gpu/engine.hpp"
#include "gpu/engines.hpp"

namespace gpuhist::gpu {

/// Throws engine_error where the extents are not sorted, disjoint and inside the chunk, or where the rows do not fit
/// them.
inline void check_job(const counting_job& job, std::size_t classes) {
  std::uint32_t covered = 0;
  for (const extent& part : job.extents) {
    if (part.begin < covered || part.end < part.begin || part.end > job.bytes.size()) {
      throw engine_error("a chunk of " + std::to_string(job.bytes.size()) + " bytes has the extent [" +
                         std::to_string(part.begin) + ", " + std::to_string(part.end) +
                         ") that lies outside it or before the end of the extent ahead of it");
    }
    covered = part.end;
  }
  if (job.rows.size() != job.extents.size() * classes) {
    throw engine_error("a chunk of " + std::to_string(job.extents.size()) + " extents and " + std::to_string(classes) +
                       " classes has room for " + std::to_string(job.rows.size()) + " counters");
  }
}

}  // namespace gpuhist::gpu
