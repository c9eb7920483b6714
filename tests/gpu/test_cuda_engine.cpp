// The CUDA engine with a fake runtime: the contract, the choice of devices, its names and statistics.
#include "contract/engine_contract.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "gpu/cuda/devices.hpp"
#include "support/fake_runtime.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

namespace gpuhist::gpu::cuda {
namespace {

engine_request small_request(unsigned streams = 2) {
  return {.counted = partition::identity(), .run = {}, .streams = streams, .max_chunk = 4096, .max_extents = 4};
}

device_properties old_device() {
  return {.name = "old device", .compute_major = 6, .compute_minor = 1, .multiprocessors = 2, .memory_bytes = 1 << 20};
}

device_choice chosen_of(std::vector<device_properties> devices, const engine_request& request) {
  return choose_devices(find_devices(*make_fake_runtime(std::make_shared<ledger>(), std::move(devices))), request);
}

std::vector<int> numbers_of(const device_choice& chosen) {
  std::vector<int> numbers;
  for (const cuda_device& each : chosen.taken) numbers.push_back(each.number);
  return numbers;
}

TEST_CASE("the CUDA engine keeps the contract on 1, 2 and 5 lanes, and never misuses the runtime") {
  const auto seen = std::make_shared<ledger>();
  for (const unsigned lanes : {1U, 2U, 5U}) {
    CAPTURE(lanes);
    contract::keeps_the_contract([&](engine_request request) {
      request.streams = lanes;
      return std::make_unique<cuda_engine>(make_fake_runtime(seen), request);
    });
  }
  CHECK(seen->misuses() == std::vector<std::string>{});
}

TEST_CASE("a CUDA engine that is destroyed with jobs in flight completes them first, and accesses no memory later") {
  const auto seen = std::make_shared<ledger>();
  for (const unsigned lanes : {1U, 3U}) {
    CAPTURE(lanes);
    contract::completes_jobs_in_flight_before_destruction([&](engine_request request) {
      request.streams = lanes;
      request.all_devices = true;
      return std::make_unique<cuda_engine>(make_fake_runtime(seen, {fake_device(), fake_device()}), request);
    });
  }
  CHECK(seen->misuses() == std::vector<std::string>{});
}

TEST_CASE("the rows of the CUDA engine hold the requested classes") {
  engine_request request = small_request();
  request.counted = contract::letters_partition();
  const cuda_engine engine(make_fake_runtime(std::make_shared<ledger>()), request);
  CHECK(engine.layout().counted == contract::letters_partition());
}

TEST_CASE("a device that is too old is skipped, and named if there is no other") {
  const auto seen = std::make_shared<ledger>();
  const auto both = chosen_of({old_device(), fake_device()}, small_request());
  CHECK(numbers_of(both) == std::vector<int>{1});
  CHECK(both.why == "fake device, 4 multiprocessors");

  const auto old = chosen_of({old_device()}, small_request());
  CHECK(old.taken.empty());
  CHECK(old.why ==
        "no usable CUDA device: old device is too old: it has compute capability 6.1, gpuhist needs 7.5 or more");
}

TEST_CASE("devices are chosen by number, each once, or all usable ones") {
  engine_request request = small_request();
  request.devices = {2, 0, 2};
  const std::vector<device_properties> three{fake_device(), old_device(), fake_device()};
  CHECK(numbers_of(chosen_of(three, request)) == std::vector<int>{2, 0});
  CHECK(chosen_of(three, request).why == "2 x fake device");

  request.devices.clear();
  request.all_devices = true;
  CHECK(numbers_of(chosen_of(three, request)) == std::vector<int>{0, 2});
  CHECK(chosen_of(three, request).why ==
        "2 x fake device; without device 1: old device is too old: it has compute capability 6.1, gpuhist needs 7.5 or "
        "more");
}

TEST_CASE("a device that does not exist or is unusable is an error that names it and lists the devices") {
  engine_request request = small_request();
  request.devices = {0, 3};
  const auto with = [&](std::vector<device_properties> devices) { return chosen_of(std::move(devices), request); };
  CHECK_THROWS_WITH_AS(with({fake_device(), fake_device()}), "device 3: there are devices 0 to 1", engine_error);
  CHECK_THROWS_WITH_AS(with({fake_device()}), "device 3: there is only device 0", engine_error);
  CHECK_THROWS_WITH_AS(with({}), "device 0: no CUDA device: fake error 100 (cudaGetDeviceCount)", engine_error);
  CHECK_THROWS_WITH_AS(with({old_device(), fake_device()}),
                       "device 0: old device is too old: it has compute capability 6.1, gpuhist needs 7.5 or more; "
                       "there are devices 0 to 1",
                       engine_error);
  device_properties closed = fake_device();
  closed.prohibited = true;
  CHECK_THROWS_WITH_AS(with({closed}),
                       "device 0: fake device cannot be used by programs: its compute mode is 'prohibited' (see "
                       "nvidia-smi -c); there is "
                       "only device 0",
                       engine_error);
}

TEST_CASE("devices are named by kind") {
  const cuda_device large{.number = 0, .name = "large"};
  const cuda_device small{.number = 1, .name = "small"};
  CHECK(names_of(std::array{large}) == "large");
  CHECK(names_of(std::array{large, large}) == "2 x large");
  CHECK(names_of(std::array{large, small, large}) == "2 x large, small");
}

TEST_CASE("enumerating and choosing devices wakes none of them") {
  const auto seen = std::make_shared<ledger>();
  const auto api = make_fake_runtime(seen, {fake_device(), fake_device()});
  choose_devices(find_devices(*api), small_request());
  CHECK(seen->contexts().empty());
}

TEST_CASE("two devices keep the contract, and memory is registered for both at once") {
  const auto seen = std::make_shared<ledger>();
  for (const unsigned lanes : {1U, 3U}) {
    CAPTURE(lanes);
    contract::keeps_the_contract([&](engine_request request) {
      request.streams = lanes;
      request.all_devices = true;
      return std::make_unique<cuda_engine>(make_fake_runtime(seen, {fake_device(), fake_device()}), request);
    });
  }
  CHECK(seen->misuses() == std::vector<std::string>{});
  CHECK(seen->contexts() == std::set<int>{0, 1});
}

TEST_CASE("a device that was not chosen is not woken") {
  const auto seen = std::make_shared<ledger>();
  contract::jobs_in_flight_are_completed_once([&](engine_request request) {
    request.devices = {1, 2};
    return std::make_unique<cuda_engine>(
        make_fake_runtime(seen, {fake_device(), fake_device(), fake_device(), fake_device()}), request);
  });
  CHECK(seen->contexts() == std::set<int>{1, 2});
}

TEST_CASE("an engine that never counted releases its memory on its own device, whichever thread destroys it") {
  const auto seen = std::make_shared<ledger>();
  engine_request request = small_request();
  request.devices = {1};
  {
    const cuda_engine engine(make_fake_runtime(seen, {fake_device(), fake_device()}), request);
  }
  CHECK(seen->contexts() == std::set<int>{1});
  CHECK(seen->misuses() == std::vector<std::string>{});
}

// Each device waits with its first chunk until the other device has one, too.
class rendezvous {
 public:
  void arrive(int device) {
    std::unique_lock lock(mutex_);
    here_.insert(device);
    changed_.notify_all();
    met_ = changed_.wait_for(lock, std::chrono::seconds(60), [this] { return here_.size() == 2; });
  }
  bool met() {
    const std::lock_guard lock(mutex_);
    return met_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> here_;
  bool met_ = false;
};

TEST_CASE("chunks go to the first free device: a device that waits does not block the other, and both count") {
  constexpr std::size_t jobs = 8;  // more than the capacity of one device with one lane
  rendezvous both;
  const auto seen = std::make_shared<ledger>();
  seen->before_kernel = [&](int device) { both.arrive(device); };
  std::vector<std::unique_ptr<contract::job_memory>> memory(jobs);
  for (auto& each : memory) each = std::make_unique<contract::job_memory>(4096, 1, 256);
  engine_request request = small_request(1);
  request.all_devices = true;
  cuda_engine engine(make_fake_runtime(seen, {fake_device(), fake_device()}), request);
  for (const auto& each : memory) engine.register_memory(each->all(), nullptr);
  const extent all{0, 4096};
  for (const auto& each : memory) engine.submit(each->prepare(contract::text_bytes(4096, 1), {&all, 1}));
  for (const auto& each : memory) {
    const auto expected = contract::count_obviously(contract::text_bytes(4096, 1), {&all, 1}, partition::identity());
    CHECK(std::ranges::equal(each->wait(), expected));
  }
  CHECK(both.met());
  const engine_stats stats = engine.stats();
  CHECK(stats.jobs == jobs);
  CHECK(stats.bytes == jobs * 4096);
  CHECK(stats.device == "2 x fake device");
  CHECK(stats.workers == 2);
  CHECK(stats.timeline->devices == 2);
  CHECK(stats.timeline->copy_busy_seconds <= stats.timeline->span_seconds);
}

TEST_CASE("all calls go to the chosen device, from every thread") {
  const auto seen = std::make_shared<ledger>();
  contract::jobs_in_flight_are_completed_once([&](const engine_request& request) {
    return std::make_unique<cuda_engine>(
        make_fake_runtime(seen, std::vector<device_properties>{old_device(), fake_device()}), request);
  });
  CHECK(seen->misuses() == std::vector<std::string>{});
  CHECK(seen->contexts() == std::set<int>{1});
}

TEST_CASE("without a device the CUDA engine cannot be made, and the error gives the reason") {
  const auto make = [] { cuda_engine(make_fake_runtime(std::make_shared<ledger>(), {}), small_request()); };
  CHECK_THROWS_WITH_AS(make(), "no CUDA device: fake error 100 (cudaGetDeviceCount)", engine_error);
}

TEST_CASE("a chunk larger than the engine was made for fails alone") {
  contract::job_memory memory(5000, 5, 256);
  cuda_engine engine(make_fake_runtime(std::make_shared<ledger>()), small_request());
  engine.register_memory(memory.all(), nullptr);
  const extent all{0, 5000};
  engine.submit(memory.prepare(contract::text_bytes(5000, 1), {&all, 1}));
  CHECK_THROWS_AS(memory.wait(), engine_error);

  const extent part{0, 100};
  counting_job& job = memory.prepare(contract::text_bytes(4096, 1), {&part, 1});
  job.rows = job.rows.first(256);
  engine.submit(job);
  CHECK_NOTHROW(memory.wait());
}

TEST_CASE("the times of a run are at most its span") {
  contract::job_memory memory(4096, 1, 256);
  cuda_engine engine(make_fake_runtime(std::make_shared<ledger>()), small_request(1));
  engine.register_memory(memory.all(), nullptr);
  const extent all{0, 4096};
  for (int i = 0; i < 20; ++i) {
    engine.submit(memory.prepare(contract::text_bytes(4096, 1), {&all, 1}));
    memory.wait();
  }
  const engine_stats stats = engine.stats();
  REQUIRE(stats.timeline);
  CHECK(stats.timeline->copy_busy_seconds > 0);
  CHECK(stats.timeline->kernel_busy_seconds > 0);
  CHECK(stats.timeline->copy_busy_seconds + stats.timeline->kernel_busy_seconds - stats.timeline->overlap_seconds <=
        stats.timeline->span_seconds * 1.001);
  CHECK(stats.kernel == "lane_private");
  CHECK(stats.device == "fake device");
  CHECK(stats.workers == 1);
  CHECK(stats.startup_seconds > 0);
}

}  // namespace
}  // namespace gpuhist::gpu::cuda
