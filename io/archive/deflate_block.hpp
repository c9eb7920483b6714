// The headers of deflate blocks (RFC 1951), checked as zlib checks them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gpuhist::io {

/// Whether the block that begins at this bit of `packed` is the last one. Nothing if the header is not complete in
/// `packed`, or if its codes are not prefix codes in which every sequence of bits has a meaning; the code of distances
/// may also have one code word of one bit, or none. Precondition: at_bit < 8 * packed.size().
std::optional<bool> is_last_deflate_block(std::span<const std::byte> packed, std::uint64_t at_bit);

}  // namespace gpuhist::io
