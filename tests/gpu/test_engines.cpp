// The table of engines: names, and what is answered where there may or may not be a device.
#include "contract/engine_contract.hpp"
#include "gpu/engines.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("the host engine is always to be had, and counts the partition asked for") {
  std::string why;
  CHECK(!will_use_cuda("host", why));
  const engine_choice choice = make_engine("host", request());
  CHECK(choice.taken->name() == "host");
  CHECK(choice.taken->row_partition() == request().counted);
}

TEST_CASE(
    "auto takes CUDA exactly where a device is usable, and says why - cuda fails with that reason where none is") {
  std::string why;
  const bool cuda = will_use_cuda("auto", why);
  CHECK(!why.empty());
  const engine_choice choice = make_engine("auto", request());
  CHECK(choice.reason == why);
  CHECK((choice.taken->name() == "cuda") == cuda);
  if (cuda) {
    CHECK(make_engine("cuda", request()).taken->name() == "cuda");
  } else {
    CHECK_THROWS_WITH_AS(make_engine("cuda", request()), why.c_str(), engine_error);
  }
}

}  // namespace
}  // namespace gpuhist::gpu
