// The macro of gpu/cuda/kernels/host_device.hpp, for arithmetic that kernels share with the host. Defined again,
// because gpu/cuda includes this folder and folders do not include each other in a circle.
#pragma once

#if defined(__CUDACC__)
#define GPUHIST_HOST_DEVICE __host__ __device__
#else
#define GPUHIST_HOST_DEVICE
#endif
