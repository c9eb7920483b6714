// Groups of zstd frames that a device decodes: their compressed bytes are collected in page-locked memory, and the
// counts of their text come back. What the device does not decode is decoded by the host, from the same memory.
#pragma once

#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "gpu/engine.hpp"
#include "pipeline/flow/decoding/block_pool.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/decoding/encoded_frames.hpp"
#include "pipeline/flow/decoding/row_memory.hpp"
#include "pipeline/flow/decoding/staging_slots.hpp"
#include "pipeline/flow/decoding/stepped_group.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace gpuhist::pipeline {

class device_frames;

/// The compressed bytes of a group, in slots. Used by one coroutine.
class staged_group {
 public:
  /// Permits of the device_frames.
  struct permits {
    async::semaphore::permit incomplete{};
    /// Nothing: the group takes the first if it has its share of the slots, then the second.
    async::semaphore::permit is_long{};
    async::semaphore::permit is_longest{};
    async::semaphore::permit has_steps{};  ///< instead of these two
  };

  /// `first`: its first slot. `waits`: for further slots.
  staged_group(device_frames& owner, std::shared_ptr<staging_slot> first, permits with, bool waits);

  /// Copies bytes to a slot, now or before the group is used.
  using copy_function = std::function<void(std::byte* to, std::span<const std::byte> from)>;

  /// Appends bytes: copies them, or exchanges the memory of a slot for that of a block (block::lent) that fills at
  /// least half a slot. Returns the number of bytes that were appended: fewer if the group has its share of the slots,
  /// or does not wait and no slot is free. Throws std::bad_alloc.
  async::task<std::size_t> append(block next, const copy_function& copy);

  /// No more bytes follow.
  void complete() noexcept { permits_ = {}; }

  /// After the first append(): whether its bytes begin as gzip does.
  [[nodiscard]] bool begins_member() const { return begins_member_; }

  /// Null: they are not listed yet, or devices do not decode them.
  [[nodiscard]] const encoded_frames* frames() const { return frames_ ? &*frames_ : nullptr; }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::vector<std::span<const std::byte>> pieces() const;

  /// Whole slots, and the offset of the first of their bytes.
  struct located_pieces {
    std::uint64_t begin = 0;
    std::vector<std::span<const std::byte>> pieces{};
  };

  /// The slots with the bytes from `from` to `to`.
  [[nodiscard]] located_pieces pieces_of(std::uint64_t from, std::uint64_t to) const;

  /// Its bytes so far. Those whose slots were freed are not there. Borrows the group.
  [[nodiscard]] io::byte_access access() const;

  /// Frees the slots whose bytes are all before `offset`.
  void release_to(std::uint64_t offset);

  /// The bytes, for decoding on the host. Leaves the group empty. Throws std::bad_alloc.
  std::deque<block> take_blocks();

 private:
  device_frames& owner_;
  permits permits_;
  bool waits_;
  [[nodiscard]] bool is_to_be_exchanged(const block& next) const;
  [[nodiscard]] std::size_t allowed_slots() const;
  [[nodiscard]] bool may_have_more_slots();
  async::task<std::shared_ptr<staging_slot>> next_slot();

  friend class device_frames;
  struct filled_slot {
    std::shared_ptr<staging_slot> slot{};
    std::size_t bytes = 0;
    std::uint64_t begin = 0;  ///< offset of its first byte
  };
  [[nodiscard]] std::vector<filled_slot>::const_iterator slot_of(std::uint64_t offset) const;
  void copy(std::uint64_t at, std::span<std::byte> to) const;

  std::vector<filled_slot> slots_;
  std::size_t share_ = 1;  // of the slots, unless it is long
  std::uint64_t size_ = 0;
  bool is_listed_ = false;
  bool may_have_steps_ = false;
  std::optional<std::uint64_t> lost_at_{};  // block::lost from there on
  bool begins_member_ = false;
  std::optional<encoded_frames> frames_{};
};

/// The text of a group that was decoded on a device.
struct decoded_group {
  std::uint64_t text_bytes = 0;
  std::uint64_t frames = 0;
  std::vector<std::uint32_t> rows{};       ///< one for each slice; without cuts for all text
  std::vector<std::uint8_t> last_bytes{};  ///< with cuts, of each slice; 0: it has no text
  /// Rows of the pieces of units; empty: units were not measured, or there are none.
  std::vector<std::span<const std::uint32_t>> unit_rows{};
  std::optional<row_memory::lease> unit_memory{};  ///< of these rows; nothing: there are none
};

