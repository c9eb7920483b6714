// What unit_options reads of lines, resolved: expressions, selectors, formats of times.
#pragma once

#include "gpuhist/files.hpp"
#include "report/conditions/formula.hpp"
#include "report/units/unit_plan.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::library {

/// The option that reads lines; empty: none does. In formulas they are also read by number().
std::string_view option_of_lines(const unit_options& asked);

/// Whether windows are those of times in lines.
bool has_event_windows(const counting_options& options);

/// Of the expressions of --match. Throws config::option_error.
std::vector<std::string> names_of_matches(const counting_options& options);

/// Null: none. Throws config::option_error for an expression that is not supported.
std::shared_ptr<const report::lines::match_set> resolve_matches(const unit_options& asked);

/// What is read of lines, with the facts that formulas use; nothing: nothing is read. `max_bytes`: of a line. Throws
/// config::option_error.
std::optional<report::units::line_reading> resolve_lines(const counting_options& options,
                                                         std::shared_ptr<const report::lines::match_set> matches,
                                                         const report::gates::line_names& names, std::size_t max_bytes);

/// Sets when windows of event time close, if they do during the run. `is_fed`: a program feeds the inputs. Throws
/// config::option_error.
void resolve_lateness(const file_options& options, bool is_fed, std::optional<report::units::line_reading>& lines);

}  // namespace gpuhist::library
