#include "pipeline/counts/completed_inputs.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t completions_in_memory = std::size_t{64} << 10U;  // bytes

static_assert(std::is_trivially_copyable_v<completion>);

}  // namespace

completed_inputs::completed_inputs(const spill_folder& folder) : completions_(completions_in_memory, folder) {}

void completed_inputs::append(const completion& next) {
  completions_.append(std::string_view(reinterpret_cast<const char*>(&next), sizeof next));
}

std::size_t completed_inputs::size() const { return completions_.size() / sizeof(completion); }

completion completed_inputs::at(std::size_t number) const {
  const std::string bytes = completions_.read(number * sizeof(completion), sizeof(completion));
  if (bytes.size() != sizeof(completion)) {
    throw std::system_error(EIO, std::system_category(), "the temporary file of finished inputs is truncated");
  }
  completion found;
  std::memcpy(&found, bytes.data(), sizeof found);
  return found;
}

}  // namespace gpuhist::pipeline
