// The CUDA engine on a real device: the contract, totals past 2^32, and thousands of extents.
#include "contract/engine_contract.hpp"
#include "gpu/automatic_engine.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "gpu/cuda/devices.hpp"
#include "support/failing_runtime.hpp"

#include <doctest/doctest.h>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <cstdio>
#include <future>
#include <string>
#include <thread>
#include <utility>

namespace gpuhist::gpu::cuda {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20U;

bool no_device() {
  const auto api = make_runtime();
  const device_choice found = choose_devices(find_devices(*api), {.counted = {}, .run = {}});
  if (found.taken.empty()) std::printf("skipped: no CUDA device (%s)\n", found.why.c_str());
  return found.taken.empty();
}

TEST_CASE("the device keeps the contract of engines on 1 and 3 lanes") {
  if (no_device()) return;
  for (const unsigned lanes : {1U, 3U}) {
    CAPTURE(lanes);
    contract::keeps_the_contract([&](engine_request request) {
      request.streams = lanes;
      return std::make_unique<cuda_engine>(make_runtime(), request);
    });
  }
}

TEST_CASE("all devices together keep the contract of engines") {
  if (no_device()) return;
  contract::keeps_the_contract([&](engine_request request) {
    request.all_devices = true;
    return std::make_unique<cuda_engine>(make_runtime(), request);
  });
}

TEST_CASE("jobs in flight are completed before the engine is destroyed, and no memory is accessed later") {
  if (no_device()) return;
  contract::completes_jobs_in_flight_before_destruction(
      [&](engine_request request) { return std::make_unique<cuda_engine>(make_runtime(), request); });
}

constexpr std::size_t job_bytes = 300'000;
constexpr result launch_failure = 719;

// Six jobs at once; the n-th call fails. The engine keeps memory that it cannot unregister, so that no later engine
// finds its memory registered.
void count_with_failure(const std::shared_ptr<planned_failure>& plan) {
  const extent all{0, job_bytes};
  std::vector<std::shared_ptr<contract::job_memory>> memory(6);
  for (auto& each : memory) each = std::make_shared<contract::job_memory>(job_bytes, 1, 256);
  std::vector<std::string> errors;
  try {
    cuda_engine engine(
        make_failing_runtime(make_runtime(), plan),
        {.counted = partition::identity(), .run = {}, .streams = 2, .max_chunk = job_bytes, .max_extents = 1});
    for (const auto& each : memory) engine.register_memory(each->all(), each);
    for (const auto& each : memory) engine.submit(each->prepare(contract::random_bytes(job_bytes, 3), {&all, 1}));
    for (const auto& each : memory) {
      try {
        const auto expected =
            contract::count_obviously(contract::random_bytes(job_bytes, 3), {&all, 1}, partition::identity());
        const auto rows = each->wait();  // not within CHECK, which would report an exception as a failure
        CHECK(std::ranges::equal(rows, expected));
      } catch (const engine_error& error) {
        errors.emplace_back(error.what());
      }
      CHECK(each->answers() == 1);
    }
  } catch (const engine_error& error) {
    errors.emplace_back(error.what());
  }
  for (const std::string& error : errors) {
    CAPTURE(error);
    // the next call, on another thread, fails with the same code, and its error names that call
    const bool names_the_failure = error.find(plan->failed_call()) != std::string::npos ||
                                   error.find("cudaErrorLaunchFailure") != std::string::npos;
    CHECK(names_the_failure);
    CHECK((error.starts_with("device ") || error.starts_with("no ")));  // "no ..." if the enumeration of devices fails
  }
}

// n = 1, 2, 3, 5, 8, ...: calls of every kind, about thirty of hundreds.
TEST_CASE("if the device fails at any call of the real runtime, every job is completed once and no call follows") {
  if (no_device()) return;
  for (const auto kind : {planned_failure::kind::once, planned_failure::kind::sticky}) {
    for (unsigned n = 1, before = 1;; before = std::exchange(n, n + before)) {
      CAPTURE(n);
      const auto plan = std::make_shared<planned_failure>(n, kind, launch_failure);
      count_with_failure(plan);
      if (plan->failed_call().empty()) break;
      CAPTURE(plan->failed_call());
      CHECK(plan->calls_after_failure() == 0);
    }
  }
}

// The host counts only after the device is ready or has failed, so the device gets all jobs.
void count_automatically_with_failure(const std::shared_ptr<planned_failure>& plan) {
  const extent all{0, job_bytes};
  std::vector<std::shared_ptr<contract::job_memory>> memory(6);
  for (auto& each : memory) each = std::make_shared<contract::job_memory>(job_bytes, 1, 256);
  boost::asio::thread_pool pool(1);
  std::string warning;
  {
    const engine_request request{.counted = partition::identity(),
                                 .run = [&](auto task) { boost::asio::post(pool, std::move(task)); },
                                 .streams = 2,
                                 .max_chunk = job_bytes,
                                 .max_extents = 1};
    automatic_engine engine(
        request,
        {.wake = [&] { return std::make_unique<cuda_engine>(make_failing_runtime(make_runtime(), plan), request); },
         .patience = std::chrono::milliseconds(0),
         .max_device_bytes = 6 * job_bytes});
    for (const auto& each : memory) engine.register_memory(each->all(), each);
    std::promise<void> held;
    boost::asio::post(pool, [until = held.get_future().share()] { until.wait(); });
    for (const auto& each : memory) engine.submit(each->prepare(contract::random_bytes(job_bytes, 3), {&all, 1}));
    while (engine.stats().still_waking) std::this_thread::yield();
    held.set_value();
    const auto expected =
        contract::count_obviously(contract::random_bytes(job_bytes, 3), {&all, 1}, partition::identity());
    for (const auto& each : memory) {
      CHECK(std::ranges::equal(each->wait(), expected));
      CHECK(each->answers() == 1);
    }
    warning = engine.stats().warning;
  }
  pool.join();
  CAPTURE(warning);
  if (!warning.empty()) {
    CHECK(warning.starts_with("device "));
    CHECK(warning.ends_with("; its chunks were counted again on the host"));
  }
}

TEST_CASE("whichever call of the real runtime fails, the automatic engine counts everything, and no call follows") {
  if (no_device()) return;
  for (unsigned n = 1, before = 1;; before = std::exchange(n, n + before)) {
    CAPTURE(n);
    const auto plan = std::make_shared<planned_failure>(n, planned_failure::kind::sticky, launch_failure);
    count_automatically_with_failure(plan);
    if (plan->failed_call().empty()) break;
    CAPTURE(plan->failed_call());
    CHECK(plan->calls_after_failure() == 0);
  }
}

TEST_CASE("the device counts 5 GiB of one letter in many chunks: totals pass 32 bits") {
  if (no_device()) return;
  constexpr std::size_t chunk = 64 * mib;
  const std::vector<std::byte> letters(chunk, std::byte{'e'});
  const extent all{0, chunk};
  std::vector<std::unique_ptr<contract::job_memory>> memory(4);
  for (auto& each : memory) each = std::make_unique<contract::job_memory>(chunk, 1, 256);
  cuda_engine engine(make_runtime(),
                     {.counted = partition::identity(), .run = {}, .max_chunk = chunk, .max_extents = 1});
  for (const auto& each : memory) engine.register_memory(each->all(), nullptr);

  tally total(256);
  for (std::size_t round = 0; round < 20; ++round) {
    for (const auto& each : memory) engine.submit(each->prepare(letters, {&all, 1}));
    for (const auto& each : memory) {
      const auto row = each->wait();
      std::transform(row.begin(), row.end(), total.counts.begin(), total.counts.begin(), std::plus<std::uint64_t>{});
    }
  }
  tally expected(256);
  expected.counts['e'] = std::uint64_t{5} << 30U;
  CHECK(total == expected);
}

// All code paths of the kernel (heads, tails, pairs of loads, several extents per block, several blocks per extent) in
// few instructions, so that racecheck, which traces every access to shared memory, takes less than a minute.
TEST_CASE("the device counts unaligned extents of a small chunk") {
  if (no_device()) return;
  constexpr std::size_t chunk = 200 * 1024 + 13;
  const auto bytes = contract::random_bytes(chunk, 11);
  const std::vector<extent> extents{{3, 40}, {41, 41}, {50, 20000}, {20001, 60000}, {60000, chunk - 1}};
  contract::job_memory memory(chunk, extents.size(), 256);
  cuda_engine engine(make_runtime(), {.counted = partition::identity(),
                                      .run = {},
                                      .streams = 2,
                                      .max_chunk = chunk,
                                      .max_extents = static_cast<std::uint32_t>(extents.size())});
  engine.register_memory(memory.all(), nullptr);
  engine.submit(memory.prepare(bytes, extents));
  const auto rows = memory.wait();
  const auto expected = contract::count_obviously(bytes, extents, partition::identity());
  CHECK(std::equal(rows.begin(), rows.end(), expected.begin(), expected.end()));
}

TEST_CASE("each of 1 to 2000 extents of a large chunk has its own row") {
  if (no_device()) return;
  constexpr std::size_t chunk = 16 * mib + 11;
  constexpr std::size_t most = 2000;
  const auto bytes = contract::text_bytes(chunk, 7);
  contract::job_memory memory(chunk, most, 256);
  cuda_engine engine(make_runtime(),
                     {.counted = partition::identity(), .run = {}, .max_chunk = chunk, .max_extents = most});
  engine.register_memory(memory.all(), nullptr);
  for (const std::size_t count : {1U, 2U, 7U, 264U, 1000U, 2000U}) {
    CAPTURE(count);
    std::vector<extent> extents(count);
    for (std::size_t i = 0; i < count; ++i) {
      extents[i] = {.begin = static_cast<std::uint32_t>(i * chunk / count),
                    .end = static_cast<std::uint32_t>((i + 1) * chunk / count)};
    }
    counting_job& job = memory.prepare(bytes, extents);
    job.rows = job.rows.first(count * 256);
    engine.submit(job);
    const auto rows = memory.wait();
    const auto expected = contract::count_obviously(bytes, extents, partition::identity());
    CHECK(std::equal(rows.begin(), rows.end(), expected.begin(), expected.end()));
  }
}

}  // namespace
}  // namespace gpuhist::gpu::cuda
