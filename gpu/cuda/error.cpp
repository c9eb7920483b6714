#include "gpu/cuda/error.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace gpuhist::gpu::cuda {
namespace {

// runtime_device.cu checks these numbers against the names of CUDA.
constexpr std::array<result, 9> errors_of_the_call{
    success,
    1,              // cudaErrorInvalidValue
    out_of_memory,  //
    9,              // cudaErrorInvalidConfiguration
    101,            // cudaErrorInvalidDevice
    400,            // cudaErrorInvalidResourceHandle
    701,            // cudaErrorLaunchOutOfResources
    712,            // cudaErrorHostMemoryAlreadyRegistered
    713             // cudaErrorHostMemoryNotRegistered
};

std::string message_of(const runtime& api, result code, std::string_view action, call_site where) {
  std::string_view file = where.file;
  if (const auto at = file.rfind("gpu/"); at != std::string_view::npos) file.remove_prefix(at);
  std::string message(action);
  message.append(" failed: ").append(api.error_text(code));
  message.append(" (").append(file).append(":").append(std::to_string(where.line)).append(")");
  return message;
}

// An exception of the same type with the name of the device; the original exception if there is no memory for that.
std::exception_ptr labelled(std::string_view label, const engine_error& error,
                            const std::exception_ptr& original) noexcept {
  try {
    const std::string text = std::string(label) + ": " + error.what();
    if (dynamic_cast<const memory_shortage*>(&error) != nullptr) return std::make_exception_ptr(memory_shortage(text));
    if (dynamic_cast<const lost_device*>(&error) != nullptr) return std::make_exception_ptr(lost_device(text));
    return std::make_exception_ptr(engine_error(text));
  } catch (...) {
    return original;
  }
}

}  // namespace

bool leaves_the_device_well(result code) {
  return std::ranges::find(errors_of_the_call, code) != errors_of_the_call.end();
}

void throw_error(const runtime& api, result code, std::string_view action, call_site where) {
  const std::string message = message_of(api, code, action, where);
  if (code == out_of_memory) throw memory_shortage(message);
  if (!leaves_the_device_well(code)) throw lost_device(message);
  throw engine_error(message);
}

std::exception_ptr labelled_failure(std::string_view label) noexcept {
  std::exception_ptr failure = std::current_exception();
  try {
    throw;
  } catch (const engine_error& error) {
    return labelled(label, error, failure);
  } catch (...) {
    return failure;
  }
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
