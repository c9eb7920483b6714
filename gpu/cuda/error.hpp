// Checks CUDA calls: converts error codes of the runtime to exceptions.
#pragma once

#include "gpu/cuda/call_site.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/engines.hpp"

#include <cstddef>
#include <exception>
#include <span>
#include <string_view>

namespace gpuhist::gpu::cuda {

inline constexpr result success = 0;
inline constexpr result out_of_memory = 2;       // cudaErrorMemoryAllocation
inline constexpr result operating_system = 304;  // cudaErrorOperatingSystem
inline constexpr result not_supported = 801;     // cudaErrorNotSupported; runtime_device.cu asserts all of them

/// Whether an error concerns the call only (wrong arguments, lack of memory), so that the device is still usable. After
/// any other error the device counts as failed: for most of them the CUDA documentation requires a restart of the
/// process, and for undocumented errors this is the safe assumption.
[[nodiscard]] bool leaves_the_device_well(result code);

/// Calls throw_error() unless `code` is success. `action` names the action and the call: "copying a chunk to the device
/// (cudaMemcpyAsync)". It must be a literal or an existing string: building a string could throw although the call
/// succeeded.
inline void check(const runtime& api, result code, std::string_view action, call_site where = call_site::here());

/// Throws memory_shortage if memory is insufficient, lost_device if the device must not be called again, otherwise
/// engine_error. The message contains the action, the name and text of the CUDA error, file and line; the remedy for
/// insufficient memory depends on the caller. (CUDA has one error code for device memory and for page-locked memory.
/// `ulimit -l` does not matter: the driver locks pages itself.)
[[noreturn]] void throw_error(const runtime& api, result code, std::string_view action,
                              call_site where = call_site::here());

/// Page-locks host memory. For the message, `use` names the memory ("of slots") and `device` is a prefix that ends in
/// ": ". Returns false if the device cannot page-lock memory (cudaErrorNotSupported: its attribute
/// cudaDevAttrHostRegisterSupported is 0); copies are then slower and give the same bytes. Throws memory_shortage if a
/// smaller amount may succeed: out of memory, or refused by the operating system (cudaErrorOperatingSystem). Other
/// errors: see throw_error().
bool page_lock(runtime& api, std::span<std::byte> memory, std::string_view device, std::string_view use,
               call_site where = call_site::here());

/// The exception that is being handled, with the name of the device in its message if there is memory for that. Call it
/// in a handler.
std::exception_ptr labelled_failure(std::string_view label) noexcept;

inline void check(const runtime& api, result code, std::string_view action, call_site where) {
  if (code != success) throw_error(api, code, action, where);
}

}  // namespace gpuhist::gpu::cuda
