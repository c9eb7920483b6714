// Failures of memory allocation and thread creation at every place: every accepted job is completed once, with exact
// rows or an error; nothing hangs, and the program does not terminate.
#include "contract/engine_contract.hpp"
#include "gpu/automatic_engine.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "gpu/process_end.hpp"
#include "support/failing_resources.hpp"
#include "support/fake_runtime.hpp"
#include "support/sparing_runtime.hpp"
#include "tests/gpu/small_jobs.hpp"

#include <doctest/doctest.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::gpu {
namespace {

using namespace std::chrono_literals;
using test::failing_resource;

constexpr std::uint32_t job_count = 12;
constexpr unsigned last_tried = 400;  // no run here has more allocations

// Jobs that are ready to be submitted, and their expected rows.
struct prepared_jobs {
  std::vector<std::unique_ptr<contract::job_memory>> memory;
  std::vector<counting_job*> jobs;
  partition counted;

  explicit prepared_jobs(const partition& classes) : counted(classes) {
    for (std::uint32_t i = 0; i < job_count; ++i) {
      memory.push_back(std::make_unique<contract::job_memory>(job_bytes, 3, counted.classes));
      jobs.push_back(&memory.back()->prepare(contract::random_bytes(job_bytes, i), job_extents()));
    }
  }

  void wait() const {
    for (const auto& each : memory) {
      while (each->answers() == 0) std::this_thread::yield();
    }
  }

  // Returns the number of failed jobs.
  [[nodiscard]] unsigned check() const {
    unsigned failed = 0;
    for (std::uint32_t i = 0; i < job_count; ++i) {
      CHECK(memory[i]->answers() == 1);
      try {
        const auto rows = memory[i]->wait();
        CHECK(std::ranges::equal(
            rows, contract::count_obviously(contract::random_bytes(job_bytes, i), job_extents(), counted)));
      } catch (const std::exception&) {
        ++failed;
      }
    }
    return failed;
  }
};

// A device whose thread allocates no memory; submit() may fail to allocate.
class frugal_device final : public engine {
 public:
  explicit frugal_device(const partition& rows)
      : rows_(rows), worker_([this](const std::stop_token& stop) { work(stop); }) {}

  std::string_view name() const override { return "frugal"; }
  const row_layout& layout() const override { return rows_; }
  void register_memory(std::span<std::byte>, std::shared_ptr<const void>) override {}
  engine_stats stats() const override { return {}; }

  void submit(counting_job& job) override {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(&job);
    changed_.notify_one();
  }

 private:
  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
      counting_job* const job = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      std::fill(job->rows.begin(), job->rows.end(), 0U);
      for (std::size_t i = 0; i < job->extents.size(); ++i) {
        for (std::size_t at = job->extents[i].begin; at < job->extents[i].end; ++at) {
          ++job->rows[i * rows_.counted.classes + rows_.counted.class_of[std::to_integer<std::size_t>(job->bytes[at])]];
        }
      }
      job->on_complete(*job, nullptr);
      lock.lock();
    }
  }

  row_layout rows_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<counting_job*> waiting_;
  std::jthread worker_;
};

// `--engine auto` with a device that is woken at once, on a pool of two threads.
struct automatic_run {
  boost::asio::thread_pool pool{2};
  prepared_jobs work{contract::letters_partition()};
  engine_request request{.counted = contract::letters_partition(),
                         .run = [this](std::function<void()> task) { boost::asio::post(pool, std::move(task)); },
                         .threads = 0,
                         .max_chunk = job_bytes,
                         .max_extents = 3,
                         .max_copy = 2 * job_bytes};
  std::unique_ptr<automatic_engine> under_test;

  void make() {
    under_test = std::make_unique<automatic_engine>(
        request, automatic_engine::settings{
                     .wake = [] { return std::make_unique<frugal_device>(contract::letters_partition()); },
                     .patience = 0ms,
                     .max_device_bytes = std::uint64_t{1} << 40U,
                     .min_extent = 0});
  }

  void count(failing_resource& failing) {
    const failing_resource::scope armed(failing);
    for (counting_job* each : work.jobs) under_test->submit(*each);
    work.wait();
    while (state() == "waking") std::this_thread::yield();
  }

  // Does not allocate.
  [[nodiscard]] std::string_view state() const {
    const test::spared own;
    return under_test->stats().still_waking ? "waking" : "";
  }

  ~automatic_run() { pool.join(); }
};

TEST_CASE("--engine auto counts every job exactly, whichever allocation fails, once or permanently") {
  for (const auto how_long : {failing_resource::extent::once, failing_resource::extent::from_then_on}) {
    for (unsigned nth = 1; nth <= last_tried; ++nth) {
      CAPTURE(nth);
      automatic_run run;
      run.make();
      failing_resource failing(test::resource::memory, nth, how_long);
      run.count(failing);
      CHECK(run.work.check() == 0);
      if (!failing.was_reached()) break;
    }
  }
}

TEST_CASE("--engine auto counts every job exactly, whichever tasks the pool does not accept") {
  for (unsigned refused = 1; refused <= job_count; ++refused) {
    CAPTURE(refused);
    automatic_run run;
    std::atomic<unsigned> posted = 0;
    run.request.run = [&](std::function<void()> task) {
      if (++posted <= refused) throw std::bad_alloc();
      boost::asio::post(run.pool, std::move(task));
    };
    run.make();
    failing_resource none(test::resource::memory, ~0U);
    run.count(none);
    CHECK(run.work.check() == 0);
  }
}

