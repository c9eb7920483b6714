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
inline void check_job(const counting_job& job, const row_layout& layout) {
  std::uint32_t covered = 0;
  for (const extent& part : job.extents) {
    if (part.begin < covered || part.end < part.begin || part.end > job.bytes.size()) {
      throw engine_error("a chunk of " + std::to_string(job.bytes.size()) + " bytes has the extent [" +
                         std::to_string(part.begin) + ", " + std::to_string(part.end) +
                         "), which is outside the chunk or overlaps the previous extent");
    }
    covered = part.end;
  }
  if (job.rows.size() != job.extents.size() * layout.columns()) {
    throw engine_error("a chunk of " + std::to_string(job.extents.size()) + " extents and " +
                       std::to_string(layout.columns()) + " columns has room for " + std::to_string(job.rows.size()) +
                       " counters");
  }
}

/// Throws engine_error unless each row counts the bytes of its extent, and one pair fewer. Every byte is in exactly one
/// class, and every byte but the first ends one pair, so this detects an engine that miscounts, at the cost of one
/// addition per counter.
inline void check_rows(const counting_job& job, const row_layout& layout, std::string_view engine) {
  for (std::size_t i = 0; i < job.extents.size(); ++i) {
    const auto row = job.rows.subspan(i * layout.columns(), layout.columns());
    const auto check = [&](std::span<const std::uint32_t> counters, std::uint64_t expected, std::string_view of) {
      const auto counted = std::accumulate(counters.begin(), counters.end(), std::uint64_t{0});
      if (counted == expected) return;
      throw engine_error("the engine '" + std::string(engine) + "' miscounted: " + std::to_string(counted) + " " +
                         std::string(of) + " where there are " + std::to_string(expected) + ", at offset " +
                         std::to_string(job.extents[i].begin) + " of a chunk of " + std::to_string(job.bytes.size()));
    };
    const std::uint32_t bytes = job.extents[i].size();
    check(row.first(layout.counted.classes), bytes, "bytes");
    if (layout.pairs) check(row.subspan(layout.pairs_at(), layout.pair_columns()), bytes > 0 ? bytes - 1 : 0, "pairs");
  }
}

}  // namespace gpuhist::gpu
