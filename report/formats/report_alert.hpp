// A condition that holds: as a line of JSON in a report, and as a message for people.
#pragma once

#include "report/conditions/watcher.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace gpuhist::report {

/// A line of kind "alert", schema gpuhist.result/1, with its line end. `run`: as render_target::run.
std::string alert_line(const gates::firing& fired, std::string_view run);

/// "access.log, bytes 0 to 4096, lines 1 to 40", "(standard input), window 17, bytes 65536 to 69632, line 12",
/// "the totals, 48 bytes".
std::string place_of(const gates::firing& fired);

/// "--fail-if 'digit > 0.15' holds for a.txt, bytes 0 to 48, lines 1 to 3: digit = 0.25", and in a second line that of
/// the text, "    a.txt, line 3: took 12 ms", cut to `width` columns. Safe to print.
std::string firing_for_people(const gates::firing& fired, std::size_t width = std::numeric_limits<std::size_t>::max());

}  // namespace gpuhist::report
