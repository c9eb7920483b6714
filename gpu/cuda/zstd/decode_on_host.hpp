// The decoder of zstd frames on the host: the same phases as on the device, one after the other, in one thread. For
// tests and fuzzing; the program decodes on the host with libzstd. The same for the division of the text.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/text_division.hpp"

namespace gpuhist::gpu::cuda::zstd {

/// Decodes a batch whose buffers are in host memory. batch_buffers::used is zero.
void decode_on_host(const batch_buffers& batch);

/// Divides text in host memory, whose frames have their extents: writes what text_division says.
void divide_on_host(const text_division& division);

}  // namespace gpuhist::gpu::cuda::zstd
