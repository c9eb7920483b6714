// The CRC-32 of two texts in sequence, from those of each.
#pragma once

#include <cstdint>

namespace gpuhist::io {

/// The CRC-32 of gzip (RFC 1952) of a text with CRC `first`, followed by `second_bytes` bytes with CRC `second`. In
/// polynomials modulo that of the CRC: first * x^(8 * second_bytes) + second.
std::uint32_t combine_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

}  // namespace gpuhist::io
