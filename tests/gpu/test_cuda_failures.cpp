// Failures of every CUDA call: nothing hangs, nothing leaks, every job is completed once, with exact rows or an error.
#include "contract/engine_contract.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "support/failing_runtime.hpp"
#include "support/fake_runtime.hpp"
#include "tests/gpu/small_jobs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace gpuhist::gpu::cuda {
namespace {

constexpr result invalid_value = 1;     // an error of the call only
constexpr result launch_failure = 719;  // an error of the device
constexpr std::size_t job_count = 6;

struct outcome {
  std::string failed_call;
  std::vector<std::string> errors;  // of construction, registration and jobs
  unsigned calls_after_failure = 0;
  std::vector<std::string> misuses;
  std::size_t exact_jobs = 0;
  std::size_t failed_jobs = 0;
};

// Each job has its own memory: the engine cannot wait for a device that failed, and the fake device still copies.
job_memories memory_for(std::size_t jobs) { return gpu::memory_for(jobs, 256); }

// Writes to the memory of a failed job at once, as its owner may, so that ThreadSanitizer detects a device that still
// copies. Except if the device failed permanently.
void count_answers(std::span<const std::unique_ptr<contract::job_memory>> memory, planned_failure::kind kind,
                   outcome& result) {
  for (std::uint32_t i = 0; i < memory.size(); ++i) {
    try {
      const auto rows = memory[i]->wait();
      const auto expected =
          contract::count_obviously(contract::random_bytes(job_bytes, i), job_extents(), partition::identity());
      CHECK(std::equal(rows.begin(), rows.end(), expected.begin(), expected.end()));
      ++result.exact_jobs;
    } catch (const engine_error& error) {
      result.errors.emplace_back(error.what());
      ++result.failed_jobs;
      if (kind == planned_failure::kind::once) std::ranges::fill(memory[i]->all(), std::byte{});
    }
  }
}

// A short run: makes the engine, registers memory, counts six jobs that are submitted at once, and destroys everything.
outcome run_with(const std::shared_ptr<planned_failure>& plan, planned_failure::kind kind, unsigned devices = 1) {
  outcome result;
  const auto seen = std::make_shared<ledger>();
  const auto memory = memory_for(job_count);
  try {
    cuda_engine engine(
        make_failing_runtime(make_fake_runtime(seen, std::vector<device_properties>(devices, fake_device())), plan),
        {.counted = partition::identity(),
         .run = {},
         .streams = 2,
         .devices = devices == 1 ? std::vector<unsigned>{} : std::vector<unsigned>{0, 1},
         .max_chunk = job_bytes,
         .max_extents = 3});
    for (const auto& each : memory) engine.register_memory(each->all(), nullptr);
    for (std::uint32_t i = 0; i < job_count; ++i) {
      engine.submit(memory[i]->prepare(contract::random_bytes(job_bytes, i), job_extents()));
    }
    count_answers(memory, kind, result);
    for (const auto& each : memory) CHECK(each->answers() == 1);
  } catch (const engine_error& error) {
    result.errors.emplace_back(error.what());
  }
  result.failed_call = plan->failed_call();
  result.calls_after_failure = plan->calls_after_failure();
  result.misuses = seen->misuses();
  return result;
}

// Runs with every n until n is past the last call. Failures of calls in destructors are not reported.
unsigned for_every_call(planned_failure::kind kind, unsigned devices, void (*check)(const outcome&)) {
  const result code = kind == planned_failure::kind::once ? invalid_value : launch_failure;
  for (unsigned n = 1;; ++n) {
    CAPTURE(n);
    const outcome result = run_with(std::make_shared<planned_failure>(n, kind, code), kind, devices);
    CAPTURE(result.failed_call);
    if (result.failed_call.empty()) {
      CHECK(result.exact_jobs == job_count);
      return n;
    }
    check(result);
  }
}

// Calls whose failure may be unreported if every job is exact: those that release something, and the choice of the
// device by a lane that started after everything was counted.
bool may_fail_unheard(const std::string& call) {
  return call == "cudaFree" || call == "cudaStreamDestroy" || call == "cudaEventDestroy" ||
         call == "cudaHostUnregister" || call == "cudaSetDevice";
}

TEST_CASE("whichever call fails once, every job is completed once, exact or with an error that names the call") {
  for (const unsigned devices : {1U, 2U}) {
    CAPTURE(devices);
    const unsigned calls = for_every_call(planned_failure::kind::once, devices, [](const outcome& result) {
      CHECK(result.misuses == std::vector<std::string>{});
      CHECK(result.errors.empty() == (result.exact_jobs == job_count));
      if (may_fail_unheard(result.failed_call) && result.exact_jobs == job_count) return;
      REQUIRE(!result.errors.empty());
      for (const auto& error : result.errors) {
        CAPTURE(error);
        CHECK(error == result.errors.front());
        CHECK(error.find(result.failed_call) != std::string::npos);
        CHECK(error.find("fake error 1") != std::string::npos);
      }
    });
    CHECK(calls > 100 * devices);
  }
}

TEST_CASE("if a device fails at any call, every job is completed once and no call follows") {
  for (const unsigned devices : {1U, 2U}) {
    CAPTURE(devices);
    const unsigned calls = for_every_call(planned_failure::kind::sticky, devices, [](const outcome& result) {
      CHECK(result.calls_after_failure == 0);
      CHECK(std::ranges::all_of(result.misuses, is_left_on_the_device));
      CHECK((result.exact_jobs + result.failed_jobs == job_count || !result.errors.empty()));
      for (const auto& error : result.errors) {
        CHECK(error == result.errors.front());
        CHECK(error.find("fake error 719") != std::string::npos);
      }
    });
    CHECK(calls > 100 * devices);
  }
}

// Runs three jobs in sequence on one lane, whose n-th call fails. Returns the errors of the failed jobs.
std::vector<std::string> errors_in_a_row(const std::shared_ptr<planned_failure>& plan) {
  const auto memory = memory_for(3);
  cuda_engine engine(
      make_failing_runtime(make_fake_runtime(std::make_shared<ledger>()), plan),
      {.counted = partition::identity(), .run = {}, .streams = 1, .max_chunk = job_bytes, .max_extents = 3});
  for (const auto& each : memory) engine.register_memory(each->all(), nullptr);
  std::vector<std::string> errors;
  for (std::uint32_t i = 0; i < memory.size(); ++i) {
    engine.submit(memory[i]->prepare(contract::random_bytes(job_bytes, i), job_extents()));
    try {
      memory[i]->wait();
    } catch (const engine_error& error) {
      errors.emplace_back(error.what());
    }
  }
  return errors;
}

TEST_CASE("after an error of the device every later job fails with the same error") {
  bool reached = false;
  for (unsigned n = 1; !reached; ++n) {
    const auto plan = std::make_shared<planned_failure>(n, planned_failure::kind::once, launch_failure);
    try {
      const auto errors = errors_in_a_row(plan);
      if (plan->failed_call() != "cudaLaunchKernelExC") continue;
      reached = true;
      REQUIRE(errors.size() == 3);
      CHECK(errors[1] == errors[0]);
      CHECK(errors[2] == errors[0]);
    } catch (const engine_error&) {
      continue;  // the engine was not made
    }
  }
}

TEST_CASE("with several devices, an error names the one that failed") {
  bool reached = false;
  for (unsigned n = 1; !reached; ++n) {
    const auto plan = std::make_shared<planned_failure>(n, planned_failure::kind::once, invalid_value);
    const outcome result = run_with(plan, planned_failure::kind::once, 2);
    if (result.failed_call != "cudaLaunchKernelExC") continue;
    reached = true;
    REQUIRE(!result.errors.empty());
    CAPTURE(result.errors.front());
    const bool first = result.errors.front().starts_with("device 0 (fake device): starting the kernel");
    const bool second = result.errors.front().starts_with("device 1 (fake device): starting the kernel");
    CHECK((first || second));
  }
}

// Runs twelve jobs in sequence on two devices with one lane each. The n-th call, a kernel launch, fails permanently on
// one device.
struct aftermath {
  bool can_count = false;
  bool device_lost = false;
  std::size_t exact_jobs = 0;   // of the later jobs
  std::size_t failed_jobs = 0;  // of the later jobs
};

aftermath after_one_of_two_failed(const std::shared_ptr<planned_failure>& plan) {
  const auto memory = memory_for(12);
  cuda_engine engine(
      make_failing_runtime(make_fake_runtime(std::make_shared<ledger>(), {fake_device(), fake_device()}), plan),
      {.counted = partition::identity(),
       .run = {},
       .streams = 1,
       .devices = {0, 1},
       .max_chunk = job_bytes,
       .max_extents = 3});
  for (const auto& each : memory) engine.register_memory(each->all(), nullptr);
  aftermath result;
  for (std::uint32_t i = 0; i < memory.size(); ++i) {
    const bool had_failed = !plan->failed_call().empty();
    engine.submit(memory[i]->prepare(contract::random_bytes(job_bytes, i), job_extents()));
    try {
      memory[i]->wait();
      if (had_failed) ++result.exact_jobs;
    } catch (const engine_error&) {
      if (had_failed) ++result.failed_jobs;
    }
  }
  result.can_count = engine.can_count();
  result.device_lost = engine.stats().device_lost;
  return result;
}

TEST_CASE("after a failure of one of two devices, it gets no more jobs and calls, and the other continues") {
  bool reached = false;
  for (unsigned n = 50; !reached; ++n) {
    const auto plan = std::make_shared<planned_failure>(n, planned_failure::kind::sticky, launch_failure);
    try {
      const aftermath result = after_one_of_two_failed(plan);
      if (plan->failed_call() != "cudaLaunchKernelExC") continue;
      reached = true;
      CHECK(result.can_count);
      CHECK(result.device_lost);
      CHECK(result.exact_jobs > 0);
      CHECK(result.failed_jobs == 0);
    } catch (const engine_error&) {
      continue;  // the engine was not made
    }
    CHECK(plan->calls_after_failure() == 0);
  }
}

TEST_CASE("an error for lack of memory names device, call and bytes, and no option: the run knows the remedy") {
  constexpr result out_of_memory_code = 2;
  for (unsigned n = 1;; ++n) {
    const auto plan = std::make_shared<planned_failure>(n, planned_failure::kind::once, out_of_memory_code);
    const outcome result = run_with(plan, planned_failure::kind::once);
    if (result.failed_call != "cudaMalloc") continue;
    REQUIRE(result.errors.size() == 1);
    CAPTURE(result.errors.front());
    CHECK(result.errors.front().starts_with(
        "device 0 (fake device): allocating 3072 bytes of device memory (cudaMalloc) failed: fake error 2 (gpu/"));
    CHECK(result.errors.front().ends_with(")"));
    CHECK(result.errors.front().find("--") == std::string::npos);
    break;
  }
}

}  // namespace
}  // namespace gpuhist::gpu::cuda
