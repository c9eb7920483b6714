// One run over a fake CUDA runtime in which a call or a resource fails, for test_device_faults.
#pragma once

#include "pipeline/flow/driver.hpp"
#include "support/failing_resources.hpp"
#include "support/failing_runtime.hpp"
#include "tests/pipeline/device_scenarios.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::test {

enum class engine_kind { cuda, two_devices, automatic };

constexpr std::array<std::pair<engine_kind, const char*>, 3> engine_kinds{
    {{engine_kind::cuda, "cuda"}, {engine_kind::two_devices, "two devices"}, {engine_kind::automatic, "auto"}}};

struct ended_run {
  std::optional<pipeline::outcome> finished{};  ///< empty: the run threw
  std::string error{};                          ///< the message of the exception
  std::string forwarded{};                      ///< to standard output
  std::vector<std::string> misuses{};           ///< of the runtime
  std::uint64_t device_bytes = 0;               ///< counted by devices
};

/// `plan`: the call that fails, or null. `failing` is armed during the run or, if a CUDA call is to fail as well, after
/// that call. Null: no resource fails.
ended_run run_once(const device_scenario& tested, engine_kind kind,
                   const std::shared_ptr<gpu::cuda::planned_failure>& plan, failing_resource* failing);

}  // namespace gpuhist::test
