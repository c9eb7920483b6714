// What the program tells people on standard error, outside of reports.
#include "pipeline/messages.hpp"

#include <cstdio>
#include <string>

namespace gpuhist::pipeline {

void write_to_standard_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void complain(std::string_view message) { write_to_standard_error("gpuhist: " + std::string(message) + "\n"); }

}  // namespace gpuhist::pipeline
