#include "gpu/cuda/cuda_engine.hpp"

#include "gpu/cuda/devices.hpp"
#include "gpu/cuda/error.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

namespace gpuhist::gpu::cuda {
namespace {

std::vector<cuda_device> devices_for(runtime& api, const engine_request& request) {
  if (request.forecast && request.forecast->cuda) return request.forecast->devices;
  device_choice choice = choose_devices(find_devices(api), request);
  if (choice.taken.empty()) throw engine_error(choice.why);
  return std::move(choice.taken);
}

// Grouped chunks seldom have all the extents they may have; one that has them all crosses alone.
std::uint32_t extents_of_a_copy(const engine_request& request) {
  constexpr std::uint32_t enough = 1024;
  const std::uint64_t chunks = std::max<std::uint64_t>(1, request.max_copy / request.max_chunk);
  const std::uint64_t of_all = chunks * request.max_extents;
  return std::max(request.max_extents, static_cast<std::uint32_t>(std::min<std::uint64_t>(of_all, enough)));
}

void add(device_timeline& sum, const device_timeline& more) {
  sum.span_seconds += more.span_seconds;
  sum.copy_busy_seconds += more.copy_busy_seconds;
  sum.kernel_busy_seconds += more.kernel_busy_seconds;
  sum.overlap_seconds += more.overlap_seconds;
  sum.devices += more.devices;
}

std::unique_ptr<device_lanes> start_device(const lane_environment& shared, unsigned lanes) {
  try {
    return std::make_unique<device_lanes>(shared, lanes);
  } catch (const engine_error&) {
    std::rethrow_exception(failure_of(shared));
  }
}

}  // namespace

cuda_engine::cuda_engine(std::unique_ptr<runtime> api, const engine_request& request)
    : api_(std::move(api)), counted_(request.counted) {
  const auto start = std::chrono::steady_clock::now();
  devices_ = devices_for(*api_, request);
  if (request.max_chunk == 0 || request.max_extents == 0) {
    throw engine_error("the CUDA engine must be told the largest chunk and the most extents of one");
  }
  start_devices(request);
  startup_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Each on a thread of its own: a context takes tenths of a second. Where one fails, the others are waited for and given
// back by the futures.
void cuda_engine::start_devices(const engine_request& request) {
  const unsigned lanes = request.streams != 0 ? request.streams : default_lanes;
  std::vector<std::future<std::unique_ptr<device_lanes>>> starting;
  for (const cuda_device& each : devices_) {
    const lane_environment shared{
        .api = *api_,
        .counted = counted_,
        .queue = queue_,
        .device = each.number,
        .label = devices_.size() > 1 ? "device " + std::to_string(each.number) + " (" + each.name + ")" : std::string(),
        .multiprocessors = each.multiprocessors,
        .max_chunk = request.max_chunk,
        .max_extents = request.max_extents,
        .max_copy = std::max(request.max_chunk, request.max_copy),
        .copy_extents = extents_of_a_copy(request)};
    starting.push_back(std::async(std::launch::async, [shared, lanes] { return start_device(shared, lanes); }));
  }
  for (auto& each : starting) started_.push_back(each.get());
}

cuda_engine::~cuda_engine() {
  started_.clear();  // joins their lanes: nothing uses the registered memory after
  if (registered_.empty()) return;
  static_cast<void>(api_->use_device(devices_.front().number));
  for (const registration& each : registered_) static_cast<void>(api_->host_unregister(each.memory));
}

// Once for all devices: what is registered is portable.
void cuda_engine::register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) {
  check(*api_, api_->use_device(devices_.front().number), "choosing the device (cudaSetDevice)");
  const std::lock_guard lock(registered_mutex_);
  registered_.reserve(registered_.size() + 1);
  check(*api_, api_->host_register(memory.data(), memory.size()),
        "page-locking " + std::to_string(memory.size()) + " bytes for the device (cudaHostRegister)");
  registered_.push_back({memory.data(), std::move(owner)});
}

void cuda_engine::submit(counting_job& job) {
  try {
    queue_.push(job);
  } catch (...) {
    job.done(job, std::current_exception());
  }
}

engine_stats cuda_engine::stats() const {
  engine_stats all{.kernel = "lane_private",
                   .device = names_of(devices_),
                   .workers = 0,
                   .startup_seconds = startup_seconds_,
                   .jobs = 0,
                   .bytes = 0,
                   .busy_seconds = 0,
                   .timeline = device_timeline{.devices = 0}};
  for (const auto& each : started_) {
    const lane_tallies& done = each->done();
    all.workers += each->lanes();
    all.jobs += done.jobs;
    all.bytes += done.bytes;
    all.busy_seconds += done.times.kernel_seconds();
    add(*all.timeline, done.times.read());
  }
  all.device_bytes = all.bytes;
  return all;
}

}  // namespace gpuhist::gpu::cuda
