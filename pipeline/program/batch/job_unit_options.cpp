#include "pipeline/program/batch/job_unit_options.hpp"

#include "config/usage_error.hpp"

#include <algorithm>
#include <string>

namespace gpuhist::pipeline {
namespace {

// A window is checked by the run that reads it, and a later run does not read it again.
void check_watched(const config::options& typed) {
  const bool watches_windows = typed.watch.empty() || std::ranges::find(typed.watch, "windows") != typed.watch.end();
  if (typed.fail_if.empty() || !watches_windows) return;
  throw config::usage_error(typed.where("--fail-if") +
                            ": a job that is continued does not check windows of earlier runs again; give --watch "
                            "totals,inputs, and --each window --where CONDITION, which lists the windows");
}

void check_windows(const config::options& typed) {
  if (typed.window->unit == config::window_extent::measure::milliseconds) {
    throw config::usage_error(typed.where("--window") +
                              ": the files of a job do not arrive over time; give a size of text, such as 64MiB, or "
                              "100000lines");
  }
  if (!typed.per_input) {
    throw config::usage_error(typed.where("--window") +
                              ": a job reads its inputs in any order, so no window can span two of them; give "
                              "--per-input (per-input = true), for windows that begin anew in every input");
  }
  check_watched(typed);
}

}  // namespace

void check_unit_options(const config::options& typed) {
  constexpr unsigned max_ranked = 1000;
  if (typed.window) check_windows(typed);
  if (typed.top) {
    throw config::usage_error(typed.where("--top") +
                              ": a job has no table of inputs; give N:FORMULA and --each, for the units with the "
                              "highest values");
  }
  if (typed.top_units && typed.top_units->number > max_ranked) {
    throw config::usage_error(typed.where("--top") + ": at most " + std::to_string(max_ranked) +
                              " units in a job, because the state has those of every input");
  }
}

}  // namespace gpuhist::pipeline
