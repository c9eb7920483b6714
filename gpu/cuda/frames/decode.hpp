// The kernels of the decoder of frames and members, one for each phase.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/part_segment.hpp"

#include <cuda_runtime_api.h>

#include <span>

namespace gpuhist::gpu::cuda::frames {

/// The phases in their order. Each needs the results of those before. `begins`, `symbols`, `order` and `crc32` are for
/// gzip, in place of the first four and `checksum`.
enum class phase { describe, resolve, literals, sequences, begins, symbols, order, link, execute, crc32, checksum };
inline constexpr unsigned phase_count = 11;

/// Queues one phase for a batch in device memory; it begins after all work before it. `in_parts`: the frames with
/// encoded_frame::is_in_parts, in host memory. Returns the error of the launch.
cudaError_t launch_phase(phase which, const zstd::batch_buffers& batch, std::span<const zstd::part_segment> in_parts,
                         cudaStream_t stream);

/// Queues all phases. The checksum follows the execution through the text, where the device permits it.
cudaError_t launch_decode(const zstd::batch_buffers& batch, std::span<const zstd::part_segment> in_parts,
                          cudaStream_t stream);

}  // namespace gpuhist::gpu::cuda::frames
