// Counting of text that is already in device memory: no counter object, no copy, no waiting. Only in builds with CUDA.
// The caller needs the headers of the CUDA runtime.
#pragma once

#include <gpuhist/api.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gpuhist {

/// Queues the counting of the bytes [bytes, bytes + size) on `stream` and returns without waiting. The kernel adds the
/// number of bytes of value v to counters[v].
///
/// `bytes` is memory that the current device can read, of any alignment. `counters` are 256 counters of 64 bits in
/// memory that it can write. The caller owns both, keeps them valid, and does not change `bytes` until the kernel has
/// finished. Counters are not cleared, so several spans, also on several streams, can be counted into the same
/// counters. `stream` belongs to the current device; null is the default stream, as in CUDA.
///
/// Allocates nothing and needs no scratch memory. May be called from any thread, and while a stream is captured into a
/// graph. `size` 0 does nothing. Returns the result of the launch; cudaErrorInvalidValue for a null pointer. An error
/// during execution (invalid memory) is reported by a later call, as for every kernel.
[[nodiscard]] GPUHIST_API cudaError_t count_device_span(const std::uint8_t* bytes, std::uint64_t size,
                                                        unsigned long long* counters, cudaStream_t stream);

}  // namespace gpuhist
