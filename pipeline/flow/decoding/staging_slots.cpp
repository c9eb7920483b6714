#include "pipeline/flow/decoding/staging_slots.hpp"

#include "gpu/engines.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace gpuhist::pipeline {

staging_slot::~staging_slot() { owner_.give_back(memory_); }

// Counts a coroutine that found no free slot.
class staging_slots::waiting_scope {
 public:
  explicit waiting_scope(staging_slots& owner) : owner_(owner) {
    const std::scoped_lock lock(owner_.mutex_);
    ++owner_.waiting_;
  }
  waiting_scope(const waiting_scope&) = delete;
  waiting_scope& operator=(const waiting_scope&) = delete;
  ~waiting_scope() {
    const std::scoped_lock lock(owner_.mutex_);
    --owner_.waiting_;
  }

 private:
  staging_slots& owner_;
};

void staging_slots::start(gpu::engine& engine) {
  engine_ = &engine;
  free_.reserve(settings_.max_slots);
  mappings_.reserve(settings_.max_slots);
  make(reserve_growth());
}

async::task<std::shared_ptr<staging_slot>> staging_slots::acquire() {
  async::semaphore::permit permit = permits_.try_acquire();
  if (!permit) {
    const waiting_scope waiting(*this);
    grow_for_waiting();
    permit = co_await permits_.acquire();
  }
  co_return slot_with(std::move(permit));
}

std::shared_ptr<staging_slot> staging_slots::try_acquire() {
  async::semaphore::permit permit = permits_.try_acquire();
  while (!permit && grow()) permit = permits_.try_acquire();
  return permit ? slot_with(std::move(permit)) : nullptr;
}

// Also called by who has taken a slot: others may have found a thread allocating, whose slots were taken before they
// waited.
void staging_slots::grow_for_waiting() {
  while (lacks_slots() && grow()) {
  }
}

bool staging_slots::lacks_slots() {
  const std::scoped_lock lock(mutex_);
  return waiting_ > free_.size();
}

bool staging_slots::wants_growth() {
  const std::scoped_lock lock(mutex_);
  return free_.size() * 2 < settings_.more_slots && made_ < settings_.max_slots && being_made_ == 0 && !is_refused_;
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
  try {
    make(more);
    return true;
  } catch (const gpu::engine_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Slots that reserve_growth() has reserved.
void staging_slots::make(std::uint32_t slots) {
  std::shared_ptr<mapped_memory> added;
  try {
    added = locked_memory(slots);
  } catch (...) {
    end_growth(slots, nullptr);
    throw;
  }
  end_growth(slots, std::move(added));
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
  grow_for_waiting();
  return slot;
}

// Before the permit is released.
void staging_slots::give_back(std::byte* memory) noexcept {
  const std::scoped_lock lock(mutex_);
  free_.push_back(memory);
}

}  // namespace gpuhist::pipeline
