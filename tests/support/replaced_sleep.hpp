// Calls a function instead of nanosleep, so that a test decides what happens during a pause. For programs that are
// built with replaced_sleep.cpp, which replaces nanosleep.
#pragma once

#include <chrono>
#include <functional>

namespace gpuhist::test {

/// While an object exists, pauses of the thread that created it call a function. At most one object may exist in each
/// thread.
class replaced_sleep {
 public:
  using action = std::function<void(std::chrono::nanoseconds pause)>;

  explicit replaced_sleep(action instead);
  replaced_sleep(const replaced_sleep&) = delete;
  replaced_sleep& operator=(const replaced_sleep&) = delete;
  ~replaced_sleep();

  /// For `instead`, if the thread is to sleep after all.
  static void sleep(std::chrono::nanoseconds pause);

 private:
  action instead_;
};

}  // namespace gpuhist::test
