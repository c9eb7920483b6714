// The plan: what is typed against what there is.
#include "pipeline/plan.hpp"

#include "config/usage_error.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace gpuhist;
using namespace gpuhist::pipeline;

TEST_CASE("devices have no meaning for the host engine, wherever they were asked for") {
  for (const bool all : {false, true}) {
    config::options typed;
    typed.buckets = {"letters"};
    typed.engine = "cpu";
    typed.all_devices = all;
    if (!all) typed.devices = {0};
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

TEST_CASE("a device that is not there is an error of the plan, before anything is opened") {
  config::options typed;
  typed.buckets = {"letters"};
  typed.devices = {4000};
  for (const std::string engine : {"auto", "cuda"}) {
    typed.engine = engine;
    CHECK_THROWS_AS(make_plan(typed), gpu::engine_error);
  }
}

TEST_CASE("the plan keeps what it found out of the engine") {
  config::options typed;
  typed.buckets = {"letters"};
  typed.engine = "cuda";
  const plan planned = make_plan(typed);
  CHECK(!planned.forecast.why.empty());
  CHECK(planned.forecast.cuda == (planned.forecast.lanes > 0));
  if (planned.forecast.cuda) CHECK(planned.buffers.slots >= 2 * planned.forecast.lanes);
}
