// Code of devices on the host, on the calling thread: for tests, fuzzing and a device that is simulated. The program
// decodes on the host with libzstd.
#pragma once

#include "gpu/cuda/units/unit_tiles.hpp"
#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/text_division.hpp"

namespace gpuhist::gpu::cuda::units {

/// Measures units with the code of the kernels. All pointers are of host memory.
void measure_on_host(const unit_launch& launch);

}  // namespace gpuhist::gpu::cuda::units

namespace gpuhist::gpu::cuda::zstd {

/// Decodes a batch whose buffers are in host memory: the same phases as on the device, one after the other.
/// batch_buffers::used has what members need.
void decode_on_host(const batch_buffers& batch);

/// The work before and after the phases of a step (steps.hpp).
void copy_carried_on_host(const batch_buffers& batch, const std::uint8_t* text_before);
void carry_on_host(const batch_buffers& batch);

/// Divides text in host memory, whose frames have their extents: writes what text_division says.
void divide_on_host(const text_division& division);

}  // namespace gpuhist::gpu::cuda::zstd
