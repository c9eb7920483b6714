// Runs for which not all slots can be page-locked: fewer slots, the same counts.
#include "command/plan.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "pipeline/flow/driver.hpp"
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
  typed.run.counting.schemes = {"bytes"};
  typed.engine = "host";  // no effect: the hooks make the engine
  typed.run.chunk_size = 64 * kib;
  typed.run.slots = planned_slots;
  typed.run.counting.threads = 3;
  typed.stats = true;
  return make_plan(typed);
}

// A lane has page-locked memory of its own for 16 rows and extents, twice; the rest is left for slots.
run_hooks with_page_lock_limit(std::size_t bytes, gpu::cuda::result refusal = out_of_memory) {
  return {.make_engine = [bytes, refusal](std::string_view, gpu::engine_request request) {
    const auto ledger = std::make_shared<gpu::cuda::ledger>();
    ledger->max_registered_bytes = bytes;
    ledger->refusal = refusal;
    request.streams = 1;
    request.max_copy = 0;
    request.forecast = {};
    return gpu::engine_choice{
        .taken = std::make_unique<gpu::cuda::cuda_engine>(gpu::cuda::make_fake_runtime(ledger), request), .reason = {}};
  }};
}

std::string patterned_text(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i % 251);
  return text;
}

}  // namespace

TEST_CASE("less page-locked memory means fewer slots, down to two; all text is counted and the shortage is reported") {
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
    const outcome finished = run(planned, with_page_lock_limit(bytes, refusal));
    CHECK(finished.result.complete);
    CHECK(finished.engine_failure.empty());
    CHECK(std::ranges::equal(finished.result.verified.counts, expected));
    REQUIRE(finished.stats);
    CHECK(finished.stats->slots == slots);
    const std::string reason = "memory could be page-locked for " + std::to_string(slots) + " of 16 slots";
    CHECK(finished.stats->engine_reason == (slots < planned_slots ? reason : ""));
  }
}

TEST_CASE("if the device cannot page-lock host memory, all slots are used as they are, and this is reported") {
  const test::temporary_folder folder;
  const std::string text = patterned_text(3000 * kib + 7);
  const outcome finished = run(plan_for(folder.file("text", text)), with_page_lock_limit(0, not_supported));
  CHECK(finished.result.complete);
  CHECK(finished.result.verified.bytes() == text.size());
  CHECK_FALSE(finished.end_at_once);
  REQUIRE(finished.stats);
  CHECK(finished.stats->slots == planned_slots);
  CHECK(finished.stats->engine_reason ==
        "device 0 (fake device) cannot page-lock host memory (cudaErrorNotSupported): copies are slower");
}

TEST_CASE("if not even two slots can be page-locked, nothing is counted and the error gives a remedy") {
  const test::temporary_folder folder;
  const plan planned = plan_for(folder.file("text", "some text"));
  std::string error;
  try {
    run(planned, with_page_lock_limit(150 * kib));
  } catch (const gpu::engine_error& shortage) {
    error = shortage.what();
  }
  CAPTURE(error);
  CHECK(error.starts_with("device 0 (fake device): page-locking "));
  CHECK(error.ends_with("; try fewer --slots, a smaller --chunk-size or fewer --streams"));
}
