// Results behind the C interface.
#pragma once

#include "gpuhist/gpuhist.h"
#include "gpuhist/results.hpp"
#include "gpuhist/units.hpp"
#include "library/c_calls.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Strings that are returned are kept here: pointers to them are valid until the handle is destroyed.
struct gpuhist_results {
  explicit gpuhist_results(gpuhist::results made)
      : counted(std::move(made)), error(counted.error()), schemes(counted.schemes()), units(counted.units()) {
    if (!units) return;
    for (const gpuhist::ranked_unit& each : units->top) ranked.push_back({.found = each.found});
  }
  gpuhist_results(const gpuhist_results&) = delete;
  gpuhist_results& operator=(const gpuhist_results&) = delete;

  const gpuhist::results counted;
  const std::string error;
  const std::vector<std::string> schemes;
  const std::optional<gpuhist::unit_summary> units;
  std::vector<gpuhist_unit> ranked{};  // borrow from `units`
  mutable std::mutex mutex{};          // protects the following; pointers to elements of maps stay valid
  mutable std::map<std::size_t, gpuhist::input_result> inputs{};
  mutable std::map<std::string, std::vector<std::string>, std::less<>> buckets{};
  mutable std::optional<std::string> json{};
};
