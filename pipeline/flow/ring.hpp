// The bounded ring of slots: the memory limit and the back-pressure of the whole program. A slot is a page-aligned
// buffer with room for the rows that will be counted from it, in one mapping, so that a device can be told of all once.
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
#include "pipeline/flow/statistics/occupancy.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

/// Which cutter a chunk came from: chunks of one cutter are merged in the order in which it cut them.
using cutter_id = std::uint32_t;

/// One buffer of the ring. Who may touch it follows from its phase: filling, the cutter and the readers it handed
/// places to; counting, the engine and then the collector.
struct slot {
  std::span<std::byte> bytes;      ///< chunk_bytes of room
  std::span<gpu::extent> extents;  ///< max_extents of room; written when the slot is sealed
  std::span<std::uint32_t> rows;   ///< max_extents x row classes of room
  std::vector<segment> segments;   ///< what was filled
  gpu::counting_job job;
  cutter_id cut_by = 0;
  std::uint64_t sequence = 0;  ///< chunks of one cutter are merged in this order
  phase now = phase::free;
  async::semaphore::permit permit{};  ///< to the slot, while it is not free

  // Of the filling phase, kept by the cutter under its lock.
  std::uint32_t room = 0;         ///< bytes that it is to hold this time
  std::uint32_t used = 0;         ///< bytes handed out
  std::uint32_t outstanding = 0;  ///< places handed out and not yet committed
  std::uint32_t promised = 0;     ///< segments that those may make
  bool sealed = false;            ///< no more places
};

struct ring_shape {
  std::uint32_t slots = 0;
  std::uint32_t chunk_bytes = 0;
  std::uint32_t max_extents = 0;
  std::uint32_t row_classes = 0;
  std::uint32_t populated =
      ~std::uint32_t{0};  ///< slots whose text has its pages from the start; others at first touch

  /// Bytes of memory a ring of this shape maps.
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

  /// Keeps that memory mapped for as long as somebody holds it, also past the ring.
  [[nodiscard]] std::shared_ptr<const void> memory_owner() const { return mapping_; }

  [[nodiscard]] std::span<slot> slots() { return slots_; }

  /// A free slot, now filling and empty; waits while there is none. The slot freed last comes first: it is the one
  /// whose memory is still in a cache.
  async::task<slot*> acquire();

  /// The same without waiting: null where no slot is free. Thread-safe.
  slot* try_acquire();

  /// From filling to counting. Thread-safe.
  void begin_counting(slot& sealed);

  /// Back to free. Thread-safe.
  void release(slot& done) noexcept;

  /// Seconds that acquire() spent waiting so far. Thread-safe.
  [[nodiscard]] double waiting_seconds() const;

  /// The history of the slots begins anew, now. Precondition: all are free.
  void begin_history();

  /// What became of the slots from begin_history() until `end`. Thread-safe.
  [[nodiscard]] slot_history history(occupancy::time_point end) const;

 private:
  class mapping {
   public:
    explicit mapping(std::size_t bytes);
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping();
    static void populate(std::span<std::byte> part);
    [[nodiscard]] std::span<std::byte> memory() const { return memory_; }

   private:
    std::span<std::byte> memory_;
  };

  slot* take(async::semaphore::permit right);
  void enter(slot& it, phase next);

  std::shared_ptr<mapping> mapping_;
  async::semaphore permits_;  // of the slots in free_; slots give theirs back when they are destroyed
  std::vector<slot> slots_;
  mutable std::mutex mutex_;
  std::vector<slot*> free_;  // guarded by mutex_; a stack
  double waiting_seconds_ = 0;
  occupancy occupancy_;  // guarded by mutex_, which makes its times ascend
};

}  // namespace gpuhist::pipeline
