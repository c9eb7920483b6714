#include "gpu/cuda/lane.hpp"

#include "gpu/cuda/error.hpp"
#include "gpu/job_check.hpp"
#include "gpu/stage_range.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace gpuhist::gpu::cuda {
namespace {

// In seconds. The runtime returns times as 32-bit floats in milliseconds; up to this limit they are exact to less than
// a microsecond.
constexpr double longest_from_anchor = 1.0;

}  // namespace

std::exception_ptr failure_of(const lane_environment& shared) noexcept { return labelled_failure(shared.label); }

lane::buffers::buffers(const lane_environment& shared)
    : jobs(shared.api, shared.max_copy, shared.copy_extents, shared.layout.pair_columns()),
      bytes(shared.api, batch::device_bytes(shared.max_copy)),
      extents(shared.api, shared.copy_extents * sizeof(extent)),
      copies(),
      copied_extents(),
      rows(shared.api, batch::row_bytes(shared.copy_extents, shared.layout.pair_columns())),
      copy_begin(shared.api),
      copy_end(shared.api),
      kernel_end(shared.api),
      counted(shared.api) {
  constexpr std::size_t few = 16;
  copied_extents.reserve(few);
  copies.reserve(batch::max_jobs + 1);
}

lane::lane(lane_environment& shared, lane_tallies& tallies, const event& base)
    : shared_(shared),
      tallies_(tallies),
      sets_{buffers(shared), buffers(shared)},
      stream_(shared.api),
      anchor_(shared.api) {
  anchor_.record(stream_);
  anchor_.wait();
  anchor_seconds_ = anchor_.seconds_since(base);
}

void lane::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

// The stream always has work: the next jobs are enqueued before the thread waits for those in flight. The thread waits
// for the queue only while nothing is in flight. After the device has failed, the jobs in flight are completed and no
// more are taken. From here on only the text of an error is allocated, so every job that was taken can be completed.
void lane::run(const std::stop_token& stop) noexcept {
  try {
    check(shared_.api, shared_.api.use_device(shared_.device), "choosing the device (cudaSetDevice)");
  } catch (...) {
    lose_device(failure_of(shared_));
  }
  buffers* next = sets_.data();
  buffers* in_flight = sets_.data() + 1;
  for (;;) {
    counting_job* job = nullptr;
    if (in_flight->jobs.empty()) {
      job = shared_.queue.pop(stop, tallies_.fault);
    } else if (!tallies_.fault.why()) {
      job = shared_.queue.try_pop();
    }
    if (job == nullptr && in_flight->jobs.empty()) return;
    if (job != nullptr) fill(*next, job);
    shared_.queue.wake_next();
    begin(*next);
    if (!in_flight->jobs.empty()) finish(*in_flight);
    std::swap(next, in_flight);
  }
}

// Adds the first job, and as many waiting jobs as fit.
void lane::fill(buffers& set, counting_job* first) noexcept {
  for (counting_job* job = first; job != nullptr;) {
    add(set, *job);
    job = shared_.queue.try_pop_if([&](const counting_job& next) { return set.jobs.has_room_for(next); });
  }
}

// An invalid job is completed at once with its error. The device has not failed.
void lane::add(buffers& set, counting_job& job) noexcept {
  if (std::exception_ptr error = error_in(job)) {
    job.on_complete(job, std::move(error));
  } else {
    set.jobs.add(job);
  }
}

// Leaves the set empty if its jobs were completed with an error.
void lane::begin(buffers& set) noexcept {
  if (set.jobs.empty()) return;
  std::exception_ptr failure = tallies_.fault.why();
  if (!failure) failure = try_enqueue(set);
  if (failure) complete(set, failure);
}

// The jobs must hold the last references to the exception, so this function keeps none.
void lane::complete(buffers& set, const std::exception_ptr& failure) noexcept {
  for (counting_job* job : set.jobs.jobs()) job->on_complete(*job, failure);
  set.jobs.clear();
}

