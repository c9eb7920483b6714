// Runs for which not all slots can be page-locked: fewer slots, the same counts.
#include "gpu/cuda/cuda_engine.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/program/plan.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

constexpr std::size_t kib = 1024;
constexpr std::uint32_t planned_slots = 16;
constexpr gpu::cuda::result out_of_memory = 2;
constexpr gpu::cuda::result operating_system = 304;
constexpr gpu::cuda::result not_supported = 801;

plan plan_for(const std::string& path) {
  config::options typed;
  typed.inputs = {path};
  typed.buckets = {"bytes"};
  typed.engine = "host";  // of no matter: the engine is handed in
  typed.chunk_size = 64 * kib;
  typed.slots = planned_slots;
  typed.threads = 3;
  typed.stats = true;
  return make_plan(typed);
}

// A lane of its own has page-locked memory for 16 rows and extents, twice; the rest is left for slots.
run_hooks with_registered_at_most(std::size_t bytes, gpu::cuda::result refusal = out_of_memory) {
  return {.make_engine = [bytes, refusal](std::string_view, gpu::engine_request request) {
    const auto seen = std::make_shared<gpu::cuda::ledger>();
    seen->max_registered_bytes = bytes;
    seen->refusal = refusal;
    request.streams = 1;
    request.max_copy = 0;
    request.forecast = {};
    return gpu::engine_choice{
        .taken = std::make_unique<gpu::cuda::cuda_engine>(gpu::cuda::make_fake_runtime(seen), request), .reason = {}};
  }};
}

std::string patterned_text(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i % 251);
  return text;
}

}  // namespace

TEST_CASE("the less can be page-locked, the fewer slots there are, down to two; all is counted and it is told") {
  const test::temporary_folder folder;
  const std::size_t size = 3000 * kib + 7;
  const std::string text = patterned_text(size);
  const plan planned = plan_for(folder.file("text", text));
  std::array<std::uint64_t, 256> expected{};
  for (const char each : text) ++expected[static_cast<unsigned char>(each)];
  struct step {
    std::size_t bytes;
    unsigned slots;
    gpu::cuda::result refusal = out_of_memory;
  };
  for (const auto& [bytes, slots, refusal] : {step{2000 * kib, 16U},
                                              {1000 * kib, 8U},
                                              {1000 * kib, 8U, operating_system},
                                              {500 * kib, 4U},
                                              {260 * kib, 2U},
                                              {260 * kib, 2U, operating_system}}) {
    CAPTURE(bytes);
    CAPTURE(refusal);
    const outcome done = run(planned, with_registered_at_most(bytes, refusal));
    CHECK(done.result.complete);
    CHECK(done.engine_failure.empty());
    CHECK(std::ranges::equal(done.result.verified.counts, expected));
    REQUIRE(done.stats);
    CHECK(done.stats->slots == slots);
    const std::string said = "memory could be page-locked for " + std::to_string(slots) + " of 16 slots";
    CHECK(done.stats->engine_reason == (slots < planned_slots ? said : ""));
  }
}

TEST_CASE("where the device cannot page-lock any memory of the host, all slots are used as they are, and it is told") {
  const test::temporary_folder folder;
  const std::string text = patterned_text(3000 * kib + 7);
  const outcome done = run(plan_for(folder.file("text", text)), with_registered_at_most(0, not_supported));
  CHECK(done.result.complete);
  CHECK(done.result.verified.bytes() == text.size());
  CHECK_FALSE(done.end_at_once);
  REQUIRE(done.stats);
  CHECK(done.stats->slots == planned_slots);
  CHECK(done.stats->engine_reason ==
        "device 0 (fake device) cannot page-lock host memory (cudaErrorNotSupported): copies are slower");
}

TEST_CASE("where not even two slots can be page-locked, nothing is counted and the error says what to do") {
  const test::temporary_folder folder;
  const plan planned = plan_for(folder.file("text", "some text"));
  std::string error;
  try {
    run(planned, with_registered_at_most(150 * kib));
  } catch (const gpu::engine_error& shortage) {
    error = shortage.what();
  }
  CAPTURE(error);
  CHECK(error.starts_with("device 0 (fake device): page-locking "));
  CHECK(error.ends_with("; try fewer --slots, a smaller --chunk-size or fewer --streams"));
}
