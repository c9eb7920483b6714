// The lanes of one device of a CUDA engine, which take jobs from the queue of the engine.
#pragma once

#include "gpu/cuda/job_queue.hpp"
#include "gpu/cuda/lane.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/cuda/timeline.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gpuhist::gpu::cuda {

class device_lanes {
 public:
  /// Makes and starts `lanes` lanes on shared.device. Each lane has device memory for two of the largest copies, their
  /// extents and rows. If memory is insufficient, makes fewer lanes and smaller copies, down to one lane with copies of
  /// one chunk. If threads are insufficient, starts fewer lanes, down to one. Makes the device current on the calling
  /// thread. Throws engine_error.
  device_lanes(lane_environment shared, unsigned lanes);
  device_lanes(const device_lanes&) = delete;
  device_lanes& operator=(const device_lanes&) = delete;

  /// Joins the lanes, then releases all memory. Any thread may destroy it.
  ~device_lanes();

  /// The sums over its lanes; thread-safe.
  [[nodiscard]] const lane_tallies& tallies() const { return tallies_; }
  [[nodiscard]] unsigned lanes() const { return static_cast<unsigned>(lanes_.size()); }

  /// What was reduced for lack of memory or threads, as clauses that name the device; empty if nothing was.
  [[nodiscard]] std::string shortage() const;

 private:
  void make_as_many_as_fit(const event& base);
  void start_as_many_as_possible();
  [[nodiscard]] std::string memory_shortage_text() const;

  const unsigned lanes_asked_;
  const std::uint32_t copy_asked_;
  lane_environment shared_;
  lane_tallies tallies_;
  std::vector<std::unique_ptr<lane>> lanes_;
  unsigned lanes_made_ = 0;  // allocated, started or not
};

}  // namespace gpuhist::gpu::cuda
