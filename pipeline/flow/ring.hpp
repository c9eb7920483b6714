// The ring of slots: its bounded memory gives the program its memory limit and back-pressure. A slot is a page-aligned
// buffer of text with room for the rows that are counted from it. All slots are in one mapping, which is registered
// with a device once.
//
//            acquire                 cutter seals              rows merged, in order
//    free ─────────────► filling ─────────────────► counting ──────────────────────► free
//
// At any time free + filling + counting = slots.
#pragma once

#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "gpu/engine.hpp"
#include "pipeline/counts/segment.hpp"
#include "pipeline/flow/mapped_memory.hpp"
#include "pipeline/flow/statistics/occupancy.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

namespace gpuhist::pipeline {

/// Number of a cutter. Chunks of one cutter are merged in the order in which it cut them.
using cutter_id = std::uint32_t;

/// The owner of text that is counted where it lies, without a copy.
class text_lender {
 public:
  text_lender() = default;
  text_lender(const text_lender&) = delete;
  text_lender& operator=(const text_lender&) = delete;

  /// The text is no longer read. Called once for each lent text, on any thread.
  virtual void release(std::span<const std::byte> text) noexcept = 0;

 protected:
  ~text_lender() = default;
};

/// One buffer of the ring. Its phase decides who may use it. Filling: the cutter, and readers with a reservation.
/// Counting: the engine, then the collector.
struct slot {
  std::span<std::byte> bytes;       ///< chunk_bytes of room
  std::span<gpu::extent> extents;   ///< max_extents of room; written when the slot is sealed
  std::span<std::uint32_t> rows;    ///< max_extents x row classes of room
  std::vector<segment> segments;    ///< of the filled bytes, in their order
  std::span<const std::byte> lent;  ///< text that is counted instead of `bytes`; empty: none
  text_lender* lender = nullptr;    ///< of `lent`, until it is released
  gpu::counting_job job;
  cutter_id cut_by = 0;
  std::uint64_t sequence = 0;  ///< chunks of one cutter are merged in this order
  phase current_phase = phase::free;
  async::semaphore::permit permit{};  ///< to the slot, while it is not free
  std::uint64_t last_user = 0;        ///< of ring::try_acquire_for(); 0: none

  // For the filling phase; guarded by the lock of the cutter.
  std::uint32_t room = 0;               ///< bytes of a full chunk
  std::uint32_t used = 0;               ///< bytes reserved or filled
  std::uint32_t outstanding = 0;        ///< reservations that are not committed
  std::uint32_t reserved_segments = 0;  ///< the most segments that these can add
  bool sealed = false;                  ///< no more reservations
};

struct ring_shape {
  std::uint32_t slots = 0;
  std::uint32_t chunk_bytes = 0;
  std::uint32_t max_extents = 0;
  std::uint32_t row_columns = 0;
  bool feeds_link = false;  ///< the engine copies the slots to a device: their pages are allocated at once

  /// Bytes of memory that a ring of this shape maps.
  [[nodiscard]] std::uint64_t mapped_bytes() const;
};

class ring {
 public:
  /// Maps the memory. Throws std::system_error.
  explicit ring(const ring_shape& shape);
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;

  /// All slots' memory, page-aligned, for engine::register_memory.
  [[nodiscard]] std::span<std::byte> memory() const { return mapping_->memory(); }

  /// Keeps the memory mapped as long as a copy of the pointer exists, even after the ring is destroyed.
  [[nodiscard]] std::shared_ptr<const void> memory_owner() const { return mapping_; }

  [[nodiscard]] std::span<slot> slots() { return slots_; }

  /// Waits for a free slot and returns it, empty and in phase filling. The slot that was freed last is taken first,
  /// because its memory may still be in a cache.
  async::task<slot*> acquire();

  /// As acquire(), for threads: blocks the calling thread. Null once `stop` is requested. Thread-safe.
  slot* acquire_blocking(const std::stop_token& stop);

  /// As acquire(), without waiting: null if no slot is free. Thread-safe.
  slot* try_acquire();

  /// As try_acquire(), for a thread that fills the slot and then counts it: a slot that this user had before is taken
  /// first, because its memory may still be in the cache of the thread's core. `user`: any number; 0: none.
  slot* try_acquire_for(std::uint64_t user);

  /// From filling to counting. Thread-safe.
  void begin_counting(slot& sealed);

  /// From counting to free. Thread-safe.
  void release(slot& counted) noexcept;

  /// Seconds that acquire() spent waiting so far. Thread-safe.
  [[nodiscard]] double waiting_seconds() const;

  /// Restarts the history of the slots. Precondition: all are free.
  void begin_history();

  /// The history of the slots from begin_history() until `end`. Thread-safe.
  [[nodiscard]] slot_history history(occupancy::time_point end) const;

 private:
  slot* take(async::semaphore::permit permit, std::uint64_t user = 0);
  slot* take_after_wait(async::semaphore::permit permit, std::chrono::steady_clock::time_point began);
  void enter(slot& entering, phase next);

  std::shared_ptr<mapped_memory> mapping_;
  async::semaphore permits_;  // one per slot in free_; slots hold them, so it outlives slots_
  std::vector<slot> slots_;
  mutable std::mutex mutex_;
  std::vector<slot*> free_;  // guarded by mutex_; a stack
  double waiting_seconds_ = 0;
  occupancy occupancy_;  // guarded by mutex_, so its times ascend
};

}  // namespace gpuhist::pipeline
