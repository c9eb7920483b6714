// The CUDA engine over a runtime without a device: the contract, the choice of the device, what it says of itself.
#include "contract/engine_contract.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "support/fake_runtime.hpp"

#include <doctest/doctest.h>

#include <string>

namespace gpuhist::gpu::cuda {
namespace {

engine_request small_request(unsigned streams = 2) {
  return {.counted = partition::identity(), .run = {}, .streams = streams, .max_chunk = 4096, .max_extents = 4};
}

device_properties old_device() {
  return {.name = "old device", .compute_major = 6, .compute_minor = 1, .multiprocessors = 2, .memory_bytes = 1 << 20};
}

TEST_CASE("the CUDA engine keeps the contract on 1, 2 and 5 lanes, and uses the runtime as it must be used") {
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

TEST_CASE("the CUDA engine counts all 256 values whatever was asked for") {
  engine_request request = small_request();
  request.counted = contract::letters_partition();
  const cuda_engine engine(make_fake_runtime(std::make_shared<ledger>()), request);
  CHECK(engine.row_partition() == partition::identity());
}

TEST_CASE("a device too old is passed over, and named where there is no other") {
  const auto seen = std::make_shared<ledger>();
  const auto both = make_fake_runtime(seen, {old_device(), fake_device()});
  CHECK(choose_device(*both).device == 1);
  CHECK(choose_device(*both).why == "fake device, 4 multiprocessors");

  const auto old = make_fake_runtime(seen, {old_device()});
  CHECK(!choose_device(*old).device);
  CHECK(choose_device(*old).why ==
        "no usable CUDA device: old device is too old: it has compute capability 6.1, gpuhist needs 7.5 or more");
}

TEST_CASE("all work goes to the device that was chosen, whichever thread asks for it") {
  const auto seen = std::make_shared<ledger>();
  contract::jobs_in_flight_together_are_each_answered_once([&](const engine_request& request) {
    return std::make_unique<cuda_engine>(
        make_fake_runtime(seen, std::vector<device_properties>{old_device(), fake_device()}), request);
  });
  CHECK(seen->misuses() == std::vector<std::string>{});
}

TEST_CASE("without a device the CUDA engine cannot be made and says why") {
  const auto make = [] { cuda_engine(make_fake_runtime(std::make_shared<ledger>(), {}), small_request()); };
  CHECK_THROWS_WITH_AS(make(), "no CUDA device: fake error 100 (cudaGetDeviceCount)", engine_error);
}

TEST_CASE("a chunk larger than the engine was made for fails alone") {
  contract::job_memory memory(5000, 5, 256);
  cuda_engine engine(make_fake_runtime(std::make_shared<ledger>()), small_request());
  engine.register_memory(memory.all());
  const extent all{0, 5000};
  engine.submit(memory.prepare(contract::text_bytes(5000, 1), {&all, 1}));
  CHECK_THROWS_AS(memory.wait(), engine_error);

  const extent part{0, 100};
  counting_job& job = memory.prepare(contract::text_bytes(4096, 1), {&part, 1});
  job.rows = job.rows.first(256);
  engine.submit(job);
  CHECK_NOTHROW(memory.wait());
}

TEST_CASE("the timeline of a run lies inside its span") {
  contract::job_memory memory(4096, 1, 256);
  cuda_engine engine(make_fake_runtime(std::make_shared<ledger>()), small_request(1));
  engine.register_memory(memory.all());
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
