// Puts text that the threads of a program pass in into chunks.
//
//     small text:   copied into the slot that is filling, which all inputs share; the pool counts it when it is full
//     large text:   host engines count it where it lies, on the calling thread (put) or on the pool (put_borrowed)
//     lent slots:   the program wrote the text into a slot itself
//
// All are chunks of one cutter, so chunks are merged in the order in which their text was put. Text is observed by the
// calling thread before it is put.
#pragma once

#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/text_divider.hpp"
#include "pipeline/flow/text_feed.hpp"
#include "pipeline/flow/text_track.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// The run accepts no more text: it was finished or stopped.
class feed_closed : public std::runtime_error {
 public:
  /// `cause`: the failure that stopped the run; null: none did.
  explicit feed_closed(const std::exception_ptr& cause);
};

/// All members are thread-safe. Those that put text block the calling thread while no slot is free, and throw
/// feed_closed once the run is stopped. They add the text that will be counted to its track: if they throw, that before
/// the failure. They throw text_lost or std::bad_alloc if memory is short; text after the failure is lost.
class fed_text final : private text_lender {
 public:
  /// `run` outlives this.
  explicit fed_text(const fed_run& run);

  /// Returns when the text is no longer needed.
  void put(text_track& to, std::span<const std::byte> text);

  /// As put(), but the text may be read after the call, as long as a copy of `loan` exists.
  void put_borrowed(text_track& to, std::span<const std::byte> text, const std::shared_ptr<const void>& loan);

  /// Puts values, each of which is a unit. Values that are adjacent in memory are one text. Appends to `kept` whether
  /// each is kept; if the text is not observed, true.
  void put_values(text_track& to, std::span<const text_value> values, std::vector<bool>& kept);

  /// A slot for text of this input that the caller writes, if possible one that it had before; less than half of all
  /// slots at a time. Does not wait: null if there is none, or if text must be divided in the order in which it is put
  /// (windows). It is not in the cutter, so it delays no other text, however long it is kept.
  [[nodiscard]] slot* take_slot(input_id input);

  /// Passes text to the taps: that of a slot, before it is put. If observing fails for another reason than memory, the
  /// run ends with that failure.
  void observe(const text_track& of, std::span<const std::byte> text);

  /// The first `filled` bytes of a slot of take_slot() are the next text. The slot must not be used afterwards.
  void put_slot(slot& taken, std::size_t filled, text_track& to);

  /// Returns an unused slot of take_slot().
  void return_slot(slot& taken) noexcept;

  /// Memory for text that take_slot() has no slot for: the size of a slot.
  [[nodiscard]] std::size_t slot_bytes() const { return run_.slots.slots().front().bytes.size(); }

  /// Keeps lent slots mapped after the run.
  [[nodiscard]] std::shared_ptr<const void> memory_owner() const { return run_.slots.memory_owner(); }

  /// As cutter::seal_all().
  cut_mark seal_all() { return cutter_.seal_all(); }

 private:
  class borrowed_chunk;

  struct lent_chunk {
    slot* chunk = nullptr;
    bool is_stored = false;  // its segments; else it will not be counted
  };

  void release(std::span<const std::byte> /*text*/) noexcept override {}  // put() returns after it
  void observe_by(const std::function<async::task<>()>& observing);
  [[nodiscard]] bool is_counted_in_place(std::size_t size) const;
  [[noreturn]] void throw_closed() const;
  void put_piece(text_track& to, std::span<const std::byte> text);
  std::size_t copy_some(const text_owner& owner, std::span<const std::byte> text);
  std::size_t count_in_place(const text_owner& owner, std::span<const std::byte> text);
  lent_chunk cut_lent(const text_owner& owner, std::span<const std::byte> text, text_lender& lender);

  const fed_run run_;
  const std::stop_token stop_;
  const std::unique_ptr<text_divider> divider_;  // null: no windows
  cutter cutter_;
  std::mutex reserving_;  // one caller at a time may reserve; it is taken before the lock of the cutter
  std::mutex lending_;
  std::size_t lent_slots_ = 0;  // under lending_
  std::atomic<unsigned> borrowed_chunks_{0};
};

}  // namespace gpuhist::pipeline
