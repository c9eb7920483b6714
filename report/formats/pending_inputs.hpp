// Inputs that were read before their result is known to be valid. Lines of several runs may alternate: inputs are
// ordered by their results.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/spilled_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpuhist::report {

/// Several instances may add to one finished_inputs. One thread. Memory: two tallies, and 16 KiB for the locations of
/// the inputs; further locations are in a temporary file.
class pending_inputs {
 public:
  /// Borrows `to`. `no_text`: a tally of zeros, with the size of all others.
  pending_inputs(pipeline::finished_inputs& to, const gpu::tally& no_text);
  pending_inputs(const pending_inputs&) = delete;
  pending_inputs& operator=(const pending_inputs&) = delete;
  ~pending_inputs() { drop(); }

  /// Throws spill_error if no temporary file can be written, and std::bad_alloc.
  void add(const pipeline::input_report& next);

  [[nodiscard]] std::size_t size() const { return number_; }
  [[nodiscard]] const gpu::tally& verified() const { return verified_; }      ///< their sum
  [[nodiscard]] const gpu::tally& unverified() const { return unverified_; }  ///< their sum

  /// The first incomplete input, as "inputs[3] (\"name\")"; empty if all are complete.
  [[nodiscard]] const std::string& incomplete() const { return incomplete_; }

  /// Appends the pending inputs to the finished ones. Inputs added later are pending again. Throws as add(), and
  /// std::system_error if a temporary file cannot be read back; then none of them is appended.
  void keep();

  /// Discards the pending inputs. Their space is reused if no other inputs were added after them.
  void drop();

 private:
  void clear();

  pipeline::finished_inputs& to_;
  pipeline::spilled_bytes locations_;  // in the order of add()
  std::uint64_t begin_ = 0;            // offset of the first report, if there is one
  std::uint64_t spilled_ = 0;          // bytes of reports
  std::size_t number_ = 0;
  gpu::tally verified_;
  gpu::tally unverified_;
  std::string incomplete_;
};

}  // namespace gpuhist::report
