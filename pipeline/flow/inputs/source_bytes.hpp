// The number of bytes to read, determined before reading.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gpuhist::pipeline {

/// The total size of all inputs on disk. Nothing if one of them is not a regular file, because its size is not known in
/// advance. Opens no file. Standard input ("-") counts from its current offset. Directories and missing files count as
/// 0.
std::optional<std::uint64_t> source_bytes_of(std::span<const std::string> inputs);

}  // namespace gpuhist::pipeline
