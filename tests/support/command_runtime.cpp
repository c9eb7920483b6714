// The runtime of a gpuhist that is built for tests over a fake device. FAKE_CUDA_CALL: the number of the call that
// fails, as a device does that is lost; it and what an exit handler would do to the lost device are written to standard
// error.
#include "support/failing_runtime.hpp"
#include "support/fake_runtime.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace gpuhist::gpu::cuda {
namespace {

constexpr result launch_failure = 719;

unsigned failing_call() {
  const char* const number = std::getenv("FAKE_CUDA_CALL");
  return number == nullptr ? ~0U : static_cast<unsigned>(std::stoul(number));
}

// One for all runtimes of the process. Never destroyed: exit handlers look at it.
planned_failure& failure_of_process() {
  static auto& plan = *new planned_failure(failing_call(), planned_failure::kind::sticky, launch_failure);
  return plan;
}

bool makes_no_context(const std::string& call) {
  return call == "cudaGetDeviceCount" || call == "cudaGetDeviceProperties";
}

void exit_as_cuda_does() {
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
  return make_failing_runtime(make_fake_runtime(std::make_shared<ledger>()), plan_of_process());
}

}  // namespace gpuhist::gpu::cuda
