#include "pipeline/stop_signals.hpp"

#include <csignal>
#include <utility>

namespace gpuhist::pipeline {
namespace {

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Asio's handler gives way to the default with its first signal, so that a second one ends the process even where the
// thread that runs the context is stuck in a write.
void reset_after_first(int signal) {
  struct sigaction action{};
  if (::sigaction(signal, nullptr, &action) != 0) return;
  action.sa_flags |= SA_RESETHAND;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

stop_signals::stop_signals(boost::asio::io_context& context, bool watch, std::stop_source stop)
    : signals_(context), stop_(std::move(stop)) {
  if (!watch) return;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (is_ignored(signal)) continue;
    signals_.add(signal);
    reset_after_first(signal);
  }
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    received_ = signal;
    signals_.clear();
    stop_.request_stop();
  });
}

void stop_signals::ignore() {
  boost::system::error_code ignored;
  signals_.cancel(ignored);
}

}  // namespace gpuhist::pipeline
