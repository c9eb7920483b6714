// The scenarios of test_device_faults: inputs of many kinds, read in every manner, each with the text that a run
// counts.
#pragma once

#include "command/plan.hpp"
#include "tests/support/temporary_folder.hpp"

#include <functional>
#include <string>
#include <vector>

namespace gpuhist::test {

constexpr unsigned scenario_chunk_bytes = 4096;

/// A plan, and the text of each input in the order of the report.
struct device_scenario {
  std::string name;
  command::plan planned;
  std::vector<std::string> texts;
  std::string raw{};                ///< expected on standard output
  std::function<void()> prepare{};  ///< called before each run
  bool is_for_the_device = true;    ///< with `auto`: as much as possible, else host and device compete
};

/// Every scenario, with its files in `folder`.
std::vector<device_scenario> device_scenarios(const temporary_folder& folder);

}  // namespace gpuhist::test