TEST_CASE("--engine auto counts on the host if no thread can be started to wake the device, and reports it") {
  automatic_run run;
  run.make();
  failing_resource failing(test::resource::thread, 1);
  run.count(failing);
  CHECK(failing.was_reached());
  CHECK(run.work.check() == 0);
  const engine_stats stats = run.under_test->stats();
  CHECK_FALSE(stats.still_waking);
  CHECK_FALSE(stats.device_lost);
  CHECK(stats.warning.empty());
  CHECK(
      stats.note ==
      "no device was woken: a thread for that cannot be started: Resource temporarily unavailable (see ulimit -u, and "
      "pids.max of the control group)");
  run.under_test.reset();
  CHECK_FALSE(must_end_at_once());
}

TEST_CASE("while a device is being woken, the process must end at once, also after the engine is destroyed") {
  std::mutex mutex;
  std::unique_lock held(mutex);
  automatic_run run;
  run.under_test = std::make_unique<automatic_engine>(
      run.request, automatic_engine::settings{.wake = [&]() -> std::unique_ptr<engine> {
                                                const std::scoped_lock waits(mutex);
                                                throw engine_error("no device");
                                              },
                                              .patience = 0ms});
  for (counting_job* each : run.work.jobs) run.under_test->submit(*each);
  run.work.wait();
  CHECK(run.work.check() == 0);
  CHECK(run.under_test->stats().still_waking);
  run.under_test.reset();
  CHECK(must_end_at_once());
  held.unlock();
  while (must_end_at_once()) std::this_thread::yield();
}

struct cuda_outcome {
  std::string error;  // from making the engine or registering memory
  unsigned failed_jobs = 0;
  unsigned lanes = 0;
  std::string note;
};

// Two devices with two lanes each. Every job is completed once, or none was submitted.
cuda_outcome count_on_devices(failing_resource& failing) {
  const auto seen = std::make_shared<cuda::ledger>();
  auto api = test::make_sparing_runtime(cuda::make_fake_runtime(seen, {cuda::fake_device(), cuda::fake_device()}));
  const prepared_jobs work(contract::letters_partition());
  const engine_request request{.counted = work.counted,
                               .run = {},
                               .streams = 2,
                               .all_devices = true,
                               .max_chunk = job_bytes,
                               .max_extents = 3,
                               .max_copy = 2 * job_bytes};
  cuda_outcome result;
  std::unique_ptr<cuda::cuda_engine> engine;
  try {
    const failing_resource::scope armed(failing);
    engine = std::make_unique<cuda::cuda_engine>(std::move(api), request);
    for (const auto& each : work.memory) engine->register_memory(each->all(), nullptr);
    for (counting_job* each : work.jobs) engine->submit(*each);
    work.wait();
  } catch (const std::exception& failure) {
    result.error = failure.what();
  }
  if (result.error.empty()) {
    result.failed_jobs = work.check();
    result.lanes = engine->stats().workers;
    result.note = engine->stats().note;
    CHECK_FALSE(engine->stats().device_lost);
  }
  engine.reset();
  CHECK(seen->misuses() == std::vector<std::string>{});  // nothing remains on the device
  return result;
}

TEST_CASE("whichever allocation fails, every job is completed once and nothing leaks") {
  for (unsigned nth = 1; nth <= last_tried; ++nth) {
    CAPTURE(nth);
    failing_resource failing(test::resource::memory, nth);
    const cuda_outcome result = count_on_devices(failing);
    CAPTURE(result.error);
    if (!failing.was_reached()) {
      CHECK(result.error.empty());
      CHECK(result.failed_jobs == 0);
      break;
    }
    CHECK(result.failed_jobs <= 1);
  }
}

TEST_CASE("if threads cannot be started, devices count with fewer lanes, or an error names device and remedy") {
  const std::string remedy =
      " (fake device): starting the thread of a stream failed: Resource temporarily unavailable; the limit on threads "
      "is "
      "reached (ulimit -u, or pids.max of the control group)";
  bool had_fewer = false;
  bool had_none = false;
  for (const auto how_long : {failing_resource::extent::once, failing_resource::extent::from_then_on}) {
    for (unsigned nth = 1; nth <= last_tried; ++nth) {
      CAPTURE(nth);
      failing_resource failing(test::resource::thread, nth, how_long);
      const cuda_outcome result = count_on_devices(failing);
      CAPTURE(result.error);
      CAPTURE(result.note);
      if (!failing.was_reached()) {
        CHECK(result.lanes == 4);
        break;
      }
      CHECK(result.failed_jobs == 0);
      if (!result.error.empty()) {
        CHECK((result.error == "device 0" + remedy || result.error == "device 1" + remedy));
        had_none = true;
      } else if (result.lanes < 4) {
        CHECK(result.note.find(" (fake device) lacks threads: 1 of 2 streams") != std::string::npos);
        had_fewer = true;
      }
    }
  }
  CHECK(had_fewer);
  CHECK(had_none);
}

}  // namespace
}  // namespace gpuhist::gpu
