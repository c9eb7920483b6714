#include "pipeline/flow/decoding/staging_slots.hpp"

#include "gpu/engines.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace gpuhist::pipeline {

staging_slot::~staging_slot() { owner_.give_back(memory_); }

void staging_slots::start(gpu::engine& engine) {
  engine_ = &engine;
  free_.reserve(settings_.max_slots);
  mappings_.reserve(settings_.max_slots);
  const std::uint32_t first = reserve_growth();
  std::shared_ptr<mapped_memory> added;
  try {
    added = locked_memory(first);
  } catch (...) {
    end_growth(first, nullptr);
    throw;
  }
  end_growth(first, std::move(added));
}

// Who takes a slot allocates for those that wait: they may have found another thread allocating, whose slots were taken
// before they waited.
async::task<std::shared_ptr<staging_slot>> staging_slots::acquire() {
  async::semaphore::permit permit = permits_.try_acquire();
  if (!permit) {
    note_waiting(true);
    while (lacks_slots() && grow()) {
    }
    permit = co_await permits_.acquire();
    note_waiting(false);
  }
  co_return slot_with(std::move(permit));
}

std::shared_ptr<staging_slot> staging_slots::try_acquire() {
  async::semaphore::permit permit = permits_.try_acquire();
  while (!permit && grow()) permit = permits_.try_acquire();
  return permit ? slot_with(std::move(permit)) : nullptr;
}

void staging_slots::note_waiting(bool begins) {
  const std::scoped_lock lock(mutex_);
  waiting_ = begins ? waiting_ + 1 : waiting_ - 1;
}

bool staging_slots::lacks_slots() {
  const std::scoped_lock lock(mutex_);
  return waiting_ > free_.size();
}

// The number of slots to allocate next; 0: none. Several threads allocate at the same time, because the system clears
// pages, which takes longer than locking them. Together they at most double what there is.
std::uint32_t staging_slots::reserve_growth() {
  const std::scoped_lock lock(mutex_);
  const std::uint32_t more = std::min(settings_.more_slots, settings_.max_slots - made_ - being_made_);
  if (is_refused_ || (being_made_ > 0 && being_made_ + more > made_)) return 0;
  being_made_ += more;
  return more;
}

// False: there is nothing to allocate, other threads allocate already, or the system refused. If no more memory can be
// page-locked, there are fewer slots.
bool staging_slots::grow() {
  const std::uint32_t more = reserve_growth();
  if (more == 0) return false;
  std::shared_ptr<mapped_memory> added;
  try {
    added = locked_memory(more);
  } catch (const gpu::engine_error&) {
    added = nullptr;
  } catch (const std::bad_alloc&) {
    added = nullptr;
  } catch (...) {
    end_growth(more, nullptr);
    throw;
  }
  const bool is_added = added != nullptr;
  end_growth(more, std::move(added));
  return is_added;
}

std::shared_ptr<mapped_memory> staging_slots::locked_memory(std::uint32_t slots) {
  auto added = std::make_shared<mapped_memory>(settings_.slot_bytes * slots);
  if (added->memory().empty()) throw std::bad_alloc();
  added->make_resident();
  engine_->register_memory(added->memory(), added);
  return added;
}

// Null: the system refused them. When the last thread that allocates has ended, no coroutine waits any longer: one more
// permit, which has no slot, goes from each waiting coroutine to the next.
void staging_slots::end_growth(std::uint32_t slots, std::shared_ptr<mapped_memory> added) {
  std::uint32_t units = 0;
  {
    const std::scoped_lock lock(mutex_);
    being_made_ -= slots;
    if (added) {
      made_ += slots;
      units = slots;
      for (std::uint32_t i = 0; i < slots; ++i) free_.push_back(added->memory().data() + i * settings_.slot_bytes);
      mappings_.push_back(std::move(added));
    } else {
      is_refused_ = true;
    }
    if (is_refused_ && being_made_ == 0 && !has_extra_permit_) {
      has_extra_permit_ = true;
      ++units;
    }
  }
  if (units > 0) permits_.add(units);
}

std::shared_ptr<staging_slot> staging_slots::slot_with(async::semaphore::permit permit) {
  std::byte* memory = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return nullptr;
    memory = free_.back();
    free_.pop_back();
  }
  std::shared_ptr<staging_slot> slot;
  try {
    slot = std::make_shared<staging_slot>(*this, memory, std::move(permit));
  } catch (...) {
    give_back(memory);
    throw;
  }
  while (lacks_slots() && grow()) {
  }
  return slot;
}

// Before the permit is released.
void staging_slots::give_back(std::byte* memory) noexcept {
  const std::scoped_lock lock(mutex_);
  free_.push_back(memory);
}

}  // namespace gpuhist::pipeline
