// Why an input is not complete: a kind for programs and a text for people.
#pragma once

#include "io/failure_kind.hpp"
#include "io/input_error.hpp"

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

using io::failure_kind;

/// One failure of one input. Kind `none`: no failure, and the text is empty.
struct input_failure {
  failure_kind kind = failure_kind::none;
  std::string text{};  ///< a clause without the input's name

  [[nodiscard]] bool is_none() const { return kind == failure_kind::none; }

  bool operator==(const input_failure&) const = default;
};

/// The text of an exception of a source or decoder: "Input/output error at offset 4096", "No such file or directory".
std::string failure_text(const std::exception_ptr& error);

/// The text and the kind: that of an io::input_error, out_of_memory for std::bad_alloc, else unreadable.
input_failure failure_from(const std::exception_ptr& error);

/// "stopped at offset 4096": reading was stopped by a signal or by a failure elsewhere.
input_failure left_at(std::uint64_t offset);

/// A member of an archive that was read to its end, but the archive or frame around it is damaged.
inline constexpr std::string_view unverified_member = "not verified: the surrounding archive or frame is damaged";

/// "not read": the run was stopped before this input was read.
input_failure not_read();

/// The failure as an exception.
io::input_error as_error(const input_failure& failure);

}  // namespace gpuhist::pipeline
