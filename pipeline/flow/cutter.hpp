// Cuts a stream of text into chunks: reserves room in slots, in the order of the stream, and seals full slots. Several
// inputs and frames share a slot. Readers of a file hold several reservations and fill them in parallel. Each decoder
// that works in parallel with others has its own cutter. A cutter holds at most one slot that is not sealed, and sealed
// slots are always freed. So no cutter waits for ever if there are at least as many slots as cutters.
//
//     slot:  | input 0, frame 0 | input 1, frame 7 |  gap  | input 2 ... room |
//              segment            segment            (reserved, but not filled)
//
// With windows, segments end where panes end, and reservations are committed in the order of the text. A reservation is
// then limited so that its segments fit into the slot however its text is divided.
#pragma once

#include "async/task.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/ring.hpp"
#include "pipeline/flow/text_divider.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// Room in a slot. It is filled from its front and then committed, full or not.
struct reservation {
  slot* chunk = nullptr;
  std::uint32_t begin = 0;
  std::span<std::byte> bytes;
  std::uint32_t segments = 1;  // the most that it can make
};

/// A segment of cut text could not be stored, for lack of memory: the text is not counted, and its input is incomplete.
class text_lost : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "not enough memory to keep track of the text"; }
};

/// All members are thread-safe, but only one caller at a time may reserve.
class cutter {
 public:
  /// `divider`: divides the text into panes and outlives the cutter. Null: the text has no panes.
  cutter(ring& slots, collector& counted, text_divider* divider = nullptr);
  cutter(const cutter&) = delete;
  cutter& operator=(const cutter&) = delete;

  /// Reserves 1 to `wanted` bytes after all earlier reservations. Waits for a free slot if it needs one. One caller at
  /// a time.
  async::task<reservation> reserve(std::uint64_t wanted);

  /// As reserve(), for threads: blocks the calling thread. Nothing once `stop` is requested and no slot is free.
  std::optional<reservation> reserve_blocking(std::uint64_t wanted, const std::stop_token& stop);

  /// As reserve(), without waiting: nothing if no slot is free. `user`: of a new slot, as ring::try_acquire_for(); 0:
  /// none.
  std::optional<reservation> try_reserve(std::uint64_t wanted, std::uint64_t user = 0);

  /// The size and the counting of chunks.
  struct chunking {
    std::uint32_t max_bytes = std::numeric_limits<std::uint32_t>::max();  ///< of a full chunk, 1 or more
    bool count_here = false;  ///< the thread that fills the chunk counts it, if the host counts (counting_job)
  };

  /// Whether the engine counts on the calling thread if counting_job::count_here is set.
  [[nodiscard]] bool counts_here() const { return collector_.counts_here(); }

  /// For chunks that are begun after this call. Must be called by the caller that reserves.
  void set_chunking(const chunking& next) { chunking_ = next; }

  /// Ends a reservation, whose first `filled` bytes belong to `owner`. Any thread may commit, in any order; with
  /// windows, in the order of the reservations. The room that was not filled is reused after the last reservation;
  /// elsewhere it becomes a gap. Throws text_lost; the reservation has ended then, too.
  void commit(const reservation& reserved, std::size_t filled, const text_owner& owner);

  /// Commits a reservation with no bytes filled.
  void give_back(const reservation& reserved) noexcept;

  /// Whether cut_lent() may be called.
  [[nodiscard]] bool accepts_lent_text() const { return collector_.accepts_lent_text(); }

  /// The most bytes of a lent text.
  [[nodiscard]] std::uint64_t max_lent_bytes() const;

  /// Makes a chunk of its own after all earlier reservations. `fresh`: a slot from the ring. `text`: 1 byte or more of
  /// `owner`; the first bytes of the slot, or, with a lender, 1 to max_lent_bytes() bytes elsewhere, which the lender
  /// owns. The caller must then call submit(). One caller at a time, who does not reserve at the same time. Returns
  /// false if there was no memory for the segments: the text will not be counted.
  [[nodiscard]] bool cut_whole(slot& fresh, std::span<const std::byte> text, const text_owner& owner,
                               text_lender* lender = nullptr);

  /// Submits the chunk of cut_whole(). Lent text is counted on the calling thread and returned to its lender.
  void submit(slot& chunk) noexcept { collector_.submit(chunk); }

  /// A frame of `bytes` bytes was verified. If all of it is in the slot that is filling, its segments become verified
  /// text of the input, and the result is true. False: the caller must pass the verdict to the rolling counts.
  bool verified_in_place(const text_owner& frame, std::uint64_t bytes);

  /// Seals the slot that is filling, full or not, so that it is counted. Does nothing while it has reservations that
  /// are not committed. Returns the mark of all chunks sealed so far.
  cut_mark flush();

  /// As flush(), also while the slot has reservations that are not committed: the last commit submits it. All text that
  /// was committed before is then before the mark.
  cut_mark seal_all();

 private:
  // Under the lock:
  [[nodiscard]] bool is_full(const slot& filling) const;
  [[nodiscard]] reservation reserve_in(slot& filling, std::uint64_t wanted) const;
  void append_panes(slot& to, std::span<const std::byte> text, const segment& more);
  static void append(slot& to, const segment& more);
  [[nodiscard]] bool try_append(slot& to, std::span<const std::byte> text, const segment& more);
  void seal(slot& full);
  void begin(slot& fresh);

  ring& ring_;
  collector& collector_;
  const cutter_id id_;
  std::mutex mutex_;
  slot* current_ = nullptr;  // filling, not sealed
  std::uint64_t next_sequence_ = 0;
  chunking chunking_;
  text_divider* const divider_;  // null: text has no panes
  const std::uint64_t min_slice_bytes_;
  std::vector<pane_slice> slices_;  // of the text that is committed
};

/// Owns a reservation: it is committed, or given back by the destructor. (Else its slot would never be submitted.) A
/// moved-from object holds nothing.
class held_reservation {
 public:
  held_reservation(cutter& cut, const reservation& reserved) noexcept : cut_(&cut), reserved_(reserved) {}
  held_reservation(held_reservation&& other) noexcept
      : cut_(std::exchange(other.cut_, nullptr)), reserved_(other.reserved_) {}
  held_reservation& operator=(held_reservation&&) = delete;
  ~held_reservation() {
    if (cut_ != nullptr) cut_->give_back(reserved_);
  }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return reserved_.bytes; }

  /// As cutter::commit.
  void commit(std::size_t filled, const text_owner& owner) {
    if (cutter* const cut = std::exchange(cut_, nullptr)) cut->commit(reserved_, filled, owner);
  }

 private:
  cutter* cut_;
  reservation reserved_;
};

}  // namespace gpuhist::pipeline
