#include "gpu/cuda/cuda_engine.hpp"

#include "gpu/cuda/error.hpp"

#include <chrono>
#include <utility>

namespace gpuhist::gpu::cuda {
namespace {

// The first architecture that nvcc 13 makes machine code for.
constexpr int oldest_capability = 75;

std::string describe(const device_properties& of) {
  return of.name + ", " + std::to_string(of.multiprocessors) + " multiprocessors";
}

std::string too_old(const device_properties& of) {
  return of.name + " is too old: it has compute capability " + std::to_string(of.compute_major) + "." +
         std::to_string(of.compute_minor) + ", gpuhist needs 7.5 or more";
}

std::unique_ptr<lane_environment> make_environment(runtime& api, const device_choice& chosen,
                                                   const engine_request& request) {
  if (!chosen.device) throw engine_error(chosen.why);
  if (request.max_chunk == 0 || request.max_extents == 0) {
    throw engine_error("the CUDA engine must be told the largest chunk and the most extents of one");
  }
  return std::unique_ptr<lane_environment>(new lane_environment{.api = api,
                                                                .device = *chosen.device,
                                                                .multiprocessors = chosen.properties.multiprocessors,
                                                                .max_chunk = request.max_chunk,
                                                                .max_extents = request.max_extents,
                                                                .queue = {},
                                                                .times = {}});
}

}  // namespace

device_choice choose_device(runtime& api) {
  device_choice result;
  int count = 0;
  if (const cuda::result code = api.device_count(count); code != success) {
    result.why = "no CUDA device: " + api.error_text(code) + " (cudaGetDeviceCount)";
    return result;
  }
  for (int device = 0; device < count; ++device) {
    device_properties found;
    if (const cuda::result code = api.properties(device, found); code != success) {
      result.why = "no usable CUDA device: " + api.error_text(code) + " (cudaGetDeviceProperties)";
    } else if (found.compute_major * 10 + found.compute_minor < oldest_capability) {
      result.why = "no usable CUDA device: " + too_old(found);
    } else {
      return {.device = device, .properties = found, .why = describe(found)};
    }
  }
  if (count == 0) result.why = "no CUDA device";
  return result;
}

cuda_engine::cuda_engine(std::unique_ptr<runtime> api, const engine_request& request) : api_(std::move(api)) {
  const auto start = std::chrono::steady_clock::now();
  const device_choice chosen = choose_device(*api_);
  properties_ = chosen.properties;
  shared_ = make_environment(*api_, chosen, request);
  start_lanes(request.streams != 0 ? request.streams : default_lanes);
  startup_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void cuda_engine::start_lanes(unsigned count) {
  check(*api_, api_->use_device(shared_->device), "choosing the device (cudaSetDevice)");
  const stream first(*api_);
  event base(*api_);
  base.record(first);
  base.wait();
  for (unsigned i = 0; i < count; ++i) lanes_.push_back(std::make_unique<lane>(*shared_, base));
  for (const auto& each : lanes_) each->start();
}

cuda_engine::~cuda_engine() {
  lanes_.clear();  // joins them: nothing uses the registered memory after
  for (void* memory : registered_) static_cast<void>(api_->host_unregister(memory));
}

void cuda_engine::register_memory(std::span<std::byte> memory) {
  check(*api_, api_->use_device(shared_->device), "choosing the device (cudaSetDevice)");
  const std::lock_guard lock(registered_mutex_);
  registered_.reserve(registered_.size() + 1);
  check(*api_, api_->host_register(memory.data(), memory.size()),
        "page-locking " + std::to_string(memory.size()) + " bytes for the device (cudaHostRegister)");
  registered_.push_back(memory.data());
}

void cuda_engine::submit(counting_job& job) {
  try {
    shared_->queue.push(job);
  } catch (...) {
    job.done(job, std::current_exception());
  }
}

engine_stats cuda_engine::stats() const {
  return {.kernel = "lane_private",
          .device = properties_.name,
          .workers = static_cast<unsigned>(lanes_.size()),
          .startup_seconds = startup_seconds_,
          .jobs = shared_->jobs,
          .bytes = shared_->bytes,
          .busy_seconds = shared_->times.kernel_seconds(),
          .timeline = shared_->times.read()};
}

}  // namespace gpuhist::gpu::cuda
