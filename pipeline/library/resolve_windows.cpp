#include "pipeline/library/resolve_windows.hpp"

#include "config/usage_error.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace gpuhist::pipeline {
namespace {

using measure = config::window_extent::measure;

pane_unit unit_of(measure typed) {
  switch (typed) {
    case measure::bytes:
      return pane_unit::bytes;
    case measure::lines:
      return pane_unit::lines;
    case measure::milliseconds:
      return pane_unit::milliseconds;
  }
  return {};
}

void check_step(const config::options& typed, const config::window_extent& window, const config::window_extent& step) {
  const std::string option = typed.where("--step");
  if (step.unit != window.unit) {
    throw config::usage_error(option + ": has another unit than --window; give both in bytes, lines or time");
  }
  if (step.amount > window.amount) {
    throw config::usage_error(option +
                              ": is longer than the window, so that text between two windows would be in none; give " +
                              typed.where("--window") + " or less");
  }
  const std::uint64_t panes = window.amount / std::gcd(window.amount, step.amount);
  if (panes <= max_panes) return;
  throw config::usage_error(option + ": a window would have " + std::to_string(panes) + " panes, more than " +
                            std::to_string(max_panes) +
                            " (the length of a pane is the greatest common divisor of window and step); give a step "
                            "that divides the window, such as a tenth of it");
}

bool is_regular(const std::string& input) {
  struct stat found{};
  const int failed = input == "-" ? ::fstat(STDIN_FILENO, &found) : ::stat(input.c_str(), &found);
  return failed == 0 && (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode));
}

void check_time(const config::options& typed, const window_shape& shape) {
  constexpr std::uint64_t min_milliseconds = 10;
  if (shape.pane < min_milliseconds) {
    throw config::usage_error(
        typed.where(typed.step ? "--step" : "--window") +
        ": the shortest time is 10ms, also as the greatest common divisor of window and step; give longer times");
  }
  const bool standard_input = typed.inputs.empty() && !typed.files_from;
  const bool all_regular = standard_input ? is_regular("-") : std::ranges::all_of(typed.inputs, is_regular);
  if (typed.follow || typed.files_from || !all_regular) return;
  throw config::usage_error(
      typed.where("--window") +
      ": all inputs are files, and their text has no times of arrival; give bytes or lines, such as "
      "64MiB or 100000lines");
}

}  // namespace

std::optional<window_shape> resolve_windows(const config::options& typed, const report_format& format) {
  if (!typed.window) {
    if (typed.step) throw config::usage_error(typed.where("--step") + ": requires --window");
    if (typed.per_input) throw config::usage_error(typed.where("--per-input") + ": requires --window");
    return std::nullopt;
  }
  if (format.name != "jsonl") {
    throw config::usage_error(typed.where("--format") + ": " + std::string(format.name) +
                              " cannot hold the windows of --window, which are lines of JSON; give --format jsonl, or "
                              "no --format");
  }
  const config::window_extent window = *typed.window;
  const config::window_extent step = typed.step.value_or(window);
  check_step(typed, window, step);
  const std::uint64_t pane = std::gcd(window.amount, step.amount);
  const window_shape shape{.unit = unit_of(window.unit),
                           .pane = pane,
                           .window_panes = static_cast<std::uint32_t>(window.amount / pane),
                           .step_panes = static_cast<std::uint32_t>(step.amount / pane),
                           .per_input = typed.per_input,
                           .interleaved = typed.follow};
  if (shape.unit == pane_unit::milliseconds) check_time(typed, shape);
  return shape;
}

}  // namespace gpuhist::pipeline
