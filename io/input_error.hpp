// What goes wrong with an input: a sentence for people and the offset in the input (compressed, where it is).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gpuhist::io {

/// Thrown by sources and formats. The message does not name the input: whoever catches it knows the name.
class input_error : public std::runtime_error {
 public:
  input_error(const std::string& message, std::uint64_t offset) : std::runtime_error(message), offset_(offset) {}

  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  std::uint64_t offset_;
};

}  // namespace gpuhist::io