/// Thread-safe.
class device_frames {
 public:
  struct settings {
    staging_slots::settings slots{};  ///< memory for compressed bytes that are collected or on the device
    row_memory::settings rows{};      ///< memory for the rows of units, if they are measured
    bool host_shares = false;         ///< the host decodes what finds no free slot and does not wait for one
    std::stop_token stop{};           ///< ends waits for a device that is waking
    bool takes_all = false;           ///< frames that will hardly fit are collected, too
    bool in_order = false;            ///< groups are collected one after the other, and may wait for those before them
    std::size_t group_bytes = 0;      ///< minimum compressed size of a group, except the last
    const gpu::cuda::units::piece_classes* units = nullptr;  ///< null: units are not measured. Borrowed
  };

  /// A group has at most this share of the slots, so that many are collected at the same time.
  static constexpr std::uint32_t max_share_of_group = 32;

  /// One incomplete group, with a long frame, may have this share, or two half of it each: while the bytes of one are
  /// copied, the other begins. A larger group is decoded on the host.
  static constexpr std::uint32_t max_share_of_long_group = 4;

  /// Of this share: a group whose bytes are decoded in steps has one unit.
  static constexpr std::uint32_t units_of_longest_group = gpu::frame_decoder::max_jobs_in_steps;
  static constexpr std::uint32_t units_of_long_group = units_of_longest_group / 2;

  /// Groups that are collected at the same time, so that the first ones are soon complete. They have at most three
  /// quarters of the slots, and long ones less than a quarter more. All other slots are free, or used by groups that
  /// the device or the host decodes, and such a group returns its slots when it ends. So a group that waits for a slot
  /// gets one. With settings::in_order a single group is collected: all other groups with slots are before it.
  static constexpr std::uint32_t max_incomplete = 24;

  /// Of the share of a group: a group that is known to be short needs fewer, and so many more of them are collected at
  /// the same time that together they have the same slots.
  static constexpr std::uint32_t units_of_group = 64;

  /// `engine` outlives it. Nothing is allocated before start().
  device_frames(gpu::engine& engine, const settings& with);
  device_frames(const device_frames&) = delete;
  device_frames& operator=(const device_frames&) = delete;

  /// Makes the decoder of the engine and allocates the memory, if that has not been done. False: there is no decoder
  /// yet, or no memory for it, and then note() says why; the host decodes.
  bool start();

  /// As start(), but false unless a group needed the decoder before: an engine may wake a device for it.
  bool is_ready() { return is_needed_ && start(); }

  /// Whether the decoder is being made, on a thread of its own.
  [[nodiscard]] bool is_being_made() const { return engine_.is_waking(); }

