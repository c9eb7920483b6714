// Lets the arithmetic inside a kernel be compiled by the host's compiler too, so that it is tested without a device.
#pragma once

#if defined(__CUDACC__)
#define GPUHIST_HOST_DEVICE __host__ __device__
#else
#define GPUHIST_HOST_DEVICE
#endif
