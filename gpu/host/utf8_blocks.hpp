// Counts well-formed UTF-8 in blocks with SIMD.
#pragma once

#include "gpu/host/utf8_meter.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::gpu::host {

constexpr std::size_t utf8_block = 64;  ///< bytes that are validated at once

/// Bytes of the text that are read before `from` of count_utf8_blocks(). Their values have no effect.
constexpr std::size_t utf8_bytes_before = 3;

/// Adds the well-formed sequences from offset `from` to `counts`. `from` is the first byte of a sequence, at least
/// utf8_bytes_before. Returns the offset of the first byte that was not counted: the first of a sequence. The 64 bytes
/// there have a malformed sequence, or fewer than 64 bytes are left. Thread-safe.
std::size_t count_utf8_blocks(std::span<const std::byte> text, std::size_t from, utf8_detail detail,
                              utf8_counts& counts);

/// The number of '\n'. Thread-safe.
std::uint64_t count_newlines(std::span<const std::byte> text);

}  // namespace gpuhist::gpu::host
