// Counting text that already lies on the GPU, for programs that have it there: no engine, no copy, no wait.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gpuhist::gpu::cuda {

/// Queues on `stream` the counting of the bytes [bytes, bytes + size) and returns without waiting for it; when the
/// stream gets there, the number of bytes of value v has been added to counters[v].
///
/// `bytes`: memory the current device can read, of any alignment; `counters`: 256 of 64 bits in memory it can write.
/// Both are the caller's and stay valid and, `bytes`, unchanged until the stream has passed. Counters are added to, not
/// cleared, so that several spans, also on several streams, may be counted into the same ones. `stream` belongs to the
/// current device; the null stream is the default stream, as everywhere in CUDA.
///
/// Allocates nothing and needs no scratch memory; may be called from any thread, and while a stream is captured into a
/// graph. `size` 0 does nothing. What queuing said is returned: cudaErrorInvalidValue for a null pointer. A fault while
/// the kernel runs (memory that is not there) shows, as with every kernel, at a later call.
[[nodiscard]] cudaError_t count_device_span(const std::uint8_t* bytes, std::uint64_t size, unsigned long long* counters,
                                            cudaStream_t stream);

}  // namespace gpuhist::gpu::cuda
