// `--engine auto` with a device: the rows are exact and every job is completed once, whichever engine counts, whenever
// the device is ready, and also if it fails.
#include "contract/engine_contract.hpp"
#include "gpu/automatic_engine.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "gpu/process_end.hpp"
#include "support/failing_runtime.hpp"
#include "support/fake_runtime.hpp"
#include "support/shuffling_engine.hpp"
#include "tests/gpu/small_jobs.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::gpu {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t unlimited = std::uint64_t{1} << 40U;

using waker = std::function<std::unique_ptr<engine>()>;

// A device that is woken as soon as one chunk waits, and a pool that tests can block.
struct machine {
  boost::asio::thread_pool pool{2};
  engine_request request{.counted = contract::letters_partition(),
                         .run = [this](std::function<void()> task) { boost::asio::post(pool, std::move(task)); },
                         .threads = 0,
                         .max_chunk = job_bytes,
                         .max_extents = 3,
                         .max_copy = 4 * job_bytes};

  std::unique_ptr<automatic_engine> make(waker wake, std::chrono::milliseconds patience = 0ms) {
    return std::make_unique<automatic_engine>(
        request, automatic_engine::settings{
                     .wake = std::move(wake), .patience = patience, .max_device_bytes = unlimited, .min_extent = 0});
  }

  ~machine() { pool.join(); }
};

job_memories memory_for(std::size_t jobs) { return gpu::memory_for(jobs, contract::letters_partition().classes); }

void submit_all(engine& under_test, const job_memories& memory) {
  for (std::uint32_t i = 0; i < memory.size(); ++i) {
    under_test.submit(memory[i]->prepare(contract::random_bytes(job_bytes, i), job_extents()));
  }
}

void check_all(const job_memories& memory, const partition& counted) {
  for (std::uint32_t i = 0; i < memory.size(); ++i) {
    CAPTURE(i);
    const auto rows = memory[i]->wait();
    const auto expected = contract::count_obviously(contract::random_bytes(job_bytes, i), job_extents(), counted);
    CHECK(std::ranges::equal(rows, expected));
    CHECK(memory[i]->answers() == 1);
  }
}

waker shuffling(std::optional<std::uint64_t> failing_job = {}) {
  return
      [failing_job] { return std::make_unique<test::shuffling_engine>(contract::letters_partition(), 1, failing_job); };
}

TEST_CASE("the automatic engine keeps the contract of engines, with and without a device") {
  for (const bool device : {false, true}) {
    CAPTURE(device);
    machine here;
    contract::keeps_the_contract([&](engine_request request) -> std::unique_ptr<engine> {
      request.run = here.request.run;
      request.threads = 0;
      const auto cuda = [request] {
        return std::make_unique<cuda::cuda_engine>(cuda::make_fake_runtime(std::make_shared<cuda::ledger>()), request);
      };
      return std::make_unique<automatic_engine>(
          request,
          automatic_engine::settings{
              .wake = device ? waker(cuda) : waker(), .patience = 0ms, .max_device_bytes = unlimited, .min_extent = 0});
    });
  }
}

TEST_CASE("without a device the host counts everything") {
  machine here;
  const auto under_test = here.make({});
  const auto memory = memory_for(20);
  submit_all(*under_test, memory);
  check_all(memory, here.request.counted);
}

TEST_CASE("chunks shared by host and device are counted exactly") {
  for (int round = 0; round < 20; ++round) {
    machine here;
    const auto under_test = here.make(shuffling());
    const auto memory = memory_for(50);
    submit_all(*under_test, memory);
    check_all(memory, here.request.counted);
  }
}

// Blocks both threads of a pool until it is destroyed: in the meantime only a device can count.
class held_pool {
 public:
  explicit held_pool(boost::asio::thread_pool& pool) {
    for (int i = 0; i < 2; ++i) boost::asio::post(pool, [held = held_] { held.wait(); });
  }
  held_pool(const held_pool&) = delete;
  held_pool& operator=(const held_pool&) = delete;
  ~held_pool() { release_.set_value(); }

 private:
  std::promise<void> release_;
  std::shared_future<void> held_ = release_.get_future().share();
};

waker fake_cuda(const engine_request& request) {
  return [request] {
    return std::make_unique<cuda::cuda_engine>(cuda::make_fake_runtime(std::make_shared<cuda::ledger>()), request);
  };
}

