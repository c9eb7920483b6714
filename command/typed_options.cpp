#include "command/typed_options.hpp"

#include "command/plan.hpp"
#include "config/usage_error.hpp"
#include "library/resolve.hpp"

#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::command {
namespace {

constexpr int standard_output = 1;

void take_filter(file_options& run) {
  std::optional<unit_options>& units = run.counting.units;
  if (!units || (!units->selects() && units->duplicates != duplicate_units::drop)) {
    throw config::usage_error("give --keep-if, --drop-if, --preset or --duplicates drop");
  }
  if (units->filter == unit_filter::none) units->filter = unit_filter::drop;  // what presets say
  run.pass_through = pass_through_options{.forwarded = pass_through_options::content::text};
}

bool shows_table_on_terminal(const config::options& typed) {
  return typed.what == config::command::count && !typed.output && typed.format.value_or("table") == "table" &&
         !typed.run.pass_through && ::isatty(standard_output) == 1;
}

}  // namespace

config::usage_error with_place(const config::option_error& error, const config::options& typed) {
  std::string_view key = error.option();
  for (const std::string_view other : {"preset", "keep-if", "drop-if", "where"}) {
    if (error.option() == "where" && typed.given.contains(other)) key = other;
  }
  if (error.option() == "rewrite" && !typed.given.contains("rewrite")) key = "preset";
  return config::usage_error(typed.where("--" + std::string(key)) + ": " + error.error());
}

run_request request_of(const config::options& typed) {
  run_request made{.run = typed.run};
  file_options& run = made.run;
  run.counting.temporary_folder = folder_for_spills(typed).path;
  made.warning = library::load_baseline(run.counting);
  run.standard_input = true;
  run.inputs = typed.inputs;
  if (run.inputs.empty() && !run.list) run.inputs.emplace_back("-");
  if (typed.what == config::command::filter) take_filter(run);
  if (run.counting.units && !typed.given.contains("show-text")) {
    run.counting.units->show_text = shows_table_on_terminal(typed);
  }
  if (run.pass_through) run.pass_through->descriptor = standard_output;
  return made;
}

}  // namespace gpuhist::command
