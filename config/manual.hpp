// The manual page, generated from the tables of the help.
#pragma once

#include <string>
#include <string_view>

namespace gpuhist::config {

/// gpuhist(1), in the man macros, for man-db and mandoc.
std::string manual_page(std::string_view version);

}  // namespace gpuhist::config
