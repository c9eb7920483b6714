// Results behind the C interface.
#pragma once

#include "gpuhist/gpuhist.h"
#include "gpuhist/results.hpp"

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
      : counted(std::move(made)), error(counted.error()), schemes(counted.schemes()) {}
  gpuhist_results(const gpuhist_results&) = delete;
  gpuhist_results& operator=(const gpuhist_results&) = delete;

  const gpuhist::results counted;
  const std::string error;
  const std::vector<std::string> schemes;
  mutable std::mutex mutex{};  // protects the following; pointers to elements of the map stay valid
  mutable std::map<std::string, std::vector<std::string>, std::less<>> buckets{};
  mutable std::optional<std::string> json{};
};
