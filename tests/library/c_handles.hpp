// Handles and structures of the C interface.
#pragma once

#include <gpuhist/gpuhist.h>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace gpuhist::testing {

inline constexpr std::array<const char*, 2> schemes_of_c = {"bytes", "vowels=aeiou"};

/// All other fields are zero.
template <typename Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof(made);
  return made;
}

inline gpuhist_options host() {
  auto made = sized<gpuhist_options>();
  made.schemes = schemes_of_c.data();
  made.scheme_count = schemes_of_c.size();
  made.engine = GPUHIST_ENGINE_HOST;
  made.threads = 2;
  return made;
}

inline gpuhist_counter* make(const gpuhist_options& options) {
  gpuhist_counter* made = nullptr;
  REQUIRE(gpuhist_counter_create(&options, &made) == GPUHIST_OK);
  REQUIRE(made != nullptr);
  return made;
}

inline gpuhist_input* open(gpuhist_counter* counter, const char* name) {
  gpuhist_input* made = nullptr;
  REQUIRE(gpuhist_input_open(counter, name, &made) == GPUHIST_OK);
  return made;
}

inline gpuhist_results* finish(gpuhist_counter* counter) {
  gpuhist_results* made = nullptr;
  REQUIRE(gpuhist_counter_finish(counter, &made) == GPUHIST_OK);
  return made;
}

inline gpuhist_input_result input_of(const gpuhist_results* results, std::size_t number) {
  auto found = sized<gpuhist_input_result>();
  REQUIRE(gpuhist_results_input(results, number, &found) == GPUHIST_OK);
  return found;
}

inline bool error_names(std::string_view part) {
  return std::string_view(gpuhist_error_text()).find(part) != std::string_view::npos;
}

}  // namespace gpuhist::testing
