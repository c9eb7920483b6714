// What tells the lines of one run from those of others, where several runs write to the same place.
#pragma once

#include <string>

namespace gpuhist::pipeline {

/// 16 hexadecimal digits: 64 random bits of the system or, where it gives none, bits of the clock and the number of the
/// process. Does not fail but for std::bad_alloc.
std::string make_run_id();

}  // namespace gpuhist::pipeline