TEST_CASE("a device counts the chunks that wait for the cores, in whole copies") {
  machine here;
  const auto under_test = here.make(fake_cuda(here.request));
  const auto memory = memory_for(30);
  for (const auto& each : memory) under_test->register_memory(each->all(), nullptr);
  {
    const held_pool held(here.pool);
    submit_all(*under_test, memory);
    while (under_test->stats().device_bytes < 28 * job_bytes) std::this_thread::yield();
  }
  check_all(memory, here.request.counted);
  CHECK(under_test->stats().device_bytes == 28 * job_bytes);  // four per copy: two are left for the host
  CHECK(under_test->stats().note == "a device was woken because the cores were saturated");
}

TEST_CASE("the chunks of a device that fails are counted again on the host, and the failure is reported") {
  for (const std::uint64_t failing_job : {0U, 1U, 20U}) {
    CAPTURE(failing_job);
    machine here;
    const auto under_test = here.make(shuffling(failing_job));
    const auto memory = memory_for(30);
    {
      const held_pool held(here.pool);
      submit_all(*under_test, memory);
      while (under_test->stats().warning.empty()) std::this_thread::yield();
    }
    check_all(memory, here.request.counted);
    CHECK(under_test->stats().warning == "the device fell off the bus; its chunks were counted again on the host");
  }
}

// Counts while one call fails. The pool is blocked until the devices are ready or have failed, so that they count.
void count_with_failure(const std::shared_ptr<cuda::planned_failure>& plan, unsigned devices, bool is_lost) {
  machine here;
  here.request.all_devices = devices > 1;
  const auto memory = memory_for(12);
  const auto under_test = here.make([&] {
    auto api = cuda::make_fake_runtime(std::make_shared<cuda::ledger>(),
                                       std::vector<cuda::device_properties>(devices, cuda::fake_device()));
    return std::make_unique<cuda::cuda_engine>(cuda::make_failing_runtime(std::move(api), plan), here.request);
  });
  for (const auto& each : memory) under_test->register_memory(each->all(), nullptr);
  {
    const held_pool held(here.pool);
    submit_all(*under_test, memory);
    while (under_test->stats().still_waking) std::this_thread::yield();
  }
  check_all(memory, here.request.counted);
  const std::string failed = plan->failed_call();
  if (is_lost && !failed.empty() && failed != "cudaGetDeviceCount" && failed != "cudaGetDeviceProperties") {
    while (!under_test->stats().device_lost) std::this_thread::yield();  // set at this point or shortly after
    CHECK(must_end_at_once());
  }
  const std::string warning = under_test->stats().warning;
  CAPTURE(warning);
  if (!warning.empty()) {
    CHECK(warning.starts_with("device "));
    CHECK(warning.find("; ") == warning.rfind("; "));  // one failure and its consequence
    CHECK(warning.ends_with("; its chunks were counted again on the host"));
  }
}

TEST_CASE("whichever call of the runtime fails, all counts are exact, and a failed device is not called again") {
  constexpr cuda::result invalid_value = 1;
  constexpr cuda::result launch_failure = 719;
  const unsigned step = test::unless_sampled(1U, 13U);
  for (const unsigned devices : {1U, 2U}) {
    for (const auto& [kind, code] : {std::pair{cuda::planned_failure::kind::once, invalid_value},
                                     {cuda::planned_failure::kind::sticky, launch_failure}}) {
      for (unsigned n = 1;; n += step) {
        CAPTURE(devices);
        CAPTURE(code);
        CAPTURE(n);
        const auto plan = std::make_shared<cuda::planned_failure>(n, kind, code);
        count_with_failure(plan, devices, code == launch_failure);
        if (plan->failed_call().empty()) break;
        if (code == launch_failure) CHECK(plan->calls_after_failure() == 0);
      }
    }
  }
}

// Accepts a job, and completes it with an error on another thread when it is released.
class failing_device final : public engine {
 public:
  explicit failing_device(std::shared_future<void> released) : released_(std::move(released)) {}
  std::string_view name() const override { return "failing"; }
  const row_layout& layout() const override { return rows_; }
  void register_memory(std::span<std::byte>, std::shared_ptr<const void>) override {}
  engine_stats stats() const override { return {}; }
  void submit(counting_job& job) override {
    answering_ = std::jthread([this, &job] {
      released_.wait();
      job.on_complete(job, std::make_exception_ptr(engine_error("the device fell off the bus")));
    });
  }

 private:
  row_layout rows_ = contract::letters_partition();
  std::shared_future<void> released_;
  std::jthread answering_;
};

