#include "pipeline/stop_signals.hpp"

#include "pipeline/output/messages.hpp"

#include <atomic>
#include <csignal>
#include <utility>

namespace gpuhist::pipeline {
namespace {

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

using signal_handler = void (*)(int);

// Asio's, one for all signals. Written before a handler of ours can be called, which can see nothing but globals.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<signal_handler> taker = nullptr;
static_assert(std::atomic<signal_handler>::is_always_lock_free);

void set_handler(int signal, signal_handler handler) {
  struct sigaction action{};
  if (::sigaction(signal, nullptr, &action) != 0) return;
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

// Handlers: only what is async-signal-safe.

void end_process(int signal) {
  erase_line_of_status();
  set_handler(signal, SIG_DFL);
  ::raise(signal);  // blocked here, it comes when this returns
}

// Gives way with the first signal, so that a second one ends the process even where the thread that runs the context is
// stuck in a write.
void take_first(int signal) {
  set_handler(signal, end_process);
  taker.load()(signal);
}

void put_before_asio(int signal) {
  struct sigaction action{};
  if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == take_first) return;
  taker = action.sa_handler;
  set_handler(signal, take_first);
}

}  // namespace

stop_signals::stop_signals(boost::asio::io_context& context, bool watch, std::stop_source stop)
    : signals_(context), stop_(std::move(stop)) {
  if (!watch) return;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (is_ignored(signal)) continue;
    signals_.add(signal);
    put_before_asio(signal);
    watched_.push_back(signal);
  }
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    received_ = signal;
    signals_.clear();  // which sets the default
    for (const int each : watched_) set_handler(each, end_process);
    stop_.request_stop();
  });
}

// The line of status may still be showing.
stop_signals::~stop_signals() {
  boost::system::error_code ignored;
  signals_.clear(ignored);
  for (const int each : watched_) set_handler(each, end_process);
}

void stop_signals::ignore() {
  boost::system::error_code ignored;
  signals_.cancel(ignored);
}

}  // namespace gpuhist::pipeline
