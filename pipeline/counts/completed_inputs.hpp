// The order in which the inputs of a run are finished, for reports that do not wait for earlier inputs.
#pragma once

#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/spilled_bytes.hpp"

#include <cstddef>
#include <cstdint>

namespace gpuhist::pipeline {

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

/// All members are thread-safe. Memory does not grow with the number of inputs (see spilled_bytes).
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
