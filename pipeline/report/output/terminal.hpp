// What the place a report is written to can show: its width, UTF-8, colours.
#pragma once

#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/output/destination.hpp"

#include <optional>

namespace gpuhist::pipeline {

/// Whether the locale of the process takes UTF-8. Sets the character type locale from the environment at the first
/// call, which must come before there are threads.
bool locale_is_utf8();

/// Whether TERM says, or leaves open, that lines cannot be erased.
bool terminal_is_dumb();

/// The columns of the terminal that this descriptor is; nothing where it is none, or does not say.
std::optional<unsigned> terminal_columns(int fd);

/// What standard error can show, for texts that go there: by the same rules.
render_target target_for_standard_error();

/// Colours only on a terminal that is not dumb, and not where NO_COLOR is set (https://no-color.org).
render_target target_for(const destination& where);

}  // namespace gpuhist::pipeline
