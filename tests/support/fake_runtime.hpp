// A CUDA runtime without a device: memory of the host, a thread a stream, events that really order them. Lanes run on
// it under the sanitizers, and it keeps a ledger of what was done wrong.
#pragma once

#include "gpu/cuda/runtime.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gpuhist::gpu::cuda {

/// What a fake runtime saw; outlives it. All members are thread-safe.
class ledger {
 public:
  void misused(const std::string& how);
  [[nodiscard]] std::vector<std::string> misuses() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> misuses_;
};

/// A device as good as any, for the list below.
device_properties fake_device();

/// Its ledger is told of: memory used after it was freed or past its end, copies from or to memory that is not
/// registered, work on a stream while another device is current, and, when it is destroyed, of every handle not given
/// back. Device memory starts as rubbish.
std::unique_ptr<runtime> make_fake_runtime(std::shared_ptr<ledger> seen,
                                           std::vector<device_properties> devices = {fake_device()});

}  // namespace gpuhist::gpu::cuda
