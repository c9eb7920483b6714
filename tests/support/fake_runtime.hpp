// A CUDA runtime without a device: host memory, a thread per stream, and events that enforce their order. Tests run
// lanes on it under the sanitizers. It records misuses in a ledger.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace gpuhist::gpu::cuda {

/// The settings of a fake runtime and what it observed; outlives it. All members are thread-safe.
class ledger {
 public:
  void misused(const std::string& misuse);
  [[nodiscard]] std::vector<std::string> misuses() const;

  void context_made(int device);
  /// The devices on which a call created a context, as CUDA's would.
  [[nodiscard]] std::set<int> contexts() const;

  /// Each kernel calls this before it counts, with the number of its device, on the thread of its stream. To be set
  /// before the runtime is used.
  std::function<void(int)> before_kernel;

  std::size_t max_registered_bytes = ~std::size_t{0};  ///< more cannot be page-locked at a time
  result refusal = 2;  ///< code of a refused registration; after 801 (not supported) copies need no registration

  int driver_version = 13010;  ///< 0: there is no driver

  /// A call on a device will fail for good. No thread waits for such a device: it may still read a slot that has been
  /// reused, for rows that are never read (gpu/cuda/lane.cpp). The thread sanitizer does not see these reads.
  bool may_be_lost = false;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> misuses_;
  std::set<int> contexts_;
};

/// Whether a misuse is a handle that was not released, as on a device that failed for good.
inline bool is_left_on_the_device(const std::string& misuse) { return misuse.ends_with("never given back"); }

/// A typical device.
device_properties fake_device();

/// The ledger gets a report of: memory used after it was freed, past its end or from another device's stream; copies
/// from or to memory that is not registered; streams and events used while another device is current, or together
/// across devices; and, at destruction, every handle that was not released. A device has memory_bytes of memory, which
/// starts with arbitrary content.
std::unique_ptr<runtime> make_fake_runtime(std::shared_ptr<ledger> shared_ledger,
                                           std::vector<device_properties> devices = {fake_device()});

}  // namespace gpuhist::gpu::cuda
