// The error that a call throws.
#pragma once

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <optional>
#include <string>

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

/// Empty if the call does not throw gpuhist::error.
template <typename Call>
requires std::invocable<Call> std::string message_of(const Call& call) {
  try {
    call();
  } catch (const error& thrown) {
    return thrown.what();
  }
  return "";
}

inline std::string message_of(const file_options& options) {
  return message_of([&] { static_cast<void>(count_files(options)); });
}

/// Of options that no counter accepts.
inline std::string message_of(const counting_options& options) {
  const auto call = [&] { const counter counts(options); };
  CHECK(error_of(call) == errc::invalid_argument);
  return message_of(call);
}

}  // namespace gpuhist::testing
