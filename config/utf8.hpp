// Validation of UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <string_view>

namespace gpuhist::config {

/// Length of the UTF-8 sequence at the front of `text`, 1 to 4; 0 if there is none.
std::size_t utf8_sequence(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace gpuhist::config
