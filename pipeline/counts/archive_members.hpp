// The members of one archive, in their order: which are finished, and where their reports are spilled. Memory does not
// grow with the number of finished members, because the positions of their reports are spilled, too.
#pragma once

#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/segment.hpp"
#include "pipeline/counts/spilled_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

/// Not thread-safe.
class archive_members {
 public:
  using location = finished_inputs::location;

  enum class state : std::uint8_t {
    open,      ///< its counts are in memory
    waiting,   ///< all of its text is counted and waits for a verdict; the counts are spilled
    finished,  ///< its report is spilled
  };

  static constexpr input_id no_input = std::numeric_limits<input_id>::max();

  struct member {
    input_id input = 0;  ///< no_input: it is finished
    state is = state::open;
    location at = 0;  ///< unless it is open
  };

  /// `pages`: for the positions of reports, shared by all archives; outlives this object. `archive_name_bytes`: the
  /// length of the name of the archive, with which the names of its members begin.
  archive_members(spilled_bytes& pages, std::uint32_t archive_name_bytes)
      : pages_(pages), archive_name_bytes_(archive_name_bytes) {}

  [[nodiscard]] std::uint32_t archive_name_bytes() const { return archive_name_bytes_; }

  /// Adds the next member, which is open. Inputs are numbered in the order in which they are added. Returns its
  /// position.
  std::uint32_t add(input_id input);

  /// The number of members that are not finished.
  [[nodiscard]] std::size_t unfinished() const { return unfinished_; }

  /// The position of a member that waits. Nothing: this input is none of them.
  [[nodiscard]] std::optional<std::uint32_t> find_waiting(input_id input) const;

  /// Preconditions of these: the member at this position is not finished.
  [[nodiscard]] location location_of(std::uint32_t position) const { return at(position).at; }
  void set_waiting(std::uint32_t position, location spilled);
  void set_open(std::uint32_t position);

  /// Throws spill_error if positions cannot be spilled. They stay in memory, and the member is finished.
  void finish(std::uint32_t position, location spilled);

  /// Spills the positions of all members. Precondition: all are finished.
  void spill_rest() { spill_front(rest_.size()); }

  /// Passes each member to `task`, in order. Throws std::system_error if they cannot be read back.
  template <typename Task>
  void for_each(Task task) const {
    for (const page& each : spilled_) {
      for (const location position : read(each)) task(member{.input = no_input, .is = state::finished, .at = position});
    }
    for (const member& each : rest_) task(each);
  }

  /// Moves the reports of all members to the order of the inputs, and adds their number to `appended`. If it throws,
  /// some of them are moved; a later call moves the others. Precondition: all are finished.
  void append_to(finished_inputs& order, std::size_t& appended);

 private:
  struct page {
    std::uint64_t at = 0;
    std::size_t members = 0;
  };

  [[nodiscard]] member& at(std::uint32_t position) { return rest_[position - paged_]; }
  [[nodiscard]] const member& at(std::uint32_t position) const { return rest_[position - paged_]; }
  [[nodiscard]] std::vector<location> read(const page& from) const;
  void spill_front(std::size_t number);

  spilled_bytes& pages_;
  const std::uint32_t archive_name_bytes_;
  std::deque<page> spilled_;  // of the first members
  std::uint32_t paged_ = 0;   // members of all pages
  std::deque<member> rest_;   // from there on
  std::size_t finished_ = 0;  // the first members of rest_, all of which are finished
  std::size_t unfinished_ = 0;
};

}  // namespace gpuhist::pipeline