TEST_CASE("no task is posted after every job is completed: the pool may not exist any more") {
  std::vector<std::function<void()>> posted;  // not run yet
  const auto run_posted = [&] {
    for (const auto& each : std::exchange(posted, {})) each();
  };
  std::promise<void> may_wake;
  std::promise<void> released;
  bool is_released = false;
  bool was_too_late = false;
  const auto memory = memory_for(1);
  engine_request request = machine().request;
  request.max_copy = job_bytes;
  request.run = [&](std::function<void()> task) {
    if (is_released) run_posted();  // as other threads would that are faster than the posting thread
    was_too_late = memory[0]->answers() > 0;
    posted.push_back(std::move(task));
    if (is_released) run_posted();
  };
  automatic_engine under_test(request,
                              {.wake =
                                   [wanted = may_wake.get_future().share(), go = released.get_future().share()] {
                                     wanted.wait();
                                     return std::make_unique<failing_device>(go);
                                   },
                               .patience = 0ms,
                               .max_device_bytes = unlimited,
                               .min_extent = 0});
  submit_all(under_test, memory);
  REQUIRE(posted.size() == 1);
  may_wake.set_value();
  while (under_test.stats().still_waking) std::this_thread::yield();
  is_released = true;
  released.set_value();
  check_all(memory, request.counted);
  CHECK_FALSE(was_too_late);
}

TEST_CASE("without enough memory for the device, the host counts, and this is reported") {
  machine here;
  const auto seen = std::make_shared<cuda::ledger>();
  seen->max_registered_bytes = 50'000;  // enough for lanes, not for slots
  const auto under_test =
      here.make([&] { return std::make_unique<cuda::cuda_engine>(cuda::make_fake_runtime(seen), here.request); });
  const auto memory = memory_for(12);
  for (const auto& each : memory) under_test->register_memory(each->all(), nullptr);
  submit_all(*under_test, memory);
  check_all(memory, here.request.counted);
  while (under_test->stats().still_waking) std::this_thread::yield();
  CHECK(under_test->stats().note.starts_with("device 0 (fake device): page-locking "));
  CHECK(under_test->stats().warning.empty());
}

TEST_CASE("if a device cannot be woken, the host counts, and this is reported") {
  machine here;
  const auto under_test =
      here.make([]() -> std::unique_ptr<engine> { throw engine_error("the device has no memory left"); });
  const auto memory = memory_for(30);
  submit_all(*under_test, memory);
  check_all(memory, here.request.counted);
  while (under_test->stats().still_waking) std::this_thread::yield();
  CHECK(under_test->stats().warning.empty());
  CHECK(under_test->stats().note == "the device has no memory left");
}

TEST_CASE("a run that ends before the device is ready does not wait for it, and the device is released later") {
  struct noisy_engine : test::shuffling_engine {
    explicit noisy_engine(std::promise<void>& destroyed)
        : shuffling_engine(contract::letters_partition()), destroyed_(destroyed) {}
    ~noisy_engine() override { destroyed_.set_value(); }
    std::promise<void>& destroyed_;
  };
  std::promise<void> may_wake;
  std::promise<void> destroyed;
  machine here;
  {
    const auto memory = memory_for(5);
    const auto under_test = here.make([&, up = may_wake.get_future().share()] {
      up.wait();
      return std::make_unique<noisy_engine>(destroyed);
    });
    submit_all(*under_test, memory);
    check_all(memory, here.request.counted);
    CHECK(under_test->stats().still_waking);
  }
  may_wake.set_value();
  destroyed.get_future().wait();
}

TEST_CASE("an engine that joins its waker ends after the device was made ready") {
  std::promise<void> may_wake;
  std::atomic<bool> was_woken = false;
  machine here;
  here.request.joins_waker = true;
  const auto memory = memory_for(5);
  auto under_test = here.make([&, up = may_wake.get_future().share()]() -> std::unique_ptr<engine> {
    up.wait();
    was_woken = true;
    return std::make_unique<test::shuffling_engine>(contract::letters_partition());
  });
  submit_all(*under_test, memory);
  check_all(memory, here.request.counted);
  CHECK(under_test->stats().still_waking);
  may_wake.set_value();
  under_test.reset();
  CHECK(was_woken);
}

