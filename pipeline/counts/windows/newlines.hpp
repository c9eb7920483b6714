// Counting and finding newlines, for windows of lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::pipeline {

/// The number of '\n'.
std::uint64_t count_newlines(std::span<const std::byte> text);

/// The number of bytes up to and including newline number `wanted` (from 1), or all bytes if there are fewer newlines.
/// Subtracts the newlines in these bytes from `wanted`.
std::size_t through_newline(std::span<const std::byte> text, std::uint64_t& wanted);

}  // namespace gpuhist::pipeline
