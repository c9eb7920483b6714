// The table of inputs as --columns, --sort and --top ask for it.
#pragma once

#include "config/options.hpp"
#include "gpuhist/options.hpp"
#include "report/formats/input_table.hpp"
#include "report/formats/report.hpp"

namespace gpuhist::pipeline {

/// Throws config::usage_error for unknown names, and for a format or another option that shows no inputs.
input_listing resolve_listing(const config::options& typed, const counting_options& counting, bool has_malformed,
                              const report_format& format);

}  // namespace gpuhist::pipeline