TEST_CASE("a device is woken only if the host will need long for the remaining input") {
  for (const bool much_remains : {false, true}) {
    CAPTURE(much_remains);
    machine here;
    // almost everything is left to read, or half of it, which takes a moment
    const std::atomic<std::uint64_t> bytes_read = 1;
    here.request.load = {.bytes_read = &bytes_read, .bytes_in_all = much_remains ? 1'000'000'000 : 2};
    std::promise<void> woken;
    std::atomic<bool> is_woken = false;
    const auto under_test = here.make([&] {
      if (!is_woken.exchange(true)) woken.set_value();
      return std::make_unique<test::shuffling_engine>(contract::letters_partition());
    });
    const auto memory = memory_for(60);
    for (std::uint32_t i = 0; i < memory.size(); ++i) {
      under_test->submit(memory[i]->prepare(contract::random_bytes(job_bytes, i), job_extents()));
      if (i < 30) memory[i]->wait();  // first one at a time, then all at once
    }
    if (much_remains) woken.get_future().wait();
    check_all(memory, here.request.counted);
    CHECK(is_woken == much_remains);
  }
}

TEST_CASE("if decompression could use the cores, a device is woken earlier and counts every waiting chunk") {
  for (const bool wanted : {false, true}) {
    CAPTURE(wanted);
    machine here;
    here.request.threads = 1000;  // more than chunks, so none ever waits
    const std::atomic<std::uint64_t> busy_decoders = wanted ? 1000 : 999;
    here.request.load = {.busy_decoders = &busy_decoders};
    std::atomic<int> woken = 0;
    const auto under_test = std::make_unique<automatic_engine>(
        here.request, automatic_engine::settings{.wake =
                                                     [&] {
                                                       ++woken;
                                                       return fake_cuda(here.request)();
                                                     },
                                                 .patience = 0ms,
                                                 .worthwhile = 0ms,
                                                 .max_device_bytes = unlimited,
                                                 .counting_share = 0,
                                                 .min_extent = 0});
    const auto memory = memory_for(40);
    for (const auto& each : memory) under_test->register_memory(each->all(), nullptr);
    const auto count = [&](std::uint32_t i) {
      under_test->submit(memory[i]->prepare(contract::random_bytes(job_bytes, i), job_extents()));
    };
    for (std::uint32_t i = 0; i < 20; ++i) count(i), memory[i]->wait();  // one at a time
    while (under_test->stats().still_waking) std::this_thread::yield();
    {
      const held_pool held(here.pool);
      for (std::uint32_t i = 20; i < 23; ++i) count(i);  // less than one copy
      while (wanted && under_test->stats().device_bytes < 3 * job_bytes) std::this_thread::yield();
    }
    for (std::uint32_t i = 23; i < 40; ++i) count(i);
    check_all(memory, here.request.counted);
    CHECK(woken == (wanted ? 1 : 0));
  }
}

TEST_CASE("chunks of short extents are left to the host") {
  machine here;
  here.request.max_extents = 4;
  const std::atomic<std::uint64_t> busy_decoders = here.request.threads;
  here.request.load = {.busy_decoders = &busy_decoders};
  const auto under_test = std::make_unique<automatic_engine>(
      here.request,
      automatic_engine::settings{
          .wake = fake_cuda(here.request), .patience = 0ms, .max_device_bytes = unlimited, .min_extent = 1000});
  const auto memory = memory_for(20);
  std::vector<std::unique_ptr<contract::job_memory>> shorter(20);
  for (auto& each : shorter) {
    each = std::make_unique<contract::job_memory>(job_bytes, 4, here.request.counted.classes);
    under_test->register_memory(each->all(), nullptr);
  }
  for (const auto& each : memory) under_test->register_memory(each->all(), nullptr);
  const std::vector<extent> four{{0, 1}, {1, 1001}, {1500, 1600}, {1600, job_bytes}};
  {
    const held_pool held(here.pool);
    submit_all(*under_test, memory);  // 3000 bytes in three extents per chunk
    while (under_test->stats().device_bytes < 20 * job_bytes) std::this_thread::yield();
    for (std::uint32_t i = 0; i < shorter.size(); ++i) {
      under_test->submit(shorter[i]->prepare(contract::random_bytes(job_bytes, i), four));
    }
  }
  check_all(memory, here.request.counted);
  for (std::uint32_t i = 0; i < shorter.size(); ++i) {
    const auto expected = contract::count_obviously(contract::random_bytes(job_bytes, i), four, here.request.counted);
    CHECK(std::ranges::equal(shorter[i]->wait(), expected));
  }
  CHECK(under_test->stats().device_bytes == 20 * job_bytes);
}

TEST_CASE("a short run wakes no device") {
  machine here;
  std::atomic<bool> woken = false;
  const auto under_test = here.make(
      [&] {
        woken = true;
        return std::make_unique<test::shuffling_engine>(contract::letters_partition());
      },
      1h);
  const auto memory = memory_for(30);
  submit_all(*under_test, memory);
  check_all(memory, here.request.counted);
  CHECK(!woken);
}

}  // namespace
}  // namespace gpuhist::gpu
