// The plan of `gpuhist [FILE...]`: the plan of its run, and how its counts are reported.
#pragma once

#include "config/options.hpp"
#include "library/counting_plan.hpp"
#include "report/formats/input_table.hpp"
#include "report/formats/report.hpp"
#include "report/output/destination.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

struct plan : counting_plan {
  const report_format* format = nullptr;
  std::optional<std::string> output;
  writing manner = writing::whole;  ///< how reports are written to the output
  bool totals_only = false;
  input_listing listing;         ///< of the table
  std::optional<bool> progress;  ///< nothing: on if standard error is a terminal
  bool quiet = false;
};

/// Whether a destination is standard output, by its usual names.
[[nodiscard]] bool names_standard_output(std::string_view name);

/// Resolves options. Throws what make_plan(file_options) throws, and config::usage_error for options of the report.
plan make_plan(const config::options& typed);

/// Throws config::usage_error if an output that does not exist yet, but would be created in place (live output,
/// --append), is also an input. To be called before the output is opened.
void refuse_new_output_as_input(const plan& planned);

}  // namespace gpuhist::pipeline
