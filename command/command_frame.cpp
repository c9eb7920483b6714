#include "command/command_frame.hpp"

#include "report/output/progress.hpp"
#include "report/output/terminal.hpp"

#include <cstring>
#include <exception>
#include <string>

namespace gpuhist::command {

command_frame::command_frame(std::string_view warning) {
  if (!warning.empty()) report::complain("warning: " + std::string(warning));
  report::locale_is_utf8();  // keeps its result; not thread-safe, so before threads start
}

library::process_hooks command_frame::hooks(report::console& screen) const {
  return {
      .process_exits = true,
      .on_status =
          [&screen](const pipeline::run_progress& now) { screen.say("gpuhist: " + report::status_line(now) + "\n"); },
      .status_requests = status_,
      .attach = attach()};
}

std::function<std::shared_ptr<void>(async::event_loop&)> command_frame::attach() const {
  return [this](async::event_loop& loop) {
    const auto made = std::make_shared<signal_requests>(loop, stop_, status_);
    made->start();
    return made;
  };
}

// The signal is kept while the frame exists. NOLINTNEXTLINE(readability-convert-member-functions-to-static)
ending command_frame::end(ending::status status, std::string_view consequence, bool at_once) const {
  const int signal = kept_stop_signal::received();
  if (signal != 0) report::complain("ended by SIG" + std::string(::sigabbrev_np(signal)) + std::string(consequence));
  return {.exit_status = status, .signal = signal, .at_once = at_once};
}

ending command_frame::end(const library::finished_run& finished, const std::function<ending::status()>& conclude,
                          std::string_view consequence) const {
  try {
    return end(conclude(), consequence, finished.end_at_once);
  } catch (...) {
    if (finished.end_at_once) throw pipeline::unclean_end(std::current_exception());
    throw;
  }
}

}  // namespace gpuhist::command
