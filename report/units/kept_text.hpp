// The text of the units that a filter keeps. The text of a unit is held until the unit is complete; much of it is
// spilled to a temporary file.
#pragma once

#include "pipeline/counts/spilled_bytes.hpp"
#include "report/units/held_memory.hpp"
#include "report/units/unit_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::pipeline::units {

/// One thread. Members throw std::bad_alloc, spill_error and std::system_error.
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

  /// As input_observer::next_kept().
  [[nodiscard]] std::span<const std::byte> next();

 private:
  std::unique_ptr<spilled_bytes> open_;    // of the unit that is open
  std::unique_ptr<spilled_bytes> closed_;  // of the unit that was open, from taken_ on
  std::uint64_t taken_ = 0;
  std::string piece_;  // of closed_
  buffer ready_;       // follows closed_
  buffer given_;
};

}  // namespace gpuhist::pipeline::units
