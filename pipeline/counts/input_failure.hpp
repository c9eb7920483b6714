// Why an input is not complete: the kind, by which decisions are made, and the words of a result.
#pragma once

#include "io/failure_kind.hpp"
#include "io/input_error.hpp"

#include <cstdint>
#include <exception>
#include <string>

namespace gpuhist::pipeline {

using io::failure_kind;

/// One failure of one input. Of kind `none` there was no failure, and the text is empty.
struct input_failure {
  failure_kind kind = failure_kind::none;
  std::string text{};  ///< a clause for people, without the input's name

  [[nodiscard]] bool is_none() const { return kind == failure_kind::none; }

  bool operator==(const input_failure&) const = default;
};

/// "Input/output error at offset 4096", "No such file or directory": what was thrown by a source or a decoder.
std::string failure_text(const std::exception_ptr& error);

/// The same with its kind: that of an io::input_error, out of memory of std::bad_alloc, else unreadable.
input_failure failure_from(const std::exception_ptr& error);

/// "stopped at offset 4096": reading was given up, because of a signal or a failure elsewhere.
input_failure left_at(std::uint64_t offset);

/// "not read": the run was stopped before it came to this input.
input_failure not_read();

/// To be thrown.
io::input_error as_error(const input_failure& failure);

}  // namespace gpuhist::pipeline
