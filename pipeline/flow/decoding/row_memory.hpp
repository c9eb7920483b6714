// Page-locked memory for the rows of units that devices write. A group takes it when the device knows how many rows
// there are, and returns it when the rows are evaluated.
#pragma once

#include "gpu/engine.hpp"
#include "pipeline/flow/mapped_memory.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

/// Thread-safe.
class row_memory {
 public:
  struct settings {
    std::size_t slot_bytes = 0;    ///< a multiple of a row
    std::uint32_t max_slots = 0;   ///< that exist at the same time
    std::uint32_t more_slots = 1;  ///< that are allocated together
  };

  /// Slots of a row_memory, which outlives it. The destructor returns them. Not thread-safe.
  class lease {
   public:
    lease(lease&& other) noexcept = default;
    lease& operator=(lease&&) = delete;
    ~lease();

    [[nodiscard]] std::vector<std::span<std::byte>> slots() const;

    /// A failed device may still write to the slots: no thread uses them again.
    void lose() noexcept;

   private:
    friend class row_memory;
    explicit lease(row_memory& owner) : owner_(owner) {}

    row_memory& owner_;
    std::vector<std::byte*> slots_;
  };

  /// Allocates nothing.
  explicit row_memory(const settings& with) : settings_(with) {}
  row_memory(const row_memory&) = delete;
  row_memory& operator=(const row_memory&) = delete;

  /// Allocates the first slots. `engine` outlives them. Called once, before all that follows. Throws gpu::engine_error,
  /// std::bad_alloc.
  void start(gpu::engine& engine);

  /// Allocates more slots if there are less than so many bytes, unless the system refused some before. Not on a thread
  /// of the engine, where it would make another device current.
  void expect(std::uint64_t bytes) noexcept;

  /// The most that one group should take: others need memory at the same time.
  [[nodiscard]] std::uint64_t share_of_group() const {
    constexpr std::uint64_t groups = 4;
    return settings_.max_slots * std::uint64_t{settings_.slot_bytes} / groups;
  }

  /// Slots for so many bytes, at least one, all at once. Nothing: so many are not free. With `waits`, blocks the thread
  /// until they are, in no order; then nothing means that there will never be so many. A thread that waits must hold no
  /// slots. Throws std::bad_alloc.
  std::optional<lease> take(std::uint64_t bytes, bool waits);

 private:
  void add(std::uint32_t slots);
  [[nodiscard]] std::uint32_t reserve_growth(std::uint64_t bytes) noexcept;
  void end_growth(std::uint32_t slots, std::shared_ptr<mapped_memory> added) noexcept;
  void give_back(const std::vector<std::byte*>& slots) noexcept;

  const settings settings_;
  gpu::engine* engine_ = nullptr;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::shared_ptr<mapped_memory>> mappings_;  // has capacity for all, as free_
  std::uint32_t made_ = 0;
  std::uint32_t being_made_ = 0;
  bool is_refused_ = false;  // the system allocates no more
  std::size_t lost_ = 0;     // slots
  std::vector<std::byte*> free_;
};

}  // namespace gpuhist::pipeline
