// Inputs that are over, out of the way: their reports are laid down in whatever order they end, and read back in the
// order of the inputs. Memory does not grow with their number (see spilled_bytes).
#pragma once

#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/spilled_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::pipeline {

/// All members are thread-safe. What was laid down never changes, so a reader may go on while more comes.
class finished_inputs {
 public:
  /// Where a report lies.
  using location = std::uint64_t;

  /// `classes`: of the tallies. `in_memory`: bytes held at the most before a file takes them.
  explicit finished_inputs(std::size_t classes, std::size_t in_memory = std::size_t{1} << 20U);

  /// Throws spill_error where no temporary file takes it, and std::bad_alloc; nothing has changed then.
  location spill(const input_report& input);

  /// That report is the next one in the order of the inputs. Throws likewise.
  void append(location at) { append(std::span<const location>(&at, 1)); }

  /// Those are, in this order: all of them, or none where it throws.
  void append(std::span<const location> all);

  /// How much was laid down and appended.
  struct extent {
    std::uint64_t report_bytes = 0;
    std::uint64_t order_bytes = 0;
  };
  [[nodiscard]] extent now() const { return {reports_.size(), order_.size()}; }

  /// Forgets all that came after that moment, of which nobody else knows.
  void cut_back(extent to);

  /// Throws std::system_error where it cannot be read back.
  [[nodiscard]] input_report at(location where) const;

  /// The location of the input with this number, of those that were appended.
  [[nodiscard]] location number(std::uint64_t input) const;

 private:
  const std::size_t classes_;
  spilled_bytes reports_;  // each behind its length, as 4 bytes
  spilled_bytes order_;    // locations
};

}  // namespace gpuhist::pipeline
