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

// Makes Highway choose one instruction set until the end of the scope.
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

bool counts_letters(const host::kernel& kernel) { return kernel.applies(host::prepare(contract::letters_partition())); }

TEST_CASE("every host kernel keeps the contract of engines, on every instruction set of this machine") {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const only_target chosen(target);
    for (const host::kernel& kernel : host::kernels()) {
      if (!counts_letters(kernel)) continue;
      if (!kernel.instruction_set().empty()) REQUIRE(kernel.instruction_set() == hwy::TargetName(target));
      CAPTURE(kernel.full_name());
      contract::keeps_the_contract([&](const engine_request& request) { return forced(request, kernel); });
    }
  }
}

TEST_CASE("lookup applies with AVX3_DL of Highway, and only there") {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const only_target chosen(target);
    CAPTURE(hwy::TargetName(target));
    CHECK(counts_letters(kernel_named("lookup")) == (target == HWY_AVX3_DL));
  }
}

// Sizes close to the overflow of 8-bit and 16-bit counters in lanes of 1 to 64 bytes, and close to the blocks and
// passes of kernels.
std::vector<std::size_t> sizes_near_overflow() {
  std::vector<std::size_t> sizes;
  for (const std::size_t width : {16U, 32U, 64U}) {
    for (const std::size_t vectors : {8U, 31U * 8, 32U * 8, 127U, 255U, 256U, 511U, 65535U, 65536U}) {
      for (const std::size_t more : {std::size_t{0}, std::size_t{1}, width - 1})
        sizes.push_back(vectors * width + more);
    }
  }
  for (const std::size_t pass : {2816U, 3584U, 5120U}) {  // with planes of 16, 32 and 64 bytes
    for (const std::size_t passes : {7U, 13U, 410U}) sizes.push_back(passes * pass - 1);
  }
  sizes.push_back((std::size_t{40} << 20U) + 77);
  return sizes;
}

TEST_CASE("every kernel counts a repeated letter exactly beyond the range of narrow counters") {
  const auto sizes = sizes_near_overflow();
  std::vector<std::byte> bytes(*std::ranges::max_element(sizes));
  for (const unsigned letter : {0U, 0x65U, 0xffU}) {
    std::ranges::fill(bytes, static_cast<std::byte>(letter));
    for (const auto& counted : {contract::letters_partition(), partition::identity()}) {
      const host::prepared_partition prepared = host::prepare(counted);
      for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        const only_target chosen(target);
        for (const host::kernel& kernel : host::kernels()) {
          if (!kernel.applies(prepared)) continue;
          for (const std::size_t size : sizes) {
            std::vector<std::uint32_t> row(counted.classes, 0xdeadbeefU);
            kernel.count({bytes.data(), size}, prepared, row.data());
            std::vector<std::uint32_t> expected(counted.classes);
            expected[counted.class_of[letter]] = static_cast<std::uint32_t>(size);
            CAPTURE(kernel.full_name());
            CAPTURE(size);
            if (row != expected) FAIL_CHECK("counts of one letter are wrong");
          }
        }
      }
    }
  }
}

TEST_CASE("the best kernel applies, and no other kernel that applies has a lower cost") {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const only_target chosen(target);
    CAPTURE(hwy::TargetName(target));
    for (const auto& counted : contract::sample_partitions()) {
      CAPTURE(counted.name);
      const auto prepared = host::prepare(counted.value);
      CHECK(host::kernels().back().applies(prepared));
      const host::kernel& best = host::best_kernel(prepared);
      CHECK(best.applies(prepared));
      for (const host::kernel& other : host::kernels()) {
        if (other.applies(prepared)) CHECK(best.cost(prepared) <= other.cost(prepared));
      }
    }
  }
}

TEST_CASE("the preferred kernels for letters and for all bytes, by instruction set") {
  const auto best = [](const partition& counted) { return host::best_kernel(host::prepare(counted)).name; };
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const only_target chosen(target);
    CAPTURE(hwy::TargetName(target));
    const bool newest = target == HWY_AVX3_DL;
    CHECK(best(contract::letters_partition()) == (newest ? "lookup" : target == HWY_SCALAR ? "tables" : "ranges"));
    CHECK(best(partition::identity()) == (newest ? "planes" : "tables"));
  }
}

TEST_CASE("a single value inside another class costs one comparison, and so does a boundary") {
  const auto letters = host::prepare(contract::letters_partition());
  CHECK(letters.at_least.size() == 8);  // a e i m q u y {
  CHECK(letters.equal.size() == 1);     // \n
}

TEST_CASE("the host engine rejects a kernel that does not apply") {
  const engine_request request{.counted = partition::identity(), .run = {}};
  CHECK_THROWS_AS(host::host_engine(request, kernel_named("ranges")), engine_error);
}

}  // namespace
}  // namespace gpuhist::gpu
