// Divides text into panes while it is cut into chunks. A cutter without a divider makes no panes.
#pragma once

#include "pipeline/counts/segment.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

/// All members are thread-safe.
class text_divider {
 public:
  text_divider() = default;
  text_divider(const text_divider&) = delete;
  text_divider& operator=(const text_divider&) = delete;
  virtual ~text_divider() = default;

  /// Appends the parts of `text`, which is 1 byte or more, and the next text of its stream.
  virtual void divide(std::span<const std::byte> text, const text_owner& owner, std::vector<pane_part>& parts) = 0;

  /// All text of this frame was divided, and the frame was verified before any of its text was counted.
  virtual void note_verified(const text_owner& frame) = 0;

  /// The fewest bytes of a part, except the first and the last part of a text. 0: a text is one part.
  [[nodiscard]] virtual std::uint64_t min_part_bytes() const = 0;
};

}  // namespace gpuhist::pipeline
