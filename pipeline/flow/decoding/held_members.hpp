// The text of the members of an archive until their verdicts, for an observer that awaits verdicts.
#pragma once

#include "pipeline/counts/spilled_bytes.hpp"
#include "pipeline/flow/text_taps.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::pipeline {

/// Of one archive. One thread, which it blocks while text is observed. Memory: held_text_limits::in_memory for all
/// members; more is spilled.
class held_members {
 public:
  /// A member in what is held.
  struct member {
    input_id input = 0;
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
  };

  /// The verdict on a member.
  enum class verdict : std::uint8_t {
    verified,
    damaged,
    unread,  ///< reading it ended early
  };

  /// Borrows `taps`.
  explicit held_members(text_taps& taps)
      : taps_(taps), text_(taps.held_limits().in_memory, taps.held_limits().spilled_to) {}

  /// The text of a member begins. Each call is followed by one of conclude(). Returns `begin`.
  [[nodiscard]] std::uint64_t begin();

  /// The next text of the member that was begun last. Throws std::bad_alloc and spill_error.
  void add(std::span<const std::byte> text);

  /// Passes the text of the member to the observer, and ends it. Throws what text_taps::observe() throws.
  void conclude(const member& ended, verdict found);

 private:
  text_taps& taps_;
  spilled_bytes text_;
  std::size_t waiting_ = 0;  // members
};

}  // namespace gpuhist::pipeline
