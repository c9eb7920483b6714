// The launch functions of the strategies, for the table. Each is defined in the file of its strategy and has the
// contract of strategy::launch.
#pragma once

#include "bench/kernels/catalogue.hpp"

namespace gpuhist::bench::kernels {

cudaError_t launch_global_atomic(const span_launch& launch, cudaStream_t stream);
cudaError_t launch_block_private_global(const span_launch& launch, cudaStream_t stream);
cudaError_t launch_block_private_shared(const span_launch& launch, cudaStream_t stream);
cudaError_t launch_coarsened_contiguous(const span_launch& launch, cudaStream_t stream);
cudaError_t launch_coarsened_interleaved(const span_launch& launch, cudaStream_t stream);
cudaError_t launch_run_aggregated(const span_launch& launch, cudaStream_t stream);
cudaError_t launch_warp_aggregated(const span_launch& launch, cudaStream_t stream);
cudaError_t launch_register_private(const span_launch& launch, cudaStream_t stream);
cudaError_t launch_vector_loads_4(const span_launch& launch, cudaStream_t stream);
cudaError_t launch_vector_loads_16(const span_launch& launch, cudaStream_t stream);
cudaError_t launch_bit_sliced(const span_launch& launch, cudaStream_t stream);

std::size_t scratch_of_block_private_global(bins counted, int multiprocessors);

}  // namespace gpuhist::bench::kernels
