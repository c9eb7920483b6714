#include "gpu/cuda/device_lanes.hpp"

#include "gpu/cuda/error.hpp"
#include "gpu/cuda/handles.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace gpuhist::gpu::cuda {

device_lanes::device_lanes(lane_environment shared, unsigned lanes)
    : lanes_asked_(lanes), copy_asked_(shared.max_copy), shared_(std::move(shared)) {
  runtime& api = shared_.api;
  check(api, api.use_device(shared_.device), "choosing the device (cudaSetDevice)");
  const stream first(api);
  event base(api);
  base.record(first);
  base.wait();
  make_as_many_as_fit(base);
  start_as_many_as_possible();
}

// Reduces the number of lanes before the size of the copies. A kernel is much shorter than its copy, so even one lane
// nearly saturates the link, but copies below a few MiB do not.
void device_lanes::make_as_many_as_fit(const event& base) {
  for (;;) {
    try {
      while (lanes_.size() < lanes_asked_) lanes_.push_back(std::make_unique<lane>(shared_, tallies_, base));
      return;
    } catch (const memory_shortage&) {
      if (!lanes_.empty()) return;
      if (shared_.max_copy == shared_.max_chunk && shared_.copy_extents == shared_.max_extents) throw;
      shared_.max_copy = std::max(shared_.max_chunk, shared_.max_copy / 2);
      shared_.copy_extents = std::max(shared_.max_extents, shared_.copy_extents / 2);
    }
  }
}

void device_lanes::start_as_many_as_possible() {
  lanes_made_ = lanes();
  std::size_t started = 0;
  try {
    for (; started < lanes_.size(); ++started) lanes_[started]->start();
  } catch (const std::system_error& error) {
    if (started == 0) {
      throw engine_error("starting the thread of a stream failed: " + error.code().message() +
                         "; the limit on threads is reached (ulimit -u, or pids.max of the control group)");
    }
    lanes_.resize(started);
  }
}

std::string device_lanes::shortage() const {
  std::string text = memory_shortage_text();
  if (lanes() == lanes_made_) return text;
  if (!text.empty()) text += "; ";
  return text + shared_.label + " lacks threads: " + std::to_string(lanes()) + " of " + std::to_string(lanes_made_) +
         " streams";
}

std::string device_lanes::memory_shortage_text() const {
  std::string text;
  if (lanes_made_ < lanes_asked_)
    text = std::to_string(lanes_made_) + " of " + std::to_string(lanes_asked_) + " streams";
  if (shared_.max_copy < copy_asked_) {
    if (!text.empty()) text += ", ";
    text += "copies of " + std::to_string(shared_.max_copy) + " instead of " + std::to_string(copy_asked_) + " bytes";
  }
  return text.empty() ? text : shared_.label + " lacks memory: " + text;
}

// A new thread has device 0 as its current device. Without use_device, releasing memory would wake device 0, which this
// engine may not use.
device_lanes::~device_lanes() {
  static_cast<void>(shared_.api.use_device(shared_.device));
  lanes_.clear();
}

}  // namespace gpuhist::gpu::cuda