std::exception_ptr lane::error_in(const counting_job& job) const noexcept {
  try {
    check_fits(job);
    check_job(job, shared_.layout);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

std::exception_ptr lane::try_enqueue(buffers& set) noexcept {
  std::exception_ptr failure;
  try {
    enqueue(set);
    return nullptr;
  } catch (...) {
    failure = failure_of(shared_);
  }
  drain(set);
  return lose_device(failure);
}

// Returns the first error of the device: all of its lanes report the same error.
std::exception_ptr lane::lose_device(const std::exception_ptr& why) noexcept {
  if (tallies_.fault.note(why)) shared_.queue.lose_device(why);
  return tallies_.fault.why();
}

void lane::check_fits(const counting_job& job) const {
  if (job.bytes.size() <= shared_.max_chunk && job.extents.size() <= shared_.max_extents) return;
  throw engine_error("a chunk of " + std::to_string(job.bytes.size()) + " bytes and " +
                     std::to_string(job.extents.size()) + " extents is larger than the engine was made for (" +
                     std::to_string(shared_.max_chunk) + " bytes, " + std::to_string(shared_.max_extents) +
                     " extents)");
}

void lane::enqueue(buffers& set) {
  const stage_range range("submit to the device");
  runtime& api = shared_.api;
  set.jobs.arrange();
  const auto extents = set.jobs.extents();
  const auto rows = set.jobs.rows();
  set.copy_begin.record(stream_);
  copy_to_device(set);
  set.copy_end.record(stream_);
  if (!extents.empty()) {
    check(api, api.clear(set.rows.as<void>(), rows.size_bytes(), stream_.get()),
          "clearing the rows of a chunk (cudaMemsetAsync)");
    const kernel_launch launch{.bytes = set.bytes.as<std::byte>(),
                               .extents = set.extents.as<extent>(),
                               .extent_count = static_cast<std::uint32_t>(extents.size()),
                               .rows = set.rows.as<std::uint32_t>(),
                               .chunk_bytes = set.jobs.span_bytes(),
                               .multiprocessors = shared_.multiprocessors};
    check(api, api.count_lane_private(launch, stream_.get()), "starting the kernel lane_private (cudaLaunchKernelExC)");
    if (shared_.layout.pairs) count_pairs(set, launch);
  }
  set.kernel_end.record(stream_);
  if (!extents.empty()) {
    check(api, api.copy_to_host(rows.data(), set.rows.as<void>(), rows.size_bytes(), stream_.get()),
          "copying the rows of a chunk to the host (cudaMemcpyAsync)");
  }
  set.counted.record(stream_);
}

void lane::copy_to_device(buffers& set) {
  set.copies.clear();
  for (const batch::piece& each : set.jobs.pieces()) {
    if (each.size > 0) set.copies.push_back({set.bytes.as<std::byte>() + each.at, each.from, each.size});
  }
  add_extents(set);
  if (set.copies.empty()) return;
  check(shared_.api, shared_.api.copy_to_device(set.copies, stream_.get()),
        set.copies.size() > 1 ? "copying chunks to the device (cudaMemcpyBatchAsync)"
                              : "copying a chunk to the device (cudaMemcpyAsync)");
}

// The chunks of a large file have the same extents, which need not be copied with each of them.
void lane::add_extents(buffers& set) {
  const auto extents = set.jobs.extents();
  if (extents.empty() || std::ranges::equal(extents, set.copied_extents)) return;
  set.copied_extents.clear();
  set.copies.push_back({set.extents.as<void>(), extents.data(), extents.size_bytes()});
  if (extents.size() <= set.copied_extents.capacity()) set.copied_extents.assign(extents.begin(), extents.end());
}

void lane::count_pairs(const buffers& set, const kernel_launch& counts) {
  pair_launch launch{.chunk = counts, .classes = &*shared_.layout.pairs};
  launch.chunk.rows += set.jobs.pair_rows_at();
  check(shared_.api, shared_.api.count_pair_private(launch, stream_.get()),
        "starting the kernel pair_private (cudaLaunchKernelExC)");
}

void lane::finish(buffers& set) noexcept {
  std::exception_ptr failure;
  try {
    set.counted.wait();
    record_times(set);
    set.jobs.write_rows(shared_.layout);
  } catch (...) {
    failure = failure_of(shared_);
  }
  if (failure) {
    drain(set);
    failure = lose_device(failure);
  } else {
    tallies_.jobs += set.jobs.jobs().size();
    tallies_.bytes += set.jobs.text_bytes();
  }
  complete(set, failure);
}

void lane::record_times(buffers& set) {
  const double copy_begin = anchor_seconds_ + set.copy_begin.seconds_since(anchor_);
  const double copy_end = anchor_seconds_ + set.copy_end.seconds_since(anchor_);
  const double kernel_end = anchor_seconds_ + set.kernel_end.seconds_since(anchor_);
  tallies_.times.add({.begin = copy_begin, .end = copy_end}, {.begin = copy_end, .end = kernel_end});
  if (copy_begin - anchor_seconds_ > longest_from_anchor) {
    anchor_.swap(set.copy_begin);
    anchor_seconds_ = copy_begin;
  }
}

// Before a job is completed with an error, the work that was enqueued for it must have finished, because its owner may
// then reuse the memory. If the device does not respond to calls, it may still read the next contents of that memory,
// but only for rows that are discarded.
void lane::drain(buffers& set) noexcept {
  try {
    set.counted.record(stream_);
    set.counted.wait();
  } catch (...) {
    return;
  }
}

}  // namespace gpuhist::gpu::cuda
