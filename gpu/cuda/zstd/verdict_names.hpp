// Names of the causes for which the device did not decode a frame, for the messages of tests and benchmarks.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"

#include <array>
#include <cstddef>

namespace gpuhist::gpu::cuda::zstd {

/// The name of the enumerator; "unknown verdict" for other values, which damaged device memory may have.
constexpr const char* name_of(verdict value) {
  constexpr std::array names{"decoded",          "no_room",        "block_size",       "literals_header",
                             "huffman_tree",     "huffman_stream", "sequences_header", "distribution",
                             "sequences_stream", "match_offset",   "content_size",     "checksum"};
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : "unknown verdict";
}

}  // namespace gpuhist::gpu::cuda::zstd
