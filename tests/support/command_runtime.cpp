// The CUDA runtime of a gpuhist that is built for tests: a fake device. FAKE_CUDA_CALL is the ordinal of the first call
// that fails; the device is lost from then on. FAKE_CUDA_WAKE_SECONDS is the time that a device takes to wake on a
// thread other than the main one. Both events are printed to standard error. So is a line at exit if CUDA's exit
// handlers would use such a device. FAKE_CUDA_MEMORY_MIB is the memory of the device.
#include "support/failing_runtime.hpp"
#include "support/fake_runtime.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

namespace gpuhist::gpu::cuda {
namespace {

constexpr result launch_failure = 719;

unsigned failing_call() {
  const char* const number = std::getenv("FAKE_CUDA_CALL");
  return number == nullptr ? ~0U : static_cast<unsigned>(std::stoul(number));
}

// The plan is shared by all runtimes of the process. It is never destroyed, because exit handlers read it.
planned_failure& failure_of_process() {
  static auto& plan = *new planned_failure(failing_call(), planned_failure::kind::sticky, launch_failure);
  return plan;
}

bool makes_no_context(const std::string& call) {
  return call == "cudaGetDeviceCount" || call == "cudaGetDeviceProperties";
}

std::atomic<unsigned>& devices_waking() {
  static std::atomic<unsigned> count{0};
  return count;
}

void wake_slowly() {
  const char* const seconds = std::getenv("FAKE_CUDA_WAKE_SECONDS");
  if (seconds == nullptr || ::gettid() == ::getpid()) return;
  ++devices_waking();
  std::fputs("fake CUDA: a device is waking\n", stderr);
  std::this_thread::sleep_for(std::chrono::seconds(std::stoul(seconds)));
  --devices_waking();
}

void exit_as_cuda_does() {
  if (devices_waking() > 0) std::fputs("fake CUDA: called at exit, with a device that is waking\n", stderr);
  const std::string call = failure_of_process().failed_call();
  if (!call.empty() && !makes_no_context(call)) std::fputs("fake CUDA: called at exit, with a lost device\n", stderr);
}

std::shared_ptr<planned_failure> plan_of_process() {
  static const auto shared = [] {
    planned_failure& plan = failure_of_process();
    plan.on_failure = [] { std::fputs("fake CUDA: a call fails\n", stderr); };
    std::atexit(exit_as_cuda_does);
    return std::shared_ptr<planned_failure>(&plan, [](planned_failure*) {});
  }();
  return shared;
}

}  // namespace

std::unique_ptr<runtime> make_runtime() {
  wake_slowly();
  device_properties device = fake_device();
  if (const char* const mib = std::getenv("FAKE_CUDA_MEMORY_MIB")) device.memory_bytes = std::stoull(mib) << 20U;
  return make_failing_runtime(make_fake_runtime(std::make_shared<ledger>(), {device}), plan_of_process());
}

}  // namespace gpuhist::gpu::cuda
