#include <gpuhist/errors.hpp>

#include "device_calls.hpp"

namespace gpuhist::python {
namespace {

[[noreturn]] void refuse() {
  throw error(errc::engine,
              "samples in device memory: this gpuhist was built without CUDA; install one that was built with nvcc on "
              "the PATH, or copy the samples to host memory");
}

}  // namespace

void check_device_support() { refuse(); }
device_sizes sizes_of(const device_bins&) { refuse(); }
void count_on_device(const device_bins&, const device_samples&, const device_memory&, device_stream) { refuse(); }
void wait_for(device_stream) { refuse(); }

}  // namespace gpuhist::python
