#include "gpu/cuda/frames/frame_lanes.hpp"

#include "gpu/cuda/error.hpp"
#include "gpu/engines.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace gpuhist::gpu::cuda::frames {

namespace {

// Of a device: one copies while others decode; docs/tuning.md has other numbers.
constexpr unsigned min_lanes = 4;
constexpr unsigned max_lanes = 5;
static_assert(max_lanes > frame_decoder::max_jobs_in_steps);
constexpr std::uint64_t min_lane_bytes = std::uint64_t{16} << 20U;  // for groups of 1 MiB that cannot be compressed
constexpr std::uint64_t min_memory = min_lanes * min_lane_bytes;

unsigned lanes_with(std::uint64_t memory) { return memory < max_lanes * min_lane_bytes ? min_lanes : max_lanes; }

std::uint64_t default_memory(std::span<const frame_device> devices) {
  std::uint64_t memory = std::uint64_t{70} << 30U;
  for (const frame_device& each : devices) {
    device_properties found;
    check(each.api, each.api.properties(each.number, found), "reading the properties (cudaGetDeviceProperties)");
    memory = std::min<std::uint64_t>(memory, found.memory_bytes / 2);
  }
  return memory;
}

// So that there are max_lanes.
constexpr std::uint64_t min_bytes_of_steps = 2 * min_lane_bytes;

// A lane has three times its text: the text, literals, and sequences; a quarter for compressed bytes; an eighth for
// symbols; and rows of counts. 32 bits suffice for the counters and offsets of a batch.
frame_decoder::limits limits_for(std::uint64_t lane_bytes) {
  constexpr std::uint64_t max_text = (std::uint64_t{4} << 30U) - (std::uint64_t{64} << 20U);
  constexpr std::uint64_t text_of_frame = std::uint64_t{64} << 10U;  // smaller ones fill a batch before their text does
  constexpr std::uint64_t alignment = 4096;
  const std::uint64_t text = std::min(max_text, lane_bytes / 7 * 2 / alignment * alignment);
  const auto frames = static_cast<std::uint32_t>(std::max<std::uint64_t>(text / text_of_frame, 256));
  // a row of each slice is part of the memory of a lane, so there are fewer where memory is little
  constexpr std::uint32_t max_slices = 4096;
  frame_decoder::limits limits{.compressed_bytes = text / 4,
                               .text_bytes = text,
                               .frames = frames,
                               .blocks = frames + frames / 2,
                               .slices = std::min(max_slices, frames)};
  limits.sequences = frame_decoder::sequences_for(text, limits.blocks);
  if (lane_bytes >= min_bytes_of_steps) limits.text_of_step = stepped_frame::text_of_step(limits);
  return limits;
}

}  // namespace

frame_lane::frame_lane(const frame_device& device, const frame_decoder::limits& limits, const partition& counted,
                       frame_queue& queue, frame_tallies& tallies, device_fault& fault)
    : device_(device),
      counted_(counted),
      queue_(queue),
      tallies_(tallies),
      fault_(fault),
      batch_(device.api, limits),
      steps_(batch_),
      stream_(device.api),
      done_(device.api) {
  batch_.prepare(stream_);
}

void frame_lane::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

// From here on nothing is allocated but the text of an error, so every job that was taken can be completed.
void frame_lane::run(const std::stop_token& stop) noexcept {
  try {
    check(device_.api, device_.api.use_device(device_.number), "choosing the device (cudaSetDevice)");
  } catch (...) {
    lose_device(labelled_failure(device_.label));
  }
  while (frame_job* const first = queue_.pop(stop, fault_)) {
    fill(first);
    queue_.wake_next();
    std::exception_ptr failure = decode();
    if (!failure) failure = copy_rows();
    complete(batch_.jobs().size(), failure);
    batch_.clear();
    completed_ = 0;
  }
}

void frame_lane::fill(frame_job* first) noexcept {
  for (frame_job* job = first; job != nullptr;) {
    batch_.add(*job);
    if (job->steps != nullptr) return;  // alone
    job = queue_.try_pop_if([&](const frame_job& next) { return batch_.has_room_for(next); });
  }
}

// Work with the device, whose time is noted.
template <class Work>
std::exception_ptr frame_lane::attempt(Work work) noexcept {
  const auto begun = std::chrono::steady_clock::now();
  try {
    work();
  } catch (...) {
    const std::exception_ptr failure = labelled_failure(device_.label);
    drain();
    return lose_device(failure);
  }
  const auto busy = std::chrono::steady_clock::now() - begun;
  tallies_.busy_nanoseconds +=
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(busy).count());
  return nullptr;
}

std::exception_ptr frame_lane::await_device() noexcept {
  return attempt([this] {
    done_.record(stream_);
    done_.wait();
  });
}

std::exception_ptr frame_lane::decode() noexcept {
  if (batch_.jobs().front()->steps != nullptr) {
    auto failure = attempt([this] { steps_.decode(stream_, device_.multiprocessors, counted_); });
    if (!failure) tallies_.busy_nanoseconds -= static_cast<std::uint64_t>(steps_.waited().count());
    return failure;
  }
  std::exception_ptr failure = attempt([this] { batch_.enqueue(stream_, device_.multiprocessors); });
  if (!failure) failure = attempt([this] { batch_.hash_texts(); });
  if (!failure) failure = await_device();
  if (!failure) batch_.write_results(counted_);
  return failure;
}

