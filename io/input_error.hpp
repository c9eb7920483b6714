// An error of an input: a sentence for users, the offset in the input (in the compressed input if it is compressed),
// and the kind.
#pragma once

#include "io/failure_kind.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gpuhist::io {

/// Thrown by sources and formats. The message does not name the input: the code that catches it knows the name.
class input_error : public std::runtime_error {
 public:
  input_error(const std::string& message, std::uint64_t offset, failure_kind kind = failure_kind::unreadable,
              failure_origin origin = failure_origin::input)
      : std::runtime_error(message), offset_(offset), kind_(kind), origin_(origin) {}

  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] failure_kind kind() const noexcept { return kind_; }
  [[nodiscard]] failure_origin origin() const noexcept { return origin_; }

 private:
  std::uint64_t offset_;
  failure_kind kind_;
  failure_origin origin_;
};

}  // namespace gpuhist::io
