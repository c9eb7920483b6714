// Runs a plan: makes the engine, the ring and the stages around it, runs them, and returns the result.
#pragma once

#include "io/failure.hpp"
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
  bool is_stopped = false;           ///< run_hooks::stop was requested before the reading had ended
  bool ended_by_hook = false;        ///< a hook ended the reading
  /// Why counting failed, with input and offset (with --pass-through these are in the inputs); empty: it did not fail.
  std::string engine_failure;
  std::exception_ptr engine_cause{};                   ///< the exception of engine_failure; null: there is none
  std::optional<io::sink_fault> pass_through_error{};  ///< the failed write to standard output
  std::uint64_t not_passed_through = 0;  ///< bytes that were counted but not forwarded before the run ended
  skipped_names empty_trees{};           ///< directories in which no file was found: their number, and the first one
  std::string engine_warning;            ///< a recovered failure: a device failed, and the host counted its chunks
  /// The process must end without exit handlers: a detached thread is still starting a device, or a device is lost, and
  /// CUDA's exit handlers could race with it or hang.
  bool end_at_once = false;
};

/// A failure after which the process must end as for outcome::end_at_once.
class unclean_end : public std::exception {
 public:
  // NOLINTNEXTLINE(bugprone-throw-keyword-missing): it is stored, not thrown
  explicit unclean_end(std::exception_ptr cause) noexcept : cause_(std::move(cause)) {}

  [[nodiscard]] const char* what() const noexcept override { return "a device was left as it was"; }

  /// The exception; never null.
  [[nodiscard]] const std::exception_ptr& cause() const noexcept { return cause_; }

 private:
  std::exception_ptr cause_;
};

/// Counts all inputs of the plan, and blocks until it is done. Throws gpu::engine_error if the engine cannot be made,
/// exceptions of hooks, and std::system_error or std::bad_alloc if a resource of the system is missing. If the process
/// must end at once, an unclean_end is thrown with the exception as its cause. All threads have ended when it throws,
/// except one that starts a device. Failures of inputs do not throw: they are in the result.
outcome run(const run_plan& plan, const run_hooks& hooks);

}  // namespace gpuhist::pipeline
