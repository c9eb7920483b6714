// A synthetic, realistic web server log: the text for demonstrations, tests and measurements.
#pragma once

#include "bench/generator.hpp"

#include <cstdint>
#include <string>

namespace gpuhist::bench {

/// Appends one line of 100 to 300 bytes of UTF-8, including its line feed. `clock` is the time of the previous line in
/// milliseconds, and is advanced. The same state of `random` and `clock` gives the same line on every platform.
void append_log_line(std::string& out, generator& random, std::uint64_t& clock);

}  // namespace gpuhist::bench
