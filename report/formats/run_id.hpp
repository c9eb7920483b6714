// The identifier of a run, which separates the lines of several runs that write to one destination.
#pragma once

#include <string>

namespace gpuhist::pipeline {

/// 16 hexadecimal digits: 64 random bits of the system or, if there are none, of the clock and the process id. Throws
/// only std::bad_alloc.
std::string make_run_id();

}  // namespace gpuhist::pipeline
