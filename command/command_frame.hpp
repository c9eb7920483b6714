// What the commands with an output have in common, from the moment when it is open until they end.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "command/commands.hpp"
#include "command/signals.hpp"
#include "library/file_run.hpp"
#include "report/output/messages.hpp"

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

namespace gpuhist::command {

/// While it exists, the first stop signal requests a stop and does not end the process. To be made after the outputs
/// are open, because opening a FIFO waits for its reader, and before threads are started.
class command_frame {
 public:
  /// Prints the warning, unless it is empty.
  explicit command_frame(std::string_view warning = {});

  /// Requested by signals, and by the command.
  [[nodiscard]] const std::stop_source& stop() const { return stop_; }

  /// Those of a run that signals stop, which prints its status on SIGUSR1. Borrows the screen.
  [[nodiscard]] library::process_hooks hooks(report::console& screen) const;

  /// Lets signals make requests of a run with this loop, until the returned object is destroyed.
  [[nodiscard]] std::function<std::shared_ptr<void>(async::event_loop&)> attach() const;

  /// The end of a command: "ended by SIGTERM" and `consequence` are printed if there was a signal.
  [[nodiscard]] ending end(ending::status status, std::string_view consequence = {}, bool at_once = false) const;

  /// The same after a run. `conclude` prints its messages and writes its report. Throws what it throws, as unclean_end
  /// if the process must end at once.
  [[nodiscard]] ending end(const library::finished_run& finished, const std::function<ending::status()>& conclude,
                           std::string_view consequence = {}) const;

 private:
  kept_stop_signal signal_;
  std::stop_source stop_;
  std::shared_ptr<async::wakeup> status_ = std::make_shared<async::wakeup>();
};

}  // namespace gpuhist::command
