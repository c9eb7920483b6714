// Groups of zstd frames that a device decodes: their compressed bytes are collected in page-locked memory, and the
// counts of their text come back. What the device does not decode is decoded by the host, from the same memory.
#pragma once

#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "gpu/engine.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/decoding/encoded_frames.hpp"
#include "pipeline/flow/mapped_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

class device_frames;

/// Page-locked memory of a device_frames, which outlives it. The destructor returns it.
class staging_slot {
 public:
  staging_slot(device_frames& owner, std::byte* memory, async::semaphore::permit permit) noexcept
      : owner_(owner), memory_(memory), permit_(std::move(permit)) {}
  staging_slot(const staging_slot&) = delete;
  staging_slot& operator=(const staging_slot&) = delete;
  ~staging_slot();

  [[nodiscard]] std::byte* memory() const noexcept { return memory_; }

 private:
  device_frames& owner_;
  std::byte* memory_;
  async::semaphore::permit permit_;
};

/// The compressed bytes of a group, in slots that are full except the last. Used by one coroutine.
class staged_group {
 public:
  /// `first`: its first slot.
  staged_group(device_frames& owner, std::shared_ptr<staging_slot> first);

  /// Appends bytes. Takes further slots only if some are free, so that groups never wait for each other. Returns the
  /// number of bytes that were appended. Throws std::bad_alloc.
  [[nodiscard]] std::size_t append(std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::vector<std::span<const std::byte>> pieces() const;

  /// The bytes, for decoding on the host. Leaves the group empty. Throws std::bad_alloc.
  std::deque<block> take_blocks();

 private:
  device_frames& owner_;
  std::vector<std::shared_ptr<staging_slot>> slots_;
  std::uint64_t size_ = 0;
};

/// The text of a group that was decoded on a device.
struct decoded_group {
  std::uint64_t text_bytes = 0;
  std::uint64_t frames = 0;
  std::vector<std::uint32_t> row{};  ///< of all text
};

/// Thread-safe.
class device_frames {
 public:
  struct settings {
    std::size_t slot_bytes = 0;    ///< a multiple of 16
    std::uint32_t max_slots = 0;   ///< memory for compressed bytes that are collected or on the device
    std::uint32_t more_slots = 1;  ///< that are allocated together, when they are needed
    bool shares = false;           ///< the host decodes what finds no free slot
    std::size_t group_bytes = 0;   ///< minimum compressed size of a group, except the last
  };

  /// A larger group is decoded on the host: few groups at once do not keep a device busy.
  static constexpr std::uint32_t max_share_of_group = 32;

  /// `engine` outlives it. Nothing is allocated before start().
  device_frames(gpu::engine& engine, const settings& with);
  device_frames(const device_frames&) = delete;
  device_frames& operator=(const device_frames&) = delete;

  /// Makes the decoder of the engine and allocates the memory, if that has not been done. False: there is no decoder
  /// yet, or no memory for it, and then note() says why; the host decodes.
  bool start();

  [[nodiscard]] std::uint32_t slots() const { return settings_.max_slots; }
  [[nodiscard]] std::size_t slot_bytes() const { return settings_.slot_bytes; }
  [[nodiscard]] std::size_t group_bytes() const { return settings_.group_bytes; }
  [[nodiscard]] std::size_t max_slots_of_group() const {
    return std::max<std::size_t>(1, settings_.max_slots / max_share_of_group);
  }

  /// Why the host decodes all frames, or those after a failure of the device; empty: it does not.
  [[nodiscard]] std::string note() const;

  /// Memory for the next group, whose first bytes are these. Null: the host is to decode it. (A device decodes a frame
  /// in order, a long one more slowly than a core does.)
  async::task<std::shared_ptr<staging_slot>> slot_for_group(std::span<const std::byte> begin);

  /// Waits for a free slot, if no more can be allocated.
  async::task<std::shared_ptr<staging_slot>> acquire();

  /// Null: none is free. Throws std::bad_alloc.
  std::shared_ptr<staging_slot> try_acquire();

  /// Decodes whole frames. Nothing: the device does not decode them, or failed; the host must. Throws std::bad_alloc.
  async::task<std::optional<decoded_group>> decode(const staged_group& group);

 private:
  friend class staging_slot;

  [[nodiscard]] bool is_too_long(std::span<const std::byte> begin) const;
  bool try_start();
  void add_slots();
  void note_failure(const std::exception_ptr& why) noexcept;
  std::shared_ptr<staging_slot> slot_with(async::semaphore::permit permit);
  void give_back(std::byte* memory) noexcept;
  [[nodiscard]] bool fits(const staged_group& group, const encoded_frames& frames) const;

  gpu::engine& engine_;
  const settings settings_;
  mutable std::mutex mutex_;
  std::string note_;
  gpu::frame_decoder* decoder_ = nullptr;  // null: none
  std::vector<std::shared_ptr<mapped_memory>> mappings_;
  std::uint32_t slots_made_ = 0;
  bool may_add_slots_ = true;
  std::vector<std::byte*> free_;  // has capacity for all; last in, first out
  async::semaphore permits_{0};   // one for each slot in free_
};

}  // namespace gpuhist::pipeline
