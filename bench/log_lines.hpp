// A made-up, realistic web server log: the text of demonstrations, tests and measurements.
#pragma once

#include "bench/generator.hpp"

#include <cstdint>
#include <string>

namespace gpuhist::bench {

/// Appends one line of 100 to 300 bytes of UTF-8, its line feed included. `clock` is the time of the line before, in
/// milliseconds, and is moved on. The same state of `random` and `clock` gives the same line everywhere.
void append_log_line(std::string& out, generator& random, std::uint64_t& clock);

}  // namespace gpuhist::bench
