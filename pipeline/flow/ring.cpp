#include "pipeline/flow/ring.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ranges>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {
namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

// Offsets of the three parts of the slots. The text of all slots comes first, so that neighbouring slots can be copied
// to a device in one copy:
//
//     | bytes 0 | bytes 1 | ... | extents 0 | extents 1 | ... | rows 0 | rows 1 | ... |     each begins on a page
struct slot_layout {
  std::size_t bytes_stride;
  std::size_t extents_stride;
  std::size_t rows_stride;
  std::size_t extents_at;
  std::size_t rows_at;
  std::size_t end;

  explicit slot_layout(const ring_shape& shape)
      : bytes_stride(whole_pages(shape.chunk_bytes)),
        extents_stride(whole_pages(shape.max_extents * sizeof(gpu::extent))),
        rows_stride(whole_pages(std::size_t{shape.max_extents} * shape.row_columns * sizeof(std::uint32_t))),
        extents_at(shape.slots * bytes_stride),
        rows_at(extents_at + shape.slots * extents_stride),
        end(rows_at + shape.slots * rows_stride) {}
};

std::shared_ptr<mapped_memory> map_slots(std::size_t bytes) {
  auto mapped = std::make_shared<mapped_memory>(bytes);
  if (mapped->memory().empty()) throw std::system_error(errno, std::generic_category(), "cannot map the slots");
  return mapped;
}

void populate(std::span<std::byte> part) {
  // optional: fails before Linux 5.14, and then the first access populates the pages
  if (!part.empty()) ::madvise(part.data(), part.size(), MADV_POPULATE_WRITE);
}

}  // namespace

std::uint64_t ring_shape::mapped_bytes() const { return slot_layout(*this).end; }

ring::ring(const ring_shape& shape)
    : mapping_(map_slots(shape.mapped_bytes())),
      permits_(shape.slots),
      slots_(shape.slots),
      occupancy_(shape.slots, std::chrono::steady_clock::now()) {
  const slot_layout layout(shape);
  std::byte* const base = memory().data();
  free_.reserve(shape.slots);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slot& each = slots_[i];
    each.bytes = {base + i * layout.bytes_stride, shape.chunk_bytes};
    // the mapping is zeroed memory without objects: these are the first
    each.extents = {reinterpret_cast<gpu::extent*>(base + layout.extents_at + i * layout.extents_stride),
                    shape.max_extents};
    each.rows = {reinterpret_cast<std::uint32_t*>(base + layout.rows_at + i * layout.rows_stride),
                 std::size_t{shape.max_extents} * shape.row_columns};
    each.segments.reserve(shape.max_extents);
  }
  // the first slots are taken first
  for (std::size_t i = slots_.size(); i-- > 0;) free_.push_back(&slots_[i]);
  // a link needs all slots from the start. The host often uses a few of them, and the others cost time: docs/tuning.md
  if (shape.feeds_link) populate(memory().first(shape.slots * layout.bytes_stride));
}

async::task<slot*> ring::acquire() {
  if (slot* ready = try_acquire()) co_return ready;
  const auto began = std::chrono::steady_clock::now();
  co_return take_after_wait(co_await permits_.acquire(), began);
}

slot* ring::acquire_blocking(const std::stop_token& stop) {
  if (slot* ready = try_acquire()) return ready;
  const auto began = std::chrono::steady_clock::now();
  async::semaphore::permit permit = permits_.acquire_blocking(stop);
  return permit ? take_after_wait(std::move(permit), began) : nullptr;
}

slot* ring::take_after_wait(async::semaphore::permit permit, std::chrono::steady_clock::time_point began) {
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - began;
  {
    const std::scoped_lock lock(mutex_);
    waiting_seconds_ += waited.count();
  }
  return take(std::move(permit));
}

slot* ring::try_acquire() {
  async::semaphore::permit permit = permits_.try_acquire();
  return permit ? take(std::move(permit)) : nullptr;
}

slot* ring::try_acquire_for(std::uint64_t user) {
  async::semaphore::permit permit = permits_.try_acquire();
  return permit ? take(std::move(permit), user) : nullptr;
}

slot* ring::take(async::semaphore::permit permit, std::uint64_t user) {
  const std::scoped_lock lock(mutex_);
  if (user != 0) {
    const auto last = std::ranges::find(free_ | std::views::reverse, user, &slot::last_user);
    if (last != free_.rend()) std::iter_swap(last, free_.rbegin());
  }
  slot* taken = free_.back();
  free_.pop_back();
  taken->last_user = user;
  enter(*taken, phase::filling);
  taken->permit = std::move(permit);
  taken->segments.clear();
  taken->used = taken->outstanding = taken->reserved_segments = 0;
  taken->sealed = false;
  return taken;
}

// Under the lock.
void ring::enter(slot& entering, phase next) {
  occupancy_.move(entering.current_phase, next, std::chrono::steady_clock::now());
  entering.current_phase = next;
}

void ring::begin_counting(slot& sealed) {
  const std::scoped_lock lock(mutex_);
  enter(sealed, phase::counting);
}

void ring::release(slot& counted) noexcept {
  const async::semaphore::permit permit = std::move(counted.permit);  // returned last, after the slot is in free_
  const std::scoped_lock lock(mutex_);
  enter(counted, phase::free);
  free_.push_back(&counted);  // does not allocate: reserved for all slots
}

double ring::waiting_seconds() const {
  const std::scoped_lock lock(mutex_);
  return waiting_seconds_;
}

void ring::begin_history() {
  const std::scoped_lock lock(mutex_);
  occupancy_ = occupancy(slots_.size(), std::chrono::steady_clock::now());
}

slot_history ring::history(occupancy::time_point end) const {
  const std::scoped_lock lock(mutex_);
  return occupancy_.read(end);
}

}  // namespace gpuhist::pipeline
