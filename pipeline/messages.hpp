// What the program tells people on standard error, outside of reports.
#pragma once

#include <string_view>

namespace gpuhist::pipeline {

void write_to_standard_error(std::string_view text);

/// "gpuhist: MESSAGE", a line of its own.
void complain(std::string_view message);

}  // namespace gpuhist::pipeline
