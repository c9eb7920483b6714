#include "library/resolve_windows.hpp"

#include "config/usage_error.hpp"

#include <numeric>
#include <string>

namespace gpuhist::pipeline {
namespace {

pane_unit unit_of(const window_options& given, const option_names& names) {
  switch (given.measured_in) {
    case window_options::unit::bytes:
      return pane_unit::bytes;
    case window_options::unit::lines:
      return pane_unit::lines;
    case window_options::unit::milliseconds:
      return pane_unit::milliseconds;
  }
  throw config::usage_error(names.where("--window") + ": no value of the enumeration");
}

void check_step(std::uint64_t length, std::uint64_t step, const option_names& names) {
  const std::string option = names.where("--step");
  if (step > length) {
    throw config::usage_error(option +
                              ": is longer than the window, so that text between two windows would be in none; give at "
                              "most the length of the window");
  }
  const std::uint64_t panes = length / std::gcd(length, step);
  if (panes <= max_panes) return;
  throw config::usage_error(option + ": a window would have " + std::to_string(panes) + " panes, more than " +
                            std::to_string(max_panes) +
                            " (the length of a pane is the greatest common divisor of window and step); give a step "
                            "that divides the window, such as a tenth of it");
}

void check_time(const window_options& given, const window_shape& shape, const option_names& names) {
  constexpr std::uint64_t min_milliseconds = 10;
  if (shape.unit != pane_unit::milliseconds || shape.pane >= min_milliseconds) return;
  throw config::usage_error(
      names.where(given.step > 0 ? "--step" : "--window") +
      ": the shortest time is 10ms, also as the greatest common divisor of window and step; give longer times");
}

}  // namespace

std::optional<window_shape> resolve_windows(const counting_options& options, const option_names& names) {
  if (!options.windows) return std::nullopt;
  const window_options& given = *options.windows;
  if (given.length == 0) throw config::usage_error(names.where("--window") + ": a window of no length; give 1 or more");
  const std::uint64_t step = given.step > 0 ? given.step : given.length;
  check_step(given.length, step, names);
  const std::uint64_t pane = std::gcd(given.length, step);
  const window_shape shape{.unit = unit_of(given, names),
                           .pane = pane,
                           .window_panes = static_cast<std::uint32_t>(given.length / pane),
                           .step_panes = static_cast<std::uint32_t>(step / pane),
                           .per_input = given.per_input};
  check_time(given, shape, names);
  return shape;
}

}  // namespace gpuhist::pipeline
