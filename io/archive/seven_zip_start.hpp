// The start header of a 7z archive, checked before libarchive reads the archive.
#pragma once

#include "io/byte_reader.hpp"

#include <cstdint>

namespace gpuhist::io {

/// Returns the size of the list of members that the start header states; 0 if there is no list, or if the file does not
/// begin with a start header (a program that extracts itself). Throws input_error if the header is damaged or does not
/// fit the size of the file: libarchive treats some damaged lists as empty. Afterwards the file is at offset 0.
/// Precondition: `file` can seek.
std::uint64_t check_seven_zip_start(byte_reader& file);

}  // namespace gpuhist::io
