// Measurements as tables for people and as rows for programs.
#pragma once

#include "bench/measurement.hpp"

#include <span>
#include <string>

namespace gpuhist::bench {

/// "0.978"; "-" if absent.
std::string fixed(std::optional<double> value, int digits);

/// The text padded to `width` bytes, aligned right or left.
std::string right(std::string text, std::size_t width);
std::string left(std::string text, std::size_t width);

/// The table of one group: a heading, then one line per kernel, slowest first.
std::string ladder(const measured_group& group);

/// One JSON object per measurement, one per line.
std::string json_rows(const measured_group& group, const machine& on);

/// The names of the columns, and one line per measurement.
std::string csv_heading();
std::string csv_rows(const measured_group& group, const machine& on);

}  // namespace gpuhist::bench
