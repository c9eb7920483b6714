// Inputs that have finished: in which order they are reported, and where their reports are. These are spilled in the
// order in which inputs finish, and read back in the order of the inputs. Memory does not grow with their number (see
// spilled_bytes).
#pragma once

#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/spilled_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::pipeline {

/// All members are thread-safe. Spilled reports never change, so they can be read while others are appended.
class finished_inputs {
 public:
  /// Position of a spilled report.
  using location = std::uint64_t;

  /// `classes`: of the tallies. `in_memory`: bytes that are held in memory at most; further ones go to a file.
  explicit finished_inputs(std::size_t classes, std::size_t in_memory = std::size_t{1} << 20U,
                           const spill_folder& folder = {});

  [[nodiscard]] const spill_folder& folder() const { return reports_.folder(); }

  /// Returns the position. Throws spill_error if the temporary file cannot be created or written, and std::bad_alloc.
  /// If it throws, nothing has changed.
  location spill(const input_report& input);

  /// Appends the report to the order of the inputs. Throws the same as spill().
  void append(location at) { append(std::span<const location>(&at, 1)); }

  /// Appends these reports in this order. If it throws, none was appended.
  void append(std::span<const location> all);

  /// Sizes at one moment: bytes of spilled reports, bytes of their order.
  struct extent {
    std::uint64_t report_bytes = 0;
    std::uint64_t order_bytes = 0;
  };
  [[nodiscard]] extent now() const { return {reports_.size(), order_.size()}; }

  /// Removes everything that was spilled and appended after that moment. Precondition: no other caller uses it.
  void cut_back(extent to);

  /// Throws std::system_error if the report cannot be read back.
  [[nodiscard]] input_report at(location position) const;

  /// The location of the report that was appended as number `input`, from 0.
  [[nodiscard]] location location_of(std::uint64_t input) const;

 private:
  const std::size_t classes_;
  spilled_bytes reports_;  // each after its length in 4 bytes
  spilled_bytes order_;    // locations
};

/// An input that is finished, or an archive after all of its members.
struct completion {
  finished_inputs::location at = 0;
  std::uint32_t archive_name_bytes = 0;  ///< of a member: the length of its archive's name, with which its own begins
  std::uint32_t member = 0;              ///< its position in the archive
  std::uint32_t input = 0;               ///< its input_id
  bool is_omitted = false;               ///< an archive that reports omit, because its members represent it
};

/// A completion with its report.
struct completed_input {
  completion how;
  input_report report;
  bool is_finished = true;  ///< false: the run ended before all of its text was merged
};

/// The order in which the inputs of a run are finished, for reports that do not wait for earlier inputs. All members
/// are thread-safe. Memory does not grow with the number of inputs (see spilled_bytes).
class completed_inputs {
 public:
  explicit completed_inputs(const spill_folder& folder);

  /// Throws spill_error if the temporary file cannot be written, and std::bad_alloc; then nothing has changed.
  void append(const completion& next);

  [[nodiscard]] std::size_t size() const;

  /// Throws std::system_error if it cannot be read back.
  [[nodiscard]] completion at(std::size_t number) const;

 private:
  spilled_bytes completions_;
};

}  // namespace gpuhist::pipeline
