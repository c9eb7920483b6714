// Properties of a terminal, and of the destination of a report: size, UTF-8, colours.
#pragma once

#include "report/formats/report.hpp"

#include <optional>

namespace gpuhist::report {

class destination;

struct terminal_size {
  unsigned columns = 0;
  unsigned lines = 0;  ///< 0: unknown
};

/// Nothing if the descriptor is not a terminal, or does not report its columns.
std::optional<terminal_size> size_of_terminal(int fd);

/// Whether the locale of the process is UTF-8. The first call sets the locale (LC_CTYPE) from the environment and must
/// be made before any thread starts.
bool locale_is_utf8();

/// Whether lines cannot be erased: TERM is "dumb", empty or not set.
bool terminal_is_dumb();

/// The properties of standard error, by the same rules as target_for().
render_target target_for_standard_error();

/// The properties of a destination. Colours only on a terminal that is not dumb, and not if NO_COLOR is set
/// (https://no-color.org).
render_target target_for(const destination& output);

}  // namespace gpuhist::report
