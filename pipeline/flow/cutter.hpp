// Cuts a stream of text into chunks: hands out places in slots, in stream order, and seals a slot when it is full.
// Several inputs and frames share a slot; readers of a file hold several places at once and fill them in parallel.
// Whatever is decoded side by side goes through cutters of its own. A cutter holds at most one slot that is not sealed,
// and sealed ones come back by themselves: as long as there are no more cutters than slots, none waits for ever.
//
//     slot:  | input 0, frame 0 | input 1, frame 7 |  gap  | input 2 ... room |
//              segment            segment            (a place that was not filled)
//
// Where windows were asked for, segments end where panes do, and places are committed in the order of the text. A place
// is then no larger than that its segments have room in the slot, however short the panes in it turn out to be.
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
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// Room in a slot, to be filled from its front and then committed, filled or not.
struct reservation {
  slot* in = nullptr;
  std::uint32_t begin = 0;
  std::span<std::byte> bytes;
  std::uint32_t segments = 1;  // that it may make at the most
};

/// Text that was cut could not be accounted for: the counts of its input are not to be relied on any more.
class text_lost : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "not enough memory to keep track of the text"; }
};

/// All members are thread-safe, but one caller at a time reserves places.
class cutter {
 public:
  /// `divider`: divides the text into panes and outlives the cutter. Null: the text has no panes.
  cutter(ring& slots, collector& counted, text_divider* divider = nullptr);
  cutter(const cutter&) = delete;
  cutter& operator=(const cutter&) = delete;

  /// Room for 1 to `wanted` bytes, behind all places handed out before; waits for a free slot where there is none.
  /// One caller at a time.
  async::task<reservation> reserve(std::uint64_t wanted);

  /// The same without waiting: nothing where no slot is free.
  std::optional<reservation> try_reserve(std::uint64_t wanted);

  /// What becomes of the slots that are begun from now on.
  struct chunking {
    std::uint32_t max_bytes = std::numeric_limits<std::uint32_t>::max();  ///< bytes that make one full, 1 or more
    bool count_here = false;  ///< by the thread that filled it, where the host counts (counting_job)
  };

  /// Whether the engine would count here, if it were asked to.
  [[nodiscard]] bool counts_here() const { return collector_.counts_here(); }

  /// To be called by whoever reserves.
  void set_chunking(const chunking& next) { chunking_ = next; }

  /// The first `filled` bytes of a place belong to this owner. Places are committed in any order (with windows: in
  /// theirs), by any thread. What was not filled goes back where the place was the last one, else it stays a gap.
  /// Throws text_lost; the place is given back all the same.
  void commit(const reservation& where, std::size_t filled, const text_owner& owner);

  /// Commits it without a text.
  void give_back(const reservation& where) noexcept;

  /// A frame of `bytes` was verified. If all of it lies in the slot that is still filling it needs no verdict any more
  /// and becomes one with what is before it: true. False: the frame is out, tell the rolling counts.
  bool verified_in_place(const text_owner& frame, std::uint64_t bytes);

  /// Seals what was committed, full or not, so that it is counted now. Does nothing while places of that slot are
  /// still being filled.
  cut_mark flush();

 private:
  // Under the lock:
  [[nodiscard]] bool is_full(const slot& it) const;
  [[nodiscard]] reservation hand_out(slot& in, std::uint64_t wanted) const;
  void append_panes(slot& to, const segment& more);
  static void append(slot& to, const segment& more);
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
  const std::uint64_t min_part_bytes_;
  std::vector<pane_part> parts_;  // of the text at hand
};

/// A place that is committed, or given back by the destructor: its slot could never be sealed otherwise. One that is
/// moved from holds nothing.
class held_reservation {
 public:
  held_reservation(cutter& cut, const reservation& where) noexcept : cut_(&cut), where_(where) {}
  held_reservation(held_reservation&& other) noexcept
      : cut_(std::exchange(other.cut_, nullptr)), where_(other.where_) {}
  held_reservation& operator=(held_reservation&&) = delete;
  ~held_reservation() {
    if (cut_ != nullptr) cut_->give_back(where_);
  }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return where_.bytes; }

  /// As cutter::commit.
  void commit(std::size_t filled, const text_owner& owner) {
    if (cutter* const cut = std::exchange(cut_, nullptr)) cut->commit(where_, filled, owner);
  }

 private:
  cutter* cut_;
  reservation where_;
};

}  // namespace gpuhist::pipeline
