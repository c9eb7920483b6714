// Inputs that were read of a result, and count only once it turns out to be sound: until then they lie at the end of
// those that do, and can be taken back.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/reports/finished_inputs.hpp"

#include <cstddef>
#include <string>

namespace gpuhist::pipeline {

/// One at a time adds to the same finished_inputs: what was begun later is kept or dropped earlier. One thread.
class pending_inputs {
 public:
  /// Borrows `to`. `classes`: of the tallies.
  pending_inputs(finished_inputs& to, std::size_t classes);
  pending_inputs(const pending_inputs&) = delete;
  pending_inputs& operator=(const pending_inputs&) = delete;
  ~pending_inputs() { drop(); }

  void add(const input_report& next);

  [[nodiscard]] std::size_t size() const { return number_; }
  [[nodiscard]] const gpu::tally& verified() const { return verified_; }      ///< their sum
  [[nodiscard]] const gpu::tally& unverified() const { return unverified_; }  ///< their sum

  /// The first of them that is not complete, as "inputs[3] (\"name\")"; empty where all are.
  [[nodiscard]] const std::string& incomplete() const { return incomplete_; }

  /// They count. What is added from now on is pending again.
  void keep();

  /// Takes them back.
  void drop();

 private:
  void begin_anew();

  finished_inputs& to_;
  finished_inputs::extent begin_;  // of the first, where there is one
  std::size_t number_ = 0;
  gpu::tally verified_;
  gpu::tally unverified_;
  std::string incomplete_;
};

}  // namespace gpuhist::pipeline
