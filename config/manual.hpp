// The manual page, from the same tables as the help.
#pragma once

#include <string>
#include <string_view>

namespace gpuhist::config {

/// gpuhist(1), in the man macros that man-db and mandoc read.
std::string manual_page(std::string_view version);

}  // namespace gpuhist::config
