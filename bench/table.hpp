// Tables for people, and rows for programs, of what was measured.
#pragma once

#include "bench/measurement.hpp"

#include <span>
#include <string>

namespace gpuhist::bench {

/// "0.978"; nothing is "-".
std::string fixed(std::optional<double> value, int digits);

/// The text in so many columns (UTF-8 is not looked at), to the right or to the left.
std::string right(std::string text, std::size_t width);
std::string left(std::string text, std::size_t width);

/// The ladder of one group: a heading, one line a kernel, slowest first.
std::string ladder(const measured_group& group);

/// One JSON object a measurement, each on a line of its own.
std::string json_rows(const measured_group& group, const machine& on);

/// The names of the columns, and one line a measurement.
std::string csv_heading();
std::string csv_rows(const measured_group& group, const machine& on);

}  // namespace gpuhist::bench
