// The units of a run as unit_options ask for them.
#pragma once

#include "gpuhist/files.hpp"
#include "library/resolve_formula.hpp"
#include "report/units/unit_plan.hpp"

#include <memory>

namespace gpuhist::pipeline {

/// Null: no units are measured. Throws config::usage_error for values outside their limits, for options that require
/// others, and for unknown names.
std::shared_ptr<const units::unit_plan> resolve_units(const file_options& options, const formula_context& known);

}  // namespace gpuhist::pipeline
