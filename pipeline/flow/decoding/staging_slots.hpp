// Page-locked memory in slots of one size, for bytes that are copied to devices. It is allocated when it is needed.
#pragma once

#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "gpu/engine.hpp"
#include "pipeline/flow/mapped_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

class staging_slots;

/// Memory of a staging_slots, which outlives it. The destructor returns it.
class staging_slot {
 public:
  staging_slot(staging_slots& owner, std::byte* memory, async::semaphore::permit permit) noexcept
      : owner_(owner), memory_(memory), permit_(std::move(permit)) {}
  staging_slot(const staging_slot&) = delete;
  staging_slot& operator=(const staging_slot&) = delete;
  ~staging_slot();

  [[nodiscard]] std::byte* memory() const noexcept { return memory_; }

  /// Returns its memory and has `other` instead: of the same size, and page-locked until the engine ends.
  std::byte* exchange(std::byte* other) noexcept { return std::exchange(memory_, other); }

 private:
  staging_slots& owner_;
  std::byte* memory_;
  async::semaphore::permit permit_;
};

/// Thread-safe.
class staging_slots {
 public:
  struct settings {
    std::size_t slot_bytes = 0;    ///< a multiple of 16
    std::uint32_t max_slots = 0;   ///< that exist at the same time
    std::uint32_t more_slots = 1;  ///< that are allocated together
  };

  /// Allocates nothing.
  explicit staging_slots(const settings& with) : settings_(with) {}
  staging_slots(const staging_slots&) = delete;
  staging_slots& operator=(const staging_slots&) = delete;

  /// Allocates the first slots. `engine` outlives them. Called once, before all that follows. Throws
  /// gpu::engine_error, std::bad_alloc.
  void start(gpu::engine& engine);

  /// Waits for a free slot, if no more can be allocated. Null: the system refused more memory, so that a wait could
  /// last forever. Throws std::bad_alloc.
  async::task<std::shared_ptr<staging_slot>> acquire();

  /// Null: none is free. Throws std::bad_alloc.
  std::shared_ptr<staging_slot> try_acquire();

  /// Whether few slots are free, more can be allocated, and no thread allocates.
  [[nodiscard]] bool wants_growth();

  /// Allocates the next slots, unless other threads do.
  void grow_ahead() { grow(); }

 private:
  friend class staging_slot;
  class waiting_scope;

  [[nodiscard]] std::uint32_t reserve_growth();
  void end_growth(std::uint32_t slots, std::shared_ptr<mapped_memory> added);
  bool grow();
  void make(std::uint32_t slots);
  void grow_for_waiting();
  [[nodiscard]] bool lacks_slots();
  std::shared_ptr<mapped_memory> locked_memory(std::uint32_t slots);
  std::shared_ptr<staging_slot> slot_with(async::semaphore::permit permit);
  void give_back(std::byte* memory) noexcept;

  const settings settings_;
  gpu::engine* engine_ = nullptr;
  std::mutex mutex_;
  std::vector<std::shared_ptr<mapped_memory>> mappings_;
  std::uint32_t made_ = 0;
  std::uint32_t being_made_ = 0;
  std::uint32_t waiting_ = 0;  // coroutines in acquire() that found no free slot
  bool is_refused_ = false;    // the system allocates no more
  bool has_extra_permit_ = false;
  std::vector<std::byte*> free_;  // has capacity for all; last in, first out
  async::semaphore permits_{0};   // one for each slot in free_, and one more after a refusal
};

}  // namespace gpuhist::pipeline
