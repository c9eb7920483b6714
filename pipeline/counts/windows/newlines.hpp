// Newlines of a text, for windows of lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::pipeline {

/// How many bytes are '\n'.
std::uint64_t count_newlines(std::span<const std::byte> text);

/// The bytes up to and with the `wanted`-th newline (from 1 on), or all of them where there are not so many. Takes
/// those that it found from `wanted`.
std::size_t through_newline(std::span<const std::byte> text, std::uint64_t& wanted);

}  // namespace gpuhist::pipeline
