// Marks the time in which a thread runs a callback of the caller of a run. Calls from within it can then be refused,
// which would else wait for the callback that makes them.
#pragma once

namespace gpuhist::pipeline {

/// Lives on the stack of the thread, around the callback.
class callback_scope {
 public:
  /// `run`: identifies the run.
  explicit callback_scope(const void* run) noexcept;
  callback_scope(const callback_scope&) = delete;
  callback_scope& operator=(const callback_scope&) = delete;
  ~callback_scope();

  /// Whether the calling thread is within a callback of this run.
  [[nodiscard]] static bool is_within(const void* run) noexcept;

 private:
  const void* const run_;
  const callback_scope* const outer_;
};

}  // namespace gpuhist::pipeline
