// Runs a plan: builds the engine, the ring and the stages around it, lets them work, and hands back the report.
#pragma once

#include "io/sink_fault.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/flow/run_hooks.hpp"
#include "pipeline/flow/run_plan.hpp"
#include "pipeline/flow/statistics/run_stats.hpp"

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace gpuhist::pipeline {

struct outcome {
  run_counts result;
  std::optional<run_stats> stats{};  ///< if the plan asks for them
  int signal = 0;                    ///< the signal that ended the run, if one did: to be raised again
  bool ended_by_hook = false;        ///< input_finished ended the reading
  /// What the engine failed with, naming the input and the offset (with --pass-through the inputs name them); empty if
  /// it did not.
  std::string engine_failure;
  std::optional<io::sink_fault> pass_through_fault{};  ///< what ended the handing on to standard output
  std::uint64_t not_passed_through = 0;  ///< bytes that were counted and not handed on, because the run ended
  std::string engine_warning;  ///< what went wrong and was mended: a device that failed, whose chunks the host counted
  /// A detached thread wakes a device that nobody needs any more, or a device is lost: what CUDA does when a process
  /// ends in the usual way could race or hang.
  bool end_at_once = false;
};

/// A failure after which the process is to end as for outcome::end_at_once.
class unclean_end : public std::exception {
 public:
  // NOLINTNEXTLINE(bugprone-throw-keyword-missing): it is kept, not to be thrown here
  explicit unclean_end(std::exception_ptr cause) noexcept : cause_(std::move(cause)) {}

  [[nodiscard]] const char* what() const noexcept override { return "a device was left as it was"; }

  /// What was thrown; never null.
  [[nodiscard]] const std::exception_ptr& cause() const noexcept { return cause_; }

 private:
  std::exception_ptr cause_;
};

/// Counts everything the plan names. Blocks. Throws gpu::engine_error where the engine cannot be had, what a hook
/// threw, and std::system_error or std::bad_alloc where the machine lacks something; all of it as the cause of an
/// unclean_end where the process must end at once. All threads have ended then, except one that wakes a device. Bad
/// inputs do not throw: they are in the report.
outcome run(const run_plan& what, const run_hooks& hooks);

}  // namespace gpuhist::pipeline
