// Lack of device memory or page-locked memory: fewer lanes, smaller copies, then a clear error. Counts are exact, and
// nothing leaks.
#include "contract/engine_contract.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "support/fake_runtime.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::gpu::cuda {
namespace {

constexpr std::uint32_t job_bytes = 4096;
constexpr std::uint32_t copy_bytes = 4 * job_bytes;
constexpr std::size_t row_bytes = 256 * sizeof(std::uint32_t);

// A lane has two sets of text, extents and rows.
constexpr std::size_t lane_bytes(std::size_t copied, std::size_t extents) {
  return 2 * (copied + extents * (sizeof(extent) + row_bytes));
}
constexpr std::size_t whole_lane = lane_bytes(copy_bytes, 4);
constexpr std::size_t smallest_lane = lane_bytes(job_bytes, 1);

struct outcome {
  std::optional<engine_stats> stats;  // empty: the engine was not made
  std::string error;
};

void count_some(cuda_engine& engine) {
  std::vector<std::shared_ptr<contract::job_memory>> memory(6);
  for (auto& each : memory) each = std::make_shared<contract::job_memory>(job_bytes, 1, 256);
  for (const auto& each : memory) engine.register_memory(each->all(), each);
  const extent all{0, job_bytes};
  for (std::uint32_t i = 0; i < memory.size(); ++i) {
    engine.submit(memory[i]->prepare(contract::random_bytes(job_bytes, i), {&all, 1}));
  }
  for (std::uint32_t i = 0; i < memory.size(); ++i) {
    const auto expected =
        contract::count_obviously(contract::random_bytes(job_bytes, i), {&all, 1}, partition::identity());
    CHECK(std::ranges::equal(memory[i]->wait(), expected));
  }
}

outcome run_with(const std::shared_ptr<ledger>& seen, std::size_t device_bytes) {
  device_properties device = fake_device();
  device.memory_bytes = device_bytes;
  try {
    cuda_engine engine(make_fake_runtime(seen, {device}), {.counted = partition::identity(),
                                                           .run = {},
                                                           .streams = 3,
                                                           .max_chunk = job_bytes,
                                                           .max_extents = 1,
                                                           .max_copy = copy_bytes});
    count_some(engine);
    return {.stats = engine.stats(), .error = {}};
  } catch (const memory_shortage& error) {
    return {.stats = {}, .error = error.what()};
  }
}

TEST_CASE("with little device memory there are fewer lanes, then smaller copies, and this is reported") {
  struct expectation {
    std::size_t device_bytes;
    unsigned lanes;
    std::string note;
  };
  const std::string begin = "device 0 (fake device) lacks memory: ";
  const std::vector<expectation> steps{
      {3 * whole_lane, 3, ""},
      {3 * whole_lane - 1, 2, begin + "2 of 3 streams"},
      {2 * whole_lane - 1, 1, begin + "1 of 3 streams"},
      {whole_lane - 1, 1, begin + "1 of 3 streams, copies of 8192 instead of 16384 bytes"},
      {smallest_lane, 1, begin + "1 of 3 streams, copies of 4096 instead of 16384 bytes"},
  };
  for (const expectation& step : steps) {
    CAPTURE(step.device_bytes);
    const auto seen = std::make_shared<ledger>();
    const outcome result = run_with(seen, step.device_bytes);
    REQUIRE(result.stats);
    CHECK(result.stats->workers == step.lanes);
    CHECK(result.stats->note == step.note);
    CHECK(seen->misuses() == std::vector<std::string>{});
  }
}

TEST_CASE("with any amount of device memory, all counts are exact, or the error is that one lane does not fit") {
  for (std::size_t bytes = 0; bytes < 3 * whole_lane + 500; bytes += 499) {
    CAPTURE(bytes);
    const auto seen = std::make_shared<ledger>();
    const outcome result = run_with(seen, bytes);
    CHECK(result.stats.has_value() == (bytes >= smallest_lane));
    CHECK(seen->misuses() == std::vector<std::string>{});
  }
}

TEST_CASE("an error for lack of device memory names the device, the call and the bytes, and no option") {
  const std::string error = run_with(std::make_shared<ledger>(), smallest_lane - 1).error;
  CAPTURE(error);
  CHECK(error.starts_with("device 0 (fake device): allocating 1024 bytes of device memory (cudaMalloc) failed: "));
  CHECK(error.find("--") == std::string::npos);
}

void page_lock_too_much(result refusal) {
  const auto seen = std::make_shared<ledger>();
  seen->max_registered_bytes = 100 << 10U;
  seen->refusal = refusal;
  const auto large = std::make_shared<contract::job_memory>(std::size_t{100} << 10U, 1, 256);
  const auto small = std::make_shared<contract::job_memory>(job_bytes, 1, 256);
  {
    cuda_engine engine(
        make_fake_runtime(seen),
        {.counted = partition::identity(), .run = {}, .streams = 1, .max_chunk = job_bytes, .max_extents = 1});
    std::string error;
    try {
      engine.register_memory(large->all(), large);
    } catch (const memory_shortage& shortage) {
      error = shortage.what();
    }
    CAPTURE(error);
    CHECK(error.starts_with("device 0 (fake device): page-locking " + std::to_string(large->all().size()) +
                            " bytes of slots (cudaHostRegister) failed: fake error " + std::to_string(refusal) + " ("));
    CHECK(error.find("--") == std::string::npos);
    CHECK(large.use_count() == 1);
    CHECK_NOTHROW(engine.register_memory(small->all(), small));
    CHECK(engine.can_count());
    CHECK_FALSE(engine.stats().device_lost);
    CHECK(engine.stats().note.empty());
  }
  CHECK(seen->misuses() == std::vector<std::string>{});
}

TEST_CASE(
    "slots that cannot be page-locked are a shortage that names the device and the bytes, and smaller slots work") {
  page_lock_too_much(out_of_memory);
}

TEST_CASE("slots that the operating system refuses to page-lock are a shortage, not the loss of the device") {
  page_lock_too_much(operating_system);
}

TEST_CASE("a device that cannot page-lock host memory still counts exactly, and this is reported") {
  const auto seen = std::make_shared<ledger>();
  seen->max_registered_bytes = 0;
  seen->refusal = not_supported;
  const outcome result = run_with(seen, 3 * whole_lane);
  REQUIRE(result.stats);
  CHECK(result.stats->workers == 3);
  CHECK_FALSE(result.stats->device_lost);
  CHECK(result.stats->note ==
        "device 0 (fake device) cannot page-lock host memory (cudaErrorNotSupported): copies are slower");
  CHECK(seen->misuses() == std::vector<std::string>{});
}

TEST_CASE("lanes for which no memory can be page-locked are not made") {
  const auto seen = std::make_shared<ledger>();
  seen->max_registered_bytes = 20 << 10U;  // per lane twice a page of extents and a page of rows
  const cuda_engine engine(
      make_fake_runtime(seen),
      {.counted = partition::identity(), .run = {}, .streams = 3, .max_chunk = job_bytes, .max_extents = 1});
  CHECK(engine.stats().workers == 1);
  CHECK(engine.stats().note == "device 0 (fake device) lacks memory: 1 of 3 streams");
}

}  // namespace
}  // namespace gpuhist::gpu::cuda
