// The text of the units that a filter keeps: how it is held, and where it goes.
#pragma once

#include "pipeline/counts/spilled_bytes.hpp"
#include "pipeline/counts/text_observer.hpp"
#include "report/units/held_memory.hpp"
#include "report/units/unit_plan.hpp"
#include "report/units/unit_result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::report::units {

/// The text of a unit is held until the unit is complete; much of it is spilled to a temporary file. One thread.
/// Members throw std::bad_alloc, spill_error and std::system_error.
class kept_text {
 public:
  using buffer = paged_bytes;

  /// `room`: empty; is used for text.
  explicit kept_text(const filtering& how, buffer room = {});

  /// Its buffer, which may be used for other text. Nothing more is held.
  [[nodiscard]] buffer release() { return std::move(ready_.capacity() > given_.capacity() ? ready_ : given_); }

  /// Adds text of the unit that is open.
  void add_open(std::span<const std::byte> text);

  /// When the text of a unit is taken: before the next unit is closed, or not.
  enum class use : std::uint8_t { next, later };

  /// The open unit is complete. With use::later its text is held in memory.
  void close(bool is_kept, use when = use::next);

  /// Text of complete units that next() has not returned, except the one that was closed last for use::next.
  [[nodiscard]] std::size_t ready_bytes() const { return ready_.size(); }

  /// Bytes of memory for such text.
  [[nodiscard]] std::size_t held_bytes() const { return ready_.capacity() + given_.capacity(); }

  /// Adds the text of complete units that are kept.
  void add(std::span<const std::byte> text);

  /// A part of the text that ready_bytes() counts.
  struct part {
    std::size_t at = 0;
    std::size_t bytes = 0;
  };

  /// Removes parts, in ascending order. Precondition: next() was not called.
  void remove(std::span<const part> parts);

  /// As input_observer::next_kept().
  [[nodiscard]] std::span<const std::byte> next();

 private:
  std::unique_ptr<pipeline::spilled_bytes> open_;    // of the unit that is open
  std::unique_ptr<pipeline::spilled_bytes> closed_;  // of the unit that was open, from taken_ on
  std::uint64_t taken_ = 0;
  std::string piece_;  // of closed_
  buffer ready_;       // follows closed_
  buffer given_;
};

/// Buffers for kept text that readers of units use in turn: new pages cost more than the copy that fills them.
/// Thread-safe.
class kept_buffers {
 public:
  /// `limit`: bytes of buffers that are not in use; more are freed.
  explicit kept_buffers(std::size_t limit) : limit_(limit) {}

  /// An empty buffer, with room if one was given back.
  [[nodiscard]] kept_text::buffer take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return {};
    kept_text::buffer taken = std::move(free_.back());
    free_.pop_back();
    bytes_ -= taken.capacity();
    return taken;
  }

  void give_back(kept_text::buffer used) noexcept {
    const std::scoped_lock lock(mutex_);
    if (used.capacity() == 0 || bytes_ + used.capacity() > limit_ || free_.size() == free_.capacity()) return;
    used.clear();
    bytes_ += used.capacity();
    free_.push_back(std::move(used));
  }

 private:
  static constexpr std::size_t max_buffers = 256;

  static std::vector<kept_text::buffer> with_room() {
    std::vector<kept_text::buffer> made;
    made.reserve(max_buffers);
    return made;
  }

  const std::size_t limit_;
  std::mutex mutex_;
  std::vector<kept_text::buffer> free_ = with_room();
  std::size_t bytes_ = 0;  // of free_
};

/// How the kept text of an input ends.
struct kept_end {
  pipeline::input_observer::ending how = pipeline::input_observer::ending::whole;
  bool has_gaps = false;  ///< damaged text is missing (filtering::drops_unverified)
  unit_totals units{};    ///< of the input

  /// Whether the input is complete and verified.
  [[nodiscard]] bool is_complete() const { return how == pipeline::input_observer::ending::whole && !has_gaps; }
};

/// Where the kept text of one input goes, if not all goes to one stream. One call at a time, on any thread. Members may
/// throw; that ends the run.
class kept_outlet {
 public:
  kept_outlet() = default;
  kept_outlet(const kept_outlet&) = delete;
  kept_outlet& operator=(const kept_outlet&) = delete;
  virtual ~kept_outlet() = default;

  /// The next text, in order.
  virtual void write(std::span<const std::byte> text) = 0;

  /// No more text follows.
  virtual void end(const kept_end& found) = 0;
};

/// Makes the outlets of a run. Thread-safe.
class kept_outlets {
 public:
  kept_outlets() = default;
  kept_outlets(const kept_outlets&) = delete;
  kept_outlets& operator=(const kept_outlets&) = delete;
  virtual ~kept_outlets() = default;

  /// The outlet of the input with this name; it is destroyed before this object. Called only for inputs with text.
  virtual std::unique_ptr<kept_outlet> open(const std::string& input) = 0;
};

}  // namespace gpuhist::report::units
