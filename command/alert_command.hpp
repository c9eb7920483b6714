// Runs the command of --exec for alerts, one after the other, on a thread of its own. Counting never waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gpuhist::command {

/// What the command receives for one alert.
struct alert_input {
  std::string condition;  ///< as typed: GPUHIST_CONDITION in its environment
  std::string line;       ///< its standard input
};

struct alert_command_setting {
  std::string command{};      ///< run by `/bin/sh -c`
  std::size_t capacity = 64;  ///< alerts that may wait; the one whose command runs is not among them
  /// Borrowed; readable from a stop signal on, and never read here. -1: there are no stop signals.
  int stop_descriptor = -1;
  std::chrono::milliseconds patience{10'000};  ///< from the stop signal to SIGTERM
  std::chrono::milliseconds grace{5'000};      ///< from SIGTERM until the command is no longer waited for
  /// Receives messages without "gpuhist: " and without a line end: on the thread of the commands, and in finish() on
  /// that of its caller, never on both at once. Must not throw.
  std::function<void(std::string_view message)> report{};
  std::function<void()> before_start{};  ///< called before each command, on their thread; may be null; must not throw
};

/// Runs a command for each alert, in their order.
///
/// A command has the alert as its standard input. Its standard output and its standard error are the standard error of
/// this process. It has no other descriptors, the default signal mask and the default actions of signals; only SIGHUP
/// stays ignored (nohup). It is a process group of its own: Ctrl-C reaches this process only, and SIGTERM reaches all
/// processes of the group. A command that ends with another status than 0, by a signal, or cannot be started, is
/// reported.
///
/// After the stop signal no command is started. The one that runs has `patience` to end, then SIGTERM is sent.
class alert_command {
 public:
  /// Starts the thread, which receives no signals. Where the parent ignored SIGCHLD, its default action is restored,
  /// because the kernel would discard exit statuses. Throws std::system_error.
  explicit alert_command(alert_command_setting setting);
  alert_command(const alert_command&) = delete;
  alert_command& operator=(const alert_command&) = delete;
  ~alert_command();  ///< as finish()

  /// Adds an alert. Never blocks: if `capacity` alerts wait, the alert is counted as dropped. Any thread.
  void pass(alert_input alert);

  /// Waits for the commands that wait or run, and reports how many alerts were dropped. Further calls do nothing.
  void finish();

 private:
  void run_all();
  [[nodiscard]] bool next(alert_input& taken);
  void run(const alert_input& alert);
  void report_dropped();

  const alert_command_setting setting_;
  const std::vector<std::string> environment_;  // of this process, when the object was made
  std::mutex mutex_;                            // of the members below
  std::condition_variable changed_;
  std::deque<alert_input> waiting_;
  bool is_finishing_ = false;
  std::uint64_t dropped_full_ = 0;
  std::uint64_t dropped_by_stop_ = 0;
  std::thread thread_;  // last: it uses the others
};

}  // namespace gpuhist::command