// All jobs that have memory are completed before the lane waits for more: a lane that waits for memory holds none.
// Another device may be current when memory was taken.
std::exception_ptr frame_lane::copy_rows() noexcept {
  bool is_copying = false;
  for (std::size_t i = 0; i < batch_.jobs().size(); ++i) {
    if (!batch_.has_rows(i)) continue;
    if (!batch_.take_row_memory(i, false)) {
      if (const auto failure = std::exchange(is_copying, false) ? await_device() : nullptr) return failure;
      complete(i, nullptr);
      if (!batch_.take_row_memory(i, true)) continue;
    }
    if (const auto failure = attempt([&] { batch_.enqueue_rows(i, stream_); })) return failure;
    is_copying = true;
  }
  return is_copying ? await_device() : nullptr;
}

// As lane::drain(): the owner of a job may reuse its memory when it is completed.
void frame_lane::drain() noexcept {
  try {
    done_.record(stream_);
    done_.wait();
  } catch (...) {
    return;
  }
}

// Returns the first error of the device: all of its lanes report the same error.
std::exception_ptr frame_lane::lose_device(const std::exception_ptr& why) noexcept {
  if (fault_.note(why)) queue_.lose_device(why);
  return fault_.why();
}

// The jobs before `end` that are not completed yet.
void frame_lane::complete(std::size_t end, const std::exception_ptr& failure) noexcept {
  for (; completed_ < end; ++completed_) {
    frame_job& job = *batch_.jobs()[completed_];
    if (!failure) add_to_tallies(job);
    const auto on_complete = std::move(job.on_complete);  // the call may end the life of the job
    on_complete(job, failure);
  }
}

void frame_lane::add_to_tallies(const frame_job& done) noexcept {
  tallies_.compressed_bytes += done.steps == nullptr ? done.compressed_bytes() : steps_.compressed_bytes();
  if (!done.decoded) {
    if (done.steps == nullptr || !steps_.is_given_up()) ++tallies_.rejected_groups;
    return;
  }
  if (done.measures_only) return;
  ++tallies_.groups;
  tallies_.frames += done.frames.size();
  tallies_.text_bytes += done.text_bytes;
}

frame_lanes::frame_lanes(std::span<const frame_device> devices, std::uint64_t memory, const partition& counted)
    : counted_(counted) {
  for (const frame_device& each : devices) {
    devices_.push_back(std::unique_ptr<started_device>(new started_device{.device = each, .fault = {}, .lanes = {}}));
  }
  queue_.expect_devices(devices_.size());
  try {
    make_all_lanes(memory != 0 ? memory : default_memory(devices));
    for (const auto& each : devices_) {
      for (const auto& lane : each->lanes) lane->start();
    }
  } catch (...) {
    release_lanes();
    throw;
  }
}

// With less memory until it suffices on all devices.
void frame_lanes::make_all_lanes(std::uint64_t memory) {
  for (;; memory /= 2) {
    lanes_of_device_ = lanes_with(memory);
    limits_ = limits_for(memory / lanes_of_device_);
    try {
      for (const auto& each : devices_) make_lanes(*each);
      return;
    } catch (const memory_shortage&) {
      if (memory < 2 * min_memory) throw;
    }
    release_lanes();
  }
}

void frame_lanes::make_lanes(started_device& on) {
  try {
    check(on.device.api, on.device.api.use_device(on.device.number), "choosing the device (cudaSetDevice)");
    while (on.lanes.size() < lanes_of_device_) {
      on.lanes.push_back(std::make_unique<frame_lane>(on.device, limits_, counted_, queue_, tallies_, on.fault));
    }
  } catch (const engine_error&) {
    std::rethrow_exception(labelled_failure(on.device.label));
  }
}

frame_lanes::~frame_lanes() { release_lanes(); }

// Each with its own device: another one may be lost, and the first one may not be chosen.
void frame_lanes::release_lanes() noexcept {
  for (const auto& each : devices_) {
    if (each->lanes.empty()) continue;
    static_cast<void>(each->device.api.use_device(each->device.number));
    each->lanes.clear();
  }
}

frame_decoder_stats frame_lanes::stats() const {
  std::string failure;
  for (const auto& each : devices_) {
    if (failure.empty() && each->fault.why()) failure = text_of(each->fault.why());
  }
  return {.groups = tallies_.groups,
          .frames = tallies_.frames,
          .compressed_bytes = tallies_.compressed_bytes,
          .text_bytes = tallies_.text_bytes,
          .rejected_groups = tallies_.rejected_groups,
          .busy_seconds = 1e-9 * static_cast<double>(tallies_.busy_nanoseconds.load()),
          .lanes = static_cast<unsigned>(devices_.size()) * lanes_of_device_,
          .failure = std::move(failure)};
}

}  // namespace gpuhist::gpu::cuda::frames
