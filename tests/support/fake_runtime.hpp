// A CUDA runtime without a device: memory of the host, a thread a stream, events that really order them. Lanes run on
// it under the sanitizers, and it keeps a ledger of what was done wrong.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace gpuhist::gpu::cuda {

/// What a fake runtime saw; outlives it. All members are thread-safe.
class ledger {
 public:
  void misused(const std::string& how);
  [[nodiscard]] std::vector<std::string> misuses() const;

  void context_made(int device);
  /// The devices that a call woke which makes a context, as CUDA's would.
  [[nodiscard]] std::set<int> contexts() const;

  /// Called with the number of its device by each kernel before it counts, on the thread of its stream. To be set
  /// before the runtime is used.
  std::function<void(int)> before_kernel;

  std::size_t max_registered_bytes = ~std::size_t{0};  ///< more cannot be page-locked at a time
  result refusal = 2;  ///< what a refused registration says; after 801 (not supported) copies need none

  int driver_version = 13010;  ///< 0: there is no driver

  /// A call of a device will fail for good. Such a device is not waited for: it may still read a slot that is in use
  /// again, for rows that are not read (gpu/cuda/lane.cpp). The thread sanitizer does not see what it reads.
  bool may_be_lost = false;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> misuses_;
  std::set<int> contexts_;
};

/// A device as good as any, for the list below.
device_properties fake_device();

/// Its ledger is told of: memory used after it was freed, past its end or from another device's stream, copies from or
/// to memory that is not registered, streams and events used while another device is current or with each other across
/// devices, and, when it is destroyed, of every handle not given back. Device memory starts as rubbish, and there
/// are memory_bytes of it.
std::unique_ptr<runtime> make_fake_runtime(std::shared_ptr<ledger> seen,
                                           std::vector<device_properties> devices = {fake_device()});

}  // namespace gpuhist::gpu::cuda
