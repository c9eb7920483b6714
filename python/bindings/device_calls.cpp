#include "device_calls.hpp"

#include <cuda_runtime_api.h>
#include <gpuhist/device_samples.hpp>
#include <gpuhist/errors.hpp>

#include <string>

namespace gpuhist::python {
namespace {

std::string remedy_for(cudaError_t code) {
  if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorUnsupportedPtxVersion)
    return " (gpuhist was built for other devices: pip install . -C cmake.define.CMAKE_CUDA_ARCHITECTURES=native)";
  if (code == cudaErrorInsufficientDriver || code == cudaErrorNoDevice) return " (is the driver of NVIDIA installed?)";
  return {};
}

void check(cudaError_t code, const std::string& action, int device) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // a later launch must not report it again
  throw error(code == cudaErrorMemoryAllocation ? errc::out_of_memory : errc::engine,
              "CUDA device " + std::to_string(device) + ": " + action + ": " + cudaGetErrorName(code) + ": " +
                  cudaGetErrorString(code) + remedy_for(code));
}

/// Makes a device the current one of this thread while it exists.
class current_device {
 public:
  explicit current_device(int device) {
    check(cudaGetDevice(&before_), "finding the current device (cudaGetDevice)", device);
    if (before_ == device) return;
    check(cudaSetDevice(device), "selecting the device (cudaSetDevice)", device);
    changed_ = true;
  }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;
  ~current_device() {
    if (changed_) static_cast<void>(cudaSetDevice(before_));
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

cudaStream_t stream_of(device_stream where) { return reinterpret_cast<cudaStream_t>(where.stream); }

device_histogram histogram_of(const device_bins& bins) {
  return {.bins = bins.x, .y_bins = bins.y ? &*bins.y : nullptr, .channels = bins.channels};
}

template <class Value>
Value* at(std::uintptr_t address) {
  return reinterpret_cast<Value*>(address);
}

// The tables of the bins are copied from pageable memory, which a graph cannot contain.
void refuse_capture(device_stream where) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream_of(where), &status), "asking for a capture (cudaStreamIsCapturing)", where.device);
  if (status != cudaStreamCaptureStatusNone)
    throw error(errc::engine, "CUDA device " + std::to_string(where.device) +
                                  ": the stream is being captured into a graph, and a histogram in Python copies the "
                                  "tables of its bins from host memory: make the histogram outside the graph");
}

}  // namespace

void check_device_support() {}

device_sizes sizes_of(const device_bins& bins) {
  const device_histogram histogram = histogram_of(bins);
  return {.values = histogram.values(), .workspace = workspace_bytes(histogram)};
}

void count_on_device(const device_bins& bins, const device_samples& samples, const device_memory& memory,
                     device_stream where) {
  const current_device current(where.device);
  refuse_capture(where);
  const device_histogram histogram = histogram_of(bins);
  void* const workspace = at<void>(memory.workspace);
  check(prepare_workspace(histogram, workspace, stream_of(where)), "copying the tables of the bins", where.device);
  const sample_view y = samples.y ? samples.y->samples() : sample_view{};
  const cudaError_t code =
      samples.weights ? sum_device_samples(histogram, samples.x.samples(), {.view = samples.weights->weights()},
                                           at<double>(memory.rows), workspace, stream_of(where), y)
                      : count_device_samples(histogram, samples.x.samples(), at<unsigned long long>(memory.rows),
                                             workspace, stream_of(where), y);
  check(code, "counting samples", where.device);
}

void wait_for(device_stream where) {
  const current_device current(where.device);
  check(cudaStreamSynchronize(stream_of(where)), "counting samples (cudaStreamSynchronize)", where.device);
}

}  // namespace gpuhist::python
