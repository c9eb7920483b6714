#include "tests/support/replaced_sleep.hpp"

#include <cerrno>
#include <ctime>
#include <utility>

namespace gpuhist::test {
namespace {

thread_local const replaced_sleep::action* instead_of_sleep = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

}  // namespace

replaced_sleep::replaced_sleep(action instead) : instead_(std::move(instead)) { instead_of_sleep = &instead_; }

replaced_sleep::~replaced_sleep() { instead_of_sleep = nullptr; }

void replaced_sleep::sleep(std::chrono::nanoseconds pause) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(pause);
  const timespec requested{.tv_sec = seconds.count(), .tv_nsec = (pause - seconds).count()};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &requested, nullptr);
}

}  // namespace gpuhist::test

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
extern "C" int nanosleep(const timespec* requested, timespec* remaining) {
  using gpuhist::test::instead_of_sleep;
  if (instead_of_sleep != nullptr) {
    (*instead_of_sleep)(std::chrono::seconds(requested->tv_sec) + std::chrono::nanoseconds(requested->tv_nsec));
    return 0;
  }
  errno = ::clock_nanosleep(CLOCK_MONOTONIC, 0, requested, remaining);
  return errno == 0 ? 0 : -1;
}
