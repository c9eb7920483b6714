// Every host kernel, on every instruction set of this machine, keeps the contract of engines.
#include "contract/engine_contract.hpp"
#include "gpu/host/host_engine.hpp"
#include "gpu/host/kernel.hpp"

#include <doctest/doctest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <string>

namespace gpuhist::gpu {
namespace {

std::unique_ptr<engine> forced(const engine_request& request, const host::kernel& kernel) {
  if (!kernel.applies(host::prepare(request.counted))) return nullptr;
  return std::make_unique<host::host_engine>(request, kernel);
}

const host::kernel& kernel_named(std::string_view name) {
  return *std::ranges::find(host::kernels(), name, &host::kernel::name);
}

// Makes Highway choose one instruction set, until the end of the scope.
class only_target {
 public:
  explicit only_target(std::int64_t target) { set(target); }
  only_target(const only_target&) = delete;
  only_target& operator=(const only_target&) = delete;
  ~only_target() { set(0); }

 private:
  static void set(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  }
};

TEST_CASE("every host kernel keeps the contract of engines") {
  for (const host::kernel& kernel : host::kernels()) {
    CAPTURE(kernel.name);
    contract::engine_maker make = [&](const engine_request& request) { return forced(request, kernel); };
    contract::keeps_the_contract(make);
  }
}

TEST_CASE("the ranges kernel keeps the contract on every instruction set of this machine") {
  std::vector<std::string> ran;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const only_target chosen(target);
    const host::kernel& ranges = kernel_named("ranges");
    REQUIRE(ranges.instruction_set() == hwy::TargetName(target));
    ran.push_back(ranges.full_name());
    CAPTURE(ran.back());
    contract::keeps_the_contract([&](const engine_request& request) { return forced(request, ranges); });
  }
  CHECK(!ran.empty());
  MESSAGE("ran " << doctest::toString(ran.size()) << " instruction sets, best: " << ran.front());
}

TEST_CASE("the last kernel of the table applies to every partition, and the table starts with the one preferred") {
  for (const auto& counted : contract::sample_partitions()) {
    CAPTURE(counted.name);
    CHECK(host::kernels().back().applies(host::prepare(counted.value)));
  }
  CHECK(host::best_kernel(host::prepare(contract::letters_partition())).name == "ranges");
  CHECK(host::best_kernel(host::prepare(partition::identity())).name == "tables");
}

TEST_CASE("a single value inside another class costs one comparison, a boundary one") {
  const auto letters = host::prepare(contract::letters_partition());
  CHECK(letters.at_least.size() == 8);  // a e i m q u y {
  CHECK(letters.equal.size() == 1);     // \n
}

TEST_CASE("a kernel that does not apply is refused by the host engine") {
  const engine_request request{.counted = partition::identity(), .run = {}};
  CHECK_THROWS_AS(host::host_engine(request, kernel_named("ranges")), engine_error);
}

}  // namespace
}  // namespace gpuhist::gpu
