// The table of engines: names, and results with and without a device.
#include "contract/engine_contract.hpp"
#include "gpu/engines.hpp"
#include "gpu/kernel_names.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

namespace gpuhist::gpu {
namespace {

engine_request request() {
  return {.counted = contract::letters_partition(),
          .run = [](const std::function<void()>& task) { task(); },
          .max_chunk = 4096,
          .max_extents = 4};
}

TEST_CASE("every name of an engine has a canonical one, and no other name has") {
  CHECK(engine_names() == std::vector<std::string_view>{"auto", "cuda", "host", "gpu", "cpu"});
  CHECK(canonical_engine("gpu") == "cuda");
  CHECK(canonical_engine("cpu") == "host");
  for (const auto name : {"auto", "cuda", "host"}) CHECK(canonical_engine(name) == name);
  for (const auto name : {"", "CUDA", "hos"}) CHECK_THROWS_AS(canonical_engine(name), std::invalid_argument);
}

TEST_CASE("the host engine is always available, and counts the requested partition") {
  CHECK(!forecast_engine("host", request()).cuda);
  const engine_choice choice = make_engine("host", request());
  CHECK(choice.taken->name() == "host");
  CHECK(choice.taken->layout().counted == request().counted);
}

TEST_CASE("cuda is made if a device is usable, and fails with the reason if none is") {
  const engine_forecast expected = forecast_engine("cuda", request());
  CHECK(!expected.why.empty());
  if (expected.cuda) {
    CHECK(make_engine("cuda", request()).taken->name() == "cuda");
  } else {
    CHECK_THROWS_WITH_AS(make_engine("cuda", request()), expected.why.c_str(), engine_error);
  }
}

TEST_CASE("auto uses devices if there may be any, and gives the reason if there is none") {
  const engine_forecast expected = forecast_engine("auto", request());
  CHECK(!expected.cuda);
  const engine_choice choice = make_engine("auto", request());
  CHECK(choice.reason == expected.why);
  CHECK((choice.taken->name() == "auto") == expected.shared);
  CHECK((choice.taken->name() == "host") == !expected.shared);
  CHECK(expected.shared == expected.why.empty());
}

TEST_CASE("a forecast is used: devices are not enumerated again") {
  engine_request with_forecast = request();
  with_forecast.forecast = engine_forecast{.why = "no device, found earlier"};
  CHECK(make_engine("auto", with_forecast).reason == "no device, found earlier");
  CHECK(make_engine("auto", with_forecast).taken->name() == "host");
  CHECK_THROWS_WITH_AS(make_engine("cuda", with_forecast), "no device, found earlier", engine_error);
}

TEST_CASE("a kernel is chosen by name, with auto for the host, and an unsuitable kernel is an error") {
  for (const std::string_view name : host_kernel_names_for(request().counted)) {
    engine_request forced = request();
    forced.kernel = name;
    for (const auto engine : {"host", "auto"}) {
      CHECK(make_engine(engine, forced).taken->stats().kernel.starts_with(name));
    }
    CHECK_THROWS_AS(make_engine("cuda", forced), engine_error);
  }
  engine_request wrong = request();
  wrong.kernel = "no_such_kernel";
  for (const auto engine : {"auto", "cuda", "host"}) CHECK_THROWS_AS(make_engine(engine, wrong), engine_error);
}

TEST_CASE("a kernel is listed for a partition exactly if the engine accepts it") {
  for (const partition& counted : {contract::letters_partition(), partition::identity()}) {
    const std::vector<std::string_view> able = host_kernel_names_for(counted);
    CHECK(!able.empty());
    for (const std::string_view name : host_kernel_names()) {
      CAPTURE(name);
      engine_request forced = request();
      forced.counted = counted;
      forced.kernel = name;
      if (std::ranges::find(able, name) != able.end()) {
        CHECK_NOTHROW(make_engine("host", forced));
      } else {
        CHECK_THROWS_AS(make_engine("host", forced), engine_error);
      }
    }
  }
}

TEST_CASE("auto does not fall back to the host if a device is requested by number") {
  engine_request far_away = request();
  far_away.devices = {4000};
  CHECK_THROWS_AS(forecast_engine("auto", far_away), engine_error);
  CHECK_THROWS_AS(make_engine("auto", far_away), engine_error);
  CHECK_THROWS_AS(make_engine("cuda", far_away), engine_error);
}

}  // namespace
}  // namespace gpuhist::gpu
