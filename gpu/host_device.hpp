// A function with this macro is compiled for the device and the host, so that the arithmetic of kernels is tested
// without a device.
#pragma once

#if defined(__CUDACC__)
#define GPUHIST_HOST_DEVICE __host__ __device__
#else
#define GPUHIST_HOST_DEVICE
#endif
