// How much there is to read, before it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gpuhist::pipeline {

/// Bytes of all inputs as they lie on disk, or nothing where one of them is no regular file, so that its size cannot be
/// known before it was read. Opens nothing. "-" counts from its current offset; what cannot be found counts nothing.
std::optional<std::uint64_t> source_bytes_of(std::span<const std::string> inputs);

}  // namespace gpuhist::pipeline
