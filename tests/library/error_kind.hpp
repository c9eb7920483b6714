// The kind of the error that a call throws.
#pragma once

#include <gpuhist/errors.hpp>

#include <optional>

namespace gpuhist::testing {

/// Nothing if the call does not throw gpuhist::error.
template <typename Call>
std::optional<errc> error_of(const Call& call) {
  try {
    call();
  } catch (const error& thrown) {
    return thrown.kind();
  }
  return std::nullopt;
}

}  // namespace gpuhist::testing
