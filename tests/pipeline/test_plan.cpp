// The plan: the options, checked against the machine.
#include "command/plan.hpp"

#include "config/usage_error.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace gpuhist;
using namespace gpuhist::pipeline;

TEST_CASE("devices are refused for the host engine, wherever they were requested") {
  for (const bool all : {false, true}) {
    config::options typed;
    typed.run.counting.schemes = {"letters"};
    typed.engine = "cpu";
    typed.run.counting.all_devices = all;
    if (!all) typed.run.counting.devices = {0};
    CHECK_THROWS_WITH_AS(make_plan(typed),
                         "--devices: --engine host counts on no device; give --engine cuda (or auto), or no --devices",
                         config::usage_error);
    typed.origins["--devices"] = "GPUHIST_DEVICES";
    CHECK_THROWS_WITH_AS(
        make_plan(typed),
        "GPUHIST_DEVICES: --engine host counts on no device; give --engine cuda (or auto), or no --devices",
        config::usage_error);
  }
}

TEST_CASE("the default memory has room for the windows of ordinary archives, however many threads there are") {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
  for (const std::uint64_t limit : {64, 128, 256, 512, 1024}) {
    for (unsigned threads = 1; threads <= 512; threads += threads < 8 ? 1 : 23) {
      CAPTURE(limit);
      CAPTURE(threads);
      config::options typed;
      typed.run.counting.schemes = {"letters"};
      typed.engine = "host";
      typed.run.counting.threads = threads;
      typed.run.counting.memory_limit = limit * mib;
      const plan planned = make_plan(typed);
      const buffer_plan& sizes = planned.buffers;
      CHECK(sizes.decoders >= 1);
      CHECK(sizes.decoders < sizes.slots);
      CHECK(sizes.decoders <= threads);
      // three quarters can be lent to one decoder at a time: 8 MiB for zstd's level 19, 128 MiB for --long=27
      CHECK(sizes.window_limit / 4 * 3 >= (limit == 1024 ? 128 : 8) * mib);
      CHECK(sizes.window_limit / sizes.decoders >= 1 * mib);
      CHECK(sizes.window_limit + sizes.slots * std::uint64_t{sizes.chunk_bytes} < limit * mib);
    }
  }
}

TEST_CASE("a device that does not exist is an error of the plan, before anything is opened") {
  config::options typed;
  typed.run.counting.schemes = {"letters"};
  typed.run.counting.devices = {4000};
  for (const std::string engine : {"auto", "cuda"}) {
    typed.engine = engine;
    CHECK_THROWS_AS(make_plan(typed), gpu::engine_error);
  }
}

TEST_CASE("the plan keeps the forecast of the engine") {
  config::options typed;
  typed.run.counting.schemes = {"letters"};
  typed.engine = "cuda";
  const plan planned = make_plan(typed);
  CHECK(!planned.forecast.why.empty());
  CHECK(planned.forecast.cuda == (planned.forecast.lanes > 0));
  if (planned.forecast.cuda) CHECK(planned.buffers.slots >= 2 * planned.forecast.lanes);
}
