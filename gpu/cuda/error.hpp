// From the runtime's codes to exceptions: every CUDA call is checked here.
#pragma once

#include "gpu/cuda/call_site.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/engines.hpp"

#include <cstddef>
#include <span>
#include <string_view>

namespace gpuhist::gpu::cuda {

inline constexpr result success = 0;
inline constexpr result out_of_memory = 2;       // cudaErrorMemoryAllocation
inline constexpr result operating_system = 304;  // cudaErrorOperatingSystem
inline constexpr result not_supported = 801;     // cudaErrorNotSupported; runtime_device.cu asserts all of them

/// Throws what throw_error() throws unless `code` is success. `doing` says what failed, with the call: "copying a chunk
/// to the device (cudaMemcpyAsync)". (It is not copied where all is well: a literal, or a string that exists anyway. A
/// string that is made for the call could fail to be made after the call succeeded.)
inline void check(const runtime& api, result code, std::string_view doing, call_site where = call_site::here());

/// engine_error; memory_shortage for lack of memory; lost_device where the device must not be called any more. The
/// message adds CUDA's name and sentence, file and line, and for lack of memory what to do. (That is the same code for
/// memory of the device and for page-locked memory: the driver locks pages itself, whatever `ulimit -l` says.)
[[noreturn]] void throw_error(const runtime& api, result code, std::string_view doing,
                              call_site where = call_site::here());

/// Page-locks memory of the host, `use` saying which ("of slots"), `by` who, ending in ": ". False where the device
/// cannot do that at all (cudaErrorNotSupported: its attribute cudaDevAttrHostRegisterSupported is 0): copies from and
/// to memory that is not page-locked are slower and give the same bytes. Throws memory_shortage where less of it might
/// do: out of memory, or refused by the operating system (cudaErrorOperatingSystem), else as throw_error().
bool page_lock(runtime& api, std::span<std::byte> memory, std::string_view by, std::string_view use,
               call_site where = call_site::here());

inline void check(const runtime& api, result code, std::string_view doing, call_site where) {
  if (code != success) throw_error(api, code, doing, where);
}

}  // namespace gpuhist::gpu::cuda
