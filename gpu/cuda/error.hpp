// From the runtime's codes to exceptions: every CUDA call is checked here.
#pragma once

#include "gpu/cuda/call_site.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/engines.hpp"

#include <string>
#include <string_view>

namespace gpuhist::gpu::cuda {

inline constexpr result success = 0;
inline constexpr result out_of_memory = 2;  // cudaErrorMemoryAllocation; runtime_device.cu asserts both

/// Throws engine_error unless `code` is success, memory_shortage for want of memory. `doing` says what failed, with the
/// call: "copying a chunk to the device (cudaMemcpyAsync)". The message adds CUDA's name and sentence, file and line,
/// and for want of memory what to do. (That is the same code for memory of the device and for page-locked memory: the
/// driver locks pages itself, whatever `ulimit -l` says.)
inline void check(const runtime& api, result code, std::string_view doing, call_site where = call_site::here()) {
  if (code == success) return;
  std::string_view file = where.file;
  if (const auto at = file.rfind("gpu/"); at != std::string_view::npos) file.remove_prefix(at);
  std::string message(doing);
  message.append(" failed: ").append(api.error_text(code));
  message.append(" (").append(file).append(":").append(std::to_string(where.line)).append(")");
  if (code != out_of_memory) throw engine_error(message);
  throw memory_shortage(message.append("; try fewer --slots, a smaller --chunk-size or fewer --streams"));
}

}  // namespace gpuhist::gpu::cuda
