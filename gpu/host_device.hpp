// A function with this macro is compiled for the device and the host, so that the arithmetic of kernels is tested
// without a device.
#pragma once

#if defined(__CUDACC__)
#define GPUHIST_HOST_DEVICE __host__ __device__
#else
#define GPUHIST_HOST_DEVICE
#endif

// Before a loop that uses all elements of an array, so that they are in registers of the device.
#if defined(__CUDA_ARCH__)
#define GPUHIST_UNROLL _Pragma("unroll")
#else
#define GPUHIST_UNROLL
#endif
