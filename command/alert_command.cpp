#include "command/alert_command.hpp"

#include "command/child_process.hpp"
#include "config/text.hpp"
#include "library/signals.hpp"
#include "report/formats/report.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::command {
namespace {

using clock = std::chrono::steady_clock;

// Without GPUHIST_EXEC: a gpuhist that the command starts would start the command again.
std::vector<std::string> environment_for_commands() {
  std::vector<std::string> all;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view variable = *each;
    if (!variable.starts_with("GPUHIST_CONDITION=") && !variable.starts_with("GPUHIST_EXEC="))
      all.emplace_back(variable);
  }
  return all;
}

bool is_readable(int fd) {
  pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) > 0 && (watched.revents & POLLIN) != 0;
}

// Waits for one command: writes its input, and ends it if it runs for too long after the stop signal.
class supervision {
 public:
  supervision(child_process& child, std::string_view input, const alert_command_setting& setting)
      : child_(child), rest_(input), setting_(setting) {}

  // Nothing if the command still runs, and is no longer waited for.
  std::optional<child_end> wait() {
    for (;;) {
      if (const auto ended = child_.take_end()) return ended;
      if (!is_stopped_ && is_readable(setting_.stop_descriptor)) stop();
      if (clock::now() >= deadline_ && !pass_deadline()) return std::nullopt;
      write_input();
      sleep();
    }
  }

  [[nodiscard]] bool has_terminated() const { return has_terminated_; }

 private:
  void stop() {
    is_stopped_ = true;
    deadline_ = clock::now() + setting_.patience;
  }

  // False after the last deadline.
  bool pass_deadline() {
    if (has_terminated_) return false;
    has_terminated_ = true;
    child_.terminate();
    deadline_ = clock::now() + setting_.grace;
    return true;
  }

  // A command that does not read its input (EPIPE) does no harm.
  void write_input() {
    if (!child_.input()) return;
    const ssize_t written = ::write(child_.input().get(), rest_.data(), rest_.size());
    if (written >= 0) {
      rest_.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EAGAIN && errno != EINTR) {
      rest_ = {};
    }
    if (rest_.empty()) child_.close_input();
  }

  // Until the command has ended, there is room in the pipe, a stop signal arrives, or the deadline has passed.
  void sleep() const {
    pollfd watched[] = {{.fd = child_.end_descriptor(), .events = POLLIN, .revents = 0},
                        {.fd = child_.input().get(), .events = POLLOUT, .revents = 0},
                        {.fd = is_stopped_ ? -1 : setting_.stop_descriptor, .events = POLLIN, .revents = 0}};
    ::poll(watched, std::size(watched), timeout());
  }

  // In milliseconds; -1: no limit.
  [[nodiscard]] int timeout() const {
    constexpr std::chrono::milliseconds polled{10};  // without a descriptor for the end
    const bool is_polled = child_.end_descriptor() < 0;
    if (deadline_ == clock::time_point::max()) return is_polled ? static_cast<int>(polled.count()) : -1;
    const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - clock::now());
    const auto longest = is_polled ? std::min(remaining, polled) : remaining;
    return static_cast<int>(std::max<std::int64_t>(longest.count(), 0));
  }

  child_process& child_;
  std::string_view rest_;  // of the input
  const alert_command_setting& setting_;
  bool is_stopped_ = false;
  bool has_terminated_ = false;
  clock::time_point deadline_ = clock::time_point::max();  // none before the stop signal
};

std::string seconds_text(std::chrono::milliseconds time) {
  return config::number_of(static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(time).count()), "second");
}

// "the command for 'digit > 0.5'"
std::string name_of(const alert_input& alert) {
  return "--exec: the command for '" + report::printable(alert.condition) + "' ";
}

std::string dropped_text(std::uint64_t count, const std::string& cause) {
  return "--exec: " + config::number_of(count, "alert") + (count == 1 ? " was" : " were") +
         " not passed to the command, because " + cause;
}

}  // namespace

alert_command::alert_command(alert_command_setting setting)
    : setting_(std::move(setting)), environment_(environment_for_commands()) {
  struct sigaction action{};
  if (::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) std::signal(SIGCHLD, SIG_DFL);
  thread_ = library::start_without_signals([this] { run_all(); });
}

alert_command::~alert_command() { finish(); }

void alert_command::pass(alert_input alert) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= setting_.capacity) {
      ++dropped_full_;
      return;
    }
    waiting_.push_back(std::move(alert));
  }
  changed_.notify_one();
}

void alert_command::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_finishing_ = true;
  }
  changed_.notify_one();
  thread_.join();
  report_dropped();
}

void alert_command::report_dropped() {
  if (dropped_full_ > 0) {
    setting_.report(dropped_text(dropped_full_, std::to_string(setting_.capacity) + " were waiting"));
  }
  if (dropped_by_stop_ > 0) setting_.report(dropped_text(dropped_by_stop_, "a signal ended the run"));
}

void alert_command::run_all() {
  for (alert_input alert; next(alert);) {
    try {
      run(alert);
    } catch (const std::exception& error) {  // no memory
      setting_.report(name_of(alert) + "failed: " + error.what());
    }
  }
}

// Waits for an alert. False after the last one.
bool alert_command::next(alert_input& taken) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_finishing_ || !waiting_.empty(); });
    if (is_readable(setting_.stop_descriptor)) {
      dropped_by_stop_ += waiting_.size();
      waiting_.clear();
    }
    if (!waiting_.empty()) break;
    if (is_finishing_) return false;
  }
  taken = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

void alert_command::run(const alert_input& alert) {
  if (setting_.before_start) setting_.before_start();
  std::vector<std::string> environment = environment_;
  environment.push_back("GPUHIST_CONDITION=" + alert.condition);
  child_process child;
  if (const int error = child.start(setting_.command, environment); error != 0) {
    setting_.report(name_of(alert) + "cannot be started: " + std::generic_category().message(error));
    return;
  }
  supervision watched(child, alert.line, setting_);
  const std::optional<child_end> ended = watched.wait();
  const std::string sent = watched.has_terminated()
                               ? "; gpuhist sent SIGTERM " + seconds_text(setting_.patience) + " after the stop signal"
                               : "";
  if (!ended) {
    setting_.report(name_of(alert) + "still runs" + sent + " and no longer waits");
  } else if (!ended->is_success() || watched.has_terminated()) {
    setting_.report(name_of(alert) + text_of(*ended) + sent);
  }
}

}  // namespace gpuhist::command
