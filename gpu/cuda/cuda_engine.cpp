#include "gpu/cuda/cuda_engine.hpp"

#include "gpu/cuda/devices.hpp"
#include "gpu/cuda/error.hpp"
#include "gpu/cuda/kept_memory.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gpuhist::gpu::cuda {
namespace {

std::vector<cuda_device> devices_for(runtime& api, const engine_request& request) {
  if (request.forecast && request.forecast->cuda) return request.forecast->devices;
  device_choice choice = choose_devices(find_devices(api), request);
  if (choice.taken.empty()) throw engine_error(choice.why);
  return std::move(choice.taken);
}

// Grouped chunks seldom have the maximum number of extents. A chunk that has it is copied alone.
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

std::string label_of(const cuda_device& device) {
  return "device " + std::to_string(device.number) + " (" + device.name + ")";
}

std::unique_ptr<device_lanes> start_device(const lane_environment& shared, unsigned lanes) {
  try {
    return std::make_unique<device_lanes>(shared, lanes);
  } catch (const engine_error&) {
    std::rethrow_exception(failure_of(shared));
  }
}

// Whether the device of this failure must not be called again.
bool is_lost_device(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const lost_device&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

cuda_engine::cuda_engine(std::unique_ptr<runtime> api, const engine_request& request)
    : api_(std::move(api)), layout_(request.layout()), decoder_memory_(request.decoder_memory) {
  const auto start = std::chrono::steady_clock::now();
  devices_ = devices_for(*api_, request);
  if (request.max_chunk == 0 || request.max_extents == 0) {
    throw engine_error("the CUDA engine needs max_chunk and max_extents, and one of them is 0");
  }
  start_devices(request);
  startup_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Each device is initialized on a separate thread, because a context takes tenths of a second. If no thread can be
// started, the devices are initialized here, in sequence.
void cuda_engine::start_devices(const engine_request& request) {
  const unsigned lanes = request.streams != 0 ? request.streams : default_lanes;
  std::vector<std::future<std::unique_ptr<device_lanes>>> starting;
  queue_.expect_devices(devices_.size());
  for (const cuda_device& each : devices_) {
    fuses_.push_back(std::make_unique<fused_runtime>(*api_));
    const lane_environment shared{.api = *fuses_.back(),
                                  .layout = layout_,
                                  .queue = queue_,
                                  .device = each.number,
                                  .label = label_of(each),
                                  .multiprocessors = each.multiprocessors,
                                  .max_chunk = request.max_chunk,
                                  .max_extents = request.max_extents,
                                  .max_copy = std::max(request.max_chunk, request.max_copy),
                                  .copy_extents = extents_of_a_copy(request)};
    starting.push_back(std::async(std::launch::async | std::launch::deferred,
                                  [shared, lanes] { return start_device(shared, lanes); }));
  }
  take_started(std::move(starting));
}

// If a device fails, the others are awaited and released. A lost device takes precedence over other failures.
void cuda_engine::take_started(std::vector<std::future<std::unique_ptr<device_lanes>>> starting) {
  started_.reserve(starting.size());
  std::exception_ptr failure;
  for (auto& each : starting) {
    try {
      started_.push_back(each.get());
    } catch (...) {
      if (!failure || is_lost_device(std::current_exception())) failure = std::current_exception();
    }
  }
  if (!failure) return;
  started_.clear();
  std::rethrow_exception(failure);
}

// Memory is registered for all devices: if one of them cannot be called, the memory stays registered.
cuda_engine::~cuda_engine() {
  decoder_.reset();
  started_.clear();  // joins the lanes: after this nothing uses the registered memory
  if (registered_.empty()) return;
  runtime& api = *fuses_.front();
  static_cast<void>(api.use_device(devices_.front().number));
  for (registration& each : registered_) {
    if (!are_all_usable() || (each.is_locked && api.host_unregister(each.memory) != success)) {
      keep_for_good(std::move(each.owner));
    }
  }
}

bool cuda_engine::are_all_usable() const {
  return std::ranges::none_of(fuses_, [](const auto& each) { return each->is_blown(); });
}

// Once for all devices: the registration is portable (cudaHostRegisterPortable).
void cuda_engine::register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) {
  runtime& api = *fuses_.front();
  const std::string by = label_of(devices_.front()) + ": ";
  const std::string choosing = by + "choosing the device (cudaSetDevice)";
  check(api, api.use_device(devices_.front().number), choosing);
  const std::lock_guard lock(registered_mutex_);
  registered_.reserve(registered_.size() + 1);
  const bool is_locked = page_lock(api, memory, by, "of slots");
  registered_.push_back({memory.data(), std::move(owner), is_locked});
}

void cuda_engine::submit(counting_job& job) {
  try {
    queue_.push(job);
  } catch (...) {
    job.on_complete(job, std::current_exception());
  }
}

frame_decoder* cuda_engine::decoder() {
  if (layout_.pairs) return nullptr;
  const std::lock_guard lock(decoder_mutex_);
  if (!decoder_) {
    std::vector<frames::frame_device> devices;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      devices.push_back({.api = *fuses_[i],
                         .number = devices_[i].number,
                         .label = label_of(devices_[i]),
                         .multiprocessors = devices_[i].multiprocessors});
    }
    decoder_ = std::make_unique<frames::frame_lanes>(devices, decoder_memory_, layout_.counted);
  }
  return decoder_.get();
}

engine_stats cuda_engine::stats() const {
  engine_stats all{.kernel = std::string(kernel_name),
                   .device = names_of(devices_),
                   .workers = 0,
                   .startup_seconds = startup_seconds_,
                   .jobs = 0,
                   .bytes = 0,
                   .busy_seconds = 0,
                   .timeline = device_timeline{.devices = 0}};
  for (const auto& each : started_) {
    const lane_tallies& tallies = each->tallies();
    all.workers += each->lanes();
    all.jobs += tallies.jobs;
    all.bytes += tallies.bytes;
    all.busy_seconds += tallies.times.kernel_seconds();
    add(*all.timeline, tallies.times.read());
    if (const std::string shortage = each->shortage(); !shortage.empty())
      all.note += (all.note.empty() ? "" : "; ") + shortage;
  }
  const std::lock_guard lock(registered_mutex_);
  if (!std::ranges::all_of(registered_, &registration::is_locked)) {
    all.note += (all.note.empty() ? "" : "; ") + label_of(devices_.front()) +
                " cannot page-lock host memory (cudaErrorNotSupported): copies are slower";
  }
  {
    const std::lock_guard decoder_lock(decoder_mutex_);
    if (decoder_) all.decoded = decoder_->stats();
  }
  all.bytes += all.decoded.text_bytes;
  all.device_bytes = all.bytes;
  all.device_lost = !are_all_usable();
  return all;
}

}  // namespace gpuhist::gpu::cuda
