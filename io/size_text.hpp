// Formats sizes for messages about inputs.
#pragma once

#include <cstdint>
#include <string>

namespace gpuhist::io {

/// The exact size, in the largest unit that divides it.
std::string size_text(std::uint64_t bytes);

/// "1 byte", "2345 bytes".
std::string bytes_text(std::uint64_t bytes);

}  // namespace gpuhist::io
