#include "command/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

// The attributes and actions of posix_spawn(). Allocations fail with an error number, which is kept.
class spawn_setting {
 public:
  explicit spawn_setting(int input) {
    keep(::posix_spawnattr_init(&attributes_));
    keep(::posix_spawn_file_actions_init(&actions_));
    set_signals();
    set_descriptors(input);
  }
  spawn_setting(const spawn_setting&) = delete;
  spawn_setting& operator=(const spawn_setting&) = delete;
  ~spawn_setting() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const posix_spawnattr_t& attributes() const { return attributes_; }
  [[nodiscard]] const posix_spawn_file_actions_t& actions() const { return actions_; }

 private:
  void keep(int error) {
    if (error_ == 0) error_ = error;
  }

  // Signals with a handler have their default action after exec; those that are ignored stay so, unless they are set.
  void set_signals() {
    sigset_t reset;
    ::sigfillset(&reset);
    for (const int each : {SIGHUP, SIGKILL, SIGSTOP}) ::sigdelset(&reset, each);
    sigset_t none;
    ::sigemptyset(&none);
    keep(::posix_spawnattr_setsigdefault(&attributes_, &reset));
    keep(::posix_spawnattr_setsigmask(&attributes_, &none));
    keep(::posix_spawnattr_setpgroup(&attributes_, 0));
    constexpr auto flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP;
    keep(::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags)));
  }

  // Duplicating a descriptor to itself keeps it open after exec: one that was closed at the start of gpuhist would be
  // closed, and the first file of the command would get its number. Files that the parent of gpuhist opened may lack
  // O_CLOEXEC.
  void set_descriptors(int input) {
    keep(::posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO));
    keep(::posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDERR_FILENO));
    keep(::posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO));
    keep(::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1));
  }

  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
  int error_ = 0;
};

// posix_spawn() changes none of the texts. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
char* argument(const std::string& text) { return const_cast<char*>(text.c_str()); }

std::vector<char*> arguments(std::span<const std::string> texts) {
  std::vector<char*> made;
  made.reserve(texts.size() + 1);
  for (const std::string& each : texts) made.push_back(argument(each));
  made.push_back(nullptr);
  return made;
}

// The process has not been waited for, so its number is not used again.
int open_end_descriptor(pid_t process) { return static_cast<int>(::syscall(SYS_pidfd_open, process, 0)); }

std::string name_of_signal(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

}  // namespace

std::string text_of(const child_end& ended) {
  switch (ended.type) {
    case child_end::kind::exited:
      return "ended with status " + std::to_string(ended.value);
    case child_end::kind::signaled:
      return "was ended by " + name_of_signal(ended.value);
    case child_end::kind::unknown:
      break;
  }
  return "ended with an unknown status";
}

int child_process::start(const std::string& command, std::span<const std::string> environment) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
  const io::descriptor child_end_of_pipe(ends[0]);
  io::descriptor ours(ends[1]);
  if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) return errno;  // the child's end blocks
  const spawn_setting setting(child_end_of_pipe.get());
  if (setting.error() != 0) return setting.error();
  const std::array<std::string, 4> words = {"/bin/sh", "-c", "--", command};
  const int error = ::posix_spawn(&pid_, words[0].c_str(), &setting.actions(), &setting.attributes(),
                                  arguments(words).data(), arguments(environment).data());
  if (error != 0) return error;
  input_ = std::move(ours);
  end_ = io::descriptor(open_end_descriptor(pid_));
  return 0;
}

std::optional<child_end> child_process::take_end() const {
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return std::nullopt;
  if (ended < 0) return child_end{};
  if (WIFSIGNALED(status)) return child_end{.type = child_end::kind::signaled, .value = WTERMSIG(status)};
  return child_end{.type = child_end::kind::exited, .value = WEXITSTATUS(status)};
}

void child_process::terminate() const {
  ::kill(-pid_, SIGTERM);
  ::kill(-pid_, SIGCONT);  // a suspended process receives it then
}

}  // namespace gpuhist::command
