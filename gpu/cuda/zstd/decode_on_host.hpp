// The decoder of zstd frames on the host: the same phases as on the device, one after the other, in one thread. For
// tests and fuzzing; the program decodes on the host with libzstd.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"

namespace gpuhist::gpu::cuda::zstd {

/// Decodes a batch whose buffers are in host memory. batch_buffers::used is zero.
void decode_on_host(const batch_buffers& batch);

}  // namespace gpuhist::gpu::cuda::zstd
