// One device of a CUDA engine at work: its lanes, which pull from the engine's queue, and its clock.
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
  /// Makes `lanes` lanes on shared.device, each with twice the device memory of the largest copy, its extents and rows,
  /// and starts them; where memory is short, fewer lanes and smaller copies, down to one lane for single chunks; where
  /// threads are short, fewer lanes, down to one. Makes that device the calling thread's. Throws engine_error.
  device_lanes(lane_environment shared, unsigned lanes);
  device_lanes(const device_lanes&) = delete;
  device_lanes& operator=(const device_lanes&) = delete;

  /// Joins the lanes, then gives everything back, from whatever thread.
  ~device_lanes();

  /// The tallies of its lanes; thread-safe.
  [[nodiscard]] const lane_tallies& done() const { return done_; }
  [[nodiscard]] unsigned lanes() const { return static_cast<unsigned>(lanes_.size()); }

  /// What is smaller or fewer for lack of memory or threads, as clauses that name the device; empty where nothing is.
  [[nodiscard]] std::string shortage() const;

 private:
  void make_as_many_as_fit(const event& base);
  void start_as_many_as_can_be();
  [[nodiscard]] std::string memory_shortage_text() const;

  const unsigned lanes_asked_;
  const std::uint32_t copy_asked_;
  lane_environment shared_;
  lane_tallies done_;
  std::vector<std::unique_ptr<lane>> lanes_;
  unsigned lanes_made_ = 0;  // for which there was memory, started or not
};

}  // namespace gpuhist::gpu::cuda
