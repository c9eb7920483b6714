#include "gpu/cuda/error.hpp"

#include "gpu/cuda/fused_runtime.hpp"

#include <string>

namespace gpuhist::gpu::cuda {
namespace {

std::string message_of(const runtime& api, result code, std::string_view action, call_site where) {
  std::string_view file = where.file;
  if (const auto at = file.rfind("gpu/"); at != std::string_view::npos) file.remove_prefix(at);
  std::string message(action);
  message.append(" failed: ").append(api.error_text(code));
  message.append(" (").append(file).append(":").append(std::to_string(where.line)).append(")");
  return message;
}

}  // namespace

void throw_error(const runtime& api, result code, std::string_view action, call_site where) {
  const std::string message = message_of(api, code, action, where);
  if (code == out_of_memory) throw memory_shortage(message);
  if (!leaves_the_device_well(code)) throw lost_device(message);
  throw engine_error(message);
}

bool page_lock(runtime& api, std::span<std::byte> memory, std::string_view device, std::string_view use,
               call_site where) {
  const result code = api.host_register(memory.data(), memory.size());
  if (code == success) return true;
  if (code == not_supported) return false;
  std::string action(device);
  action.append("page-locking ").append(std::to_string(memory.size())).append(" bytes ").append(use);
  action.append(" (cudaHostRegister)");
  if (code == operating_system) throw memory_shortage(message_of(api, code, action, where));
  throw_error(api, code, action, where);
}

}  // namespace gpuhist::gpu::cuda
