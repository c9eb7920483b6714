// Inputs that were read of a result, and count only once it turns out to be sound. Results of several runs may be read
// at the same time, line by line: the order of the inputs is that in which their results came.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/spilled_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpuhist::pipeline {

/// Any number of them add to the same finished_inputs. One thread. Memory: 16 KiB for the places of its inputs, which a
/// temporary file takes where there are more, and two tallies.
class pending_inputs {
 public:
  /// Borrows `to`. `classes`: of the tallies.
  pending_inputs(finished_inputs& to, std::size_t classes);
  pending_inputs(const pending_inputs&) = delete;
  pending_inputs& operator=(const pending_inputs&) = delete;
  ~pending_inputs() { drop(); }

  /// Throws spill_error where no temporary file takes it, and std::bad_alloc.
  void add(const input_report& next);

  [[nodiscard]] std::size_t size() const { return number_; }
  [[nodiscard]] const gpu::tally& verified() const { return verified_; }      ///< their sum
  [[nodiscard]] const gpu::tally& unverified() const { return unverified_; }  ///< their sum

  /// The first of them that is not complete, as "inputs[3] (\"name\")"; empty where all are.
  [[nodiscard]] const std::string& incomplete() const { return incomplete_; }

  /// They count, after those that do. What is added from now on is pending again. Throws as add(), and
  /// std::system_error where a temporary file cannot be read back; then none of them counts.
  void keep();

  /// Takes them back. Their room is used again where no others were added after them.
  void drop();

 private:
  void begin_anew();

  finished_inputs& to_;
  spilled_bytes locations_;    // in the order in which they were added
  std::uint64_t begin_ = 0;    // of the first report, where there is one
  std::uint64_t spilled_ = 0;  // bytes of reports
  std::size_t number_ = 0;
  gpu::tally verified_;
  gpu::tally unverified_;
  std::string incomplete_;
};

}  // namespace gpuhist::pipeline