  [[nodiscard]] std::uint32_t max_slots() const { return settings_.slots.max_slots; }
  [[nodiscard]] std::size_t slot_bytes() const { return settings_.slots.slot_bytes; }
  [[nodiscard]] std::size_t group_bytes() const { return settings_.group_bytes; }
  [[nodiscard]] std::size_t max_slots_of_group() const {
    return std::max<std::size_t>(1, max_slots() / max_share_of_group);
  }
  /// Of a group with so many bytes, 0: any number.
  [[nodiscard]] std::uint32_t units_of(std::uint64_t bytes) const {
    if (bytes == 0 || bytes > max_slots_of_group() * slot_bytes()) return units_of_group;
    const std::uint64_t slots = 2 * bytes / slot_bytes() + 1;  // blocks that are exchanged fill half of one, or more
    const std::uint64_t units = (slots * units_of_group + max_slots_of_group() - 1) / max_slots_of_group();
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(units, units_of_group));
  }
  [[nodiscard]] std::size_t slots_of_units(std::uint32_t units) const {
    return std::max<std::size_t>(1, max_slots_of_group() * units / units_of_group);
  }
  [[nodiscard]] std::size_t max_slots_of_long_group() const {
    return std::max<std::size_t>(1, max_slots() / max_share_of_long_group);
  }

  [[nodiscard]] std::size_t max_slots_of_steps() const {
    return std::max<std::size_t>(1, max_slots_of_long_group() / units_of_longest_group);
  }

  [[nodiscard]] bool host_shares() const { return settings_.host_shares; }
  [[nodiscard]] bool measures_units() const { return settings_.units != nullptr; }

  /// Bytes of text that devices have decoded, divided by the seconds since they began; 0: nothing was decoded yet.
  [[nodiscard]] double text_per_second() const;

  /// Why the host decodes all frames, or those after a failure of the device; empty: it does not.
  [[nodiscard]] std::string note() const;

  /// The next group, whose first bytes are these; nothing: the host is to decode it. `waits`: for memory, here and in
  /// append(); the bytes of such a group arrive without delay. Throws std::bad_alloc.
  /// `may_have_steps`: the group may have any length. `bytes_left`: of the input, with the group; 0: unknown.
  async::task<std::optional<staged_group>> begin_group(std::span<const std::byte> begin, bool waits,
                                                       bool may_have_steps = false, std::uint64_t bytes_left = 0);

  /// Page-locks the memory of blocks if they have the size of a slot, so that groups can exchange it. The memory of
  /// both is mixed then. After start(), again for each group; `blocks` ends before this. Throws std::bad_alloc.
  void lock_pages_of(block_pool& blocks);

  /// Whether it is time for grow_slots(): the next slots of a long group, allocated while its bytes are copied.
  [[nodiscard]] bool wants_more_slots() { return slots_.wants_growth(); }
  void grow_slots() { slots_.grow_ahead(); }

  /// Lists the frames of a group, once. No more bytes are appended then. Throws std::bad_alloc.
  static void list(staged_group& group);

  /// How the text of a group is counted.
  struct counting {
    const gpu::text_cuts* cuts = nullptr;  ///< null: as one slice
    bool measures_only = false;            ///< gpu::frame_job
  };

  /// Whether so many bytes have arrived.
  [[nodiscard]] bool has_step(const staged_group& group) const;

  /// After has_step(), once: nothing is appended meanwhile. Null: the group is not one long frame, or other long frames
  /// are being collected. Throws std::bad_alloc.
  async::task<std::unique_ptr<stepped_group>> begin_steps(staged_group& group);

  /// The text of a step that has ended, for text_per_second().
  void note_text(std::uint64_t bytes) { text_bytes_ += bytes; }

  /// Submits the job of a group in steps. `on_complete`: of the job, which is valid until then. Throws std::bad_alloc.
  void decode_steps(gpu::frame_job& job, stepped_group& group, std::function<void(std::exception_ptr)> on_complete);

  /// Decodes whole frames, which are listed first unless they are listed already. Nothing: the device does not decode
  /// them, or failed; the host must. Throws std::bad_alloc.
  async::task<std::optional<decoded_group>> decode(staged_group& group, counting how);
  async::task<std::optional<decoded_group>> decode(staged_group& group) { return decode(group, counting()); }

 private:
  friend class staged_group;

  async::task<bool> await_device(std::uint64_t text_bytes);
  [[nodiscard]] bool are_steps_possible(const std::optional<io::zstd_frame_header>& header) const;
  [[nodiscard]] std::uint64_t step_bytes() const;
  [[nodiscard]] bool may_exceed(std::size_t slots, std::uint64_t text_bytes) const;
  [[nodiscard]] bool are_units_too_short() const;
  bool try_start();
  void note_failure(const std::exception_ptr& why) noexcept;
  [[nodiscard]] bool fits(const staged_group& group, std::size_t cuts) const;
  [[nodiscard]] std::uint64_t expected_row_bytes(std::uint64_t text_bytes) const;
  bool take_row_memory(gpu::frame_job& job, std::uint64_t bytes, bool waits, decoded_group& to) noexcept;
  void note_pieces(const gpu::frame_job& job);
  void note_begin();

  gpu::engine& engine_;
  const settings settings_;
  mutable std::mutex mutex_;
  std::string note_;
  gpu::frame_decoder* decoder_ = nullptr;  // null: none
  staging_slots slots_;
  row_memory rows_;
  std::atomic<bool> has_failed_ = false;      // the device
  std::atomic<bool> is_needed_ = false;       // by a group
  std::atomic<std::uint64_t> submitted_ = 0;  // groups with units that are not completed
  async::semaphore incomplete_;
  async::semaphore long_{units_of_longest_group};
  std::atomic<std::uint64_t> bytes_of_piece_{64};               // of text, as expected
  std::atomic<std::uint64_t> text_bytes_ = 0;                   // that were decoded
  std::atomic<std::chrono::steady_clock::time_point> began_{};  // with the first job; zero: there was none
};

}  // namespace gpuhist::pipeline
