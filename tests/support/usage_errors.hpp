// The message of a usage error.
#pragma once

#include "config/usage_error.hpp"

#include <string>

namespace gpuhist::test {

/// The message of the error that `function` throws.
template <typename Function>
std::string usage_error_of(const Function& function) {
  try {
    function();
  } catch (const config::usage_error& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace gpuhist::test
