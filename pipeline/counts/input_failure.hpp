// Why an input is not complete: a kind for programs and a text for people.
#pragma once

#include "io/failure_kind.hpp"
#include "io/input_error.hpp"

#include <cstdint>
#include <exception>
#include <string>

namespace gpuhist::pipeline {

using io::failure_kind;
using io::failure_origin;

/// One failure of one input. Kind `none`: no failure, and the text is empty.
struct input_failure {
  failure_kind kind = failure_kind::none;
  std::string text{};  ///< a clause without the input's name
  failure_origin origin = failure_origin::input;

  [[nodiscard]] bool is_none() const { return kind == failure_kind::none; }

  bool operator==(const input_failure&) const = default;
};

/// The text of an exception of a source or decoder: "Input/output error at offset 4096", "No such file or directory".
std::string failure_text(const std::exception_ptr& error);

/// The text, the kind and the origin: those of an io::input_error, out_of_memory for std::bad_alloc, else unreadable.
input_failure failure_from(const std::exception_ptr& error);

/// Whether the input has caused an exception: an io::input_error or std::bad_alloc; others belong to the run. Not null.
bool is_of_input(const std::exception_ptr& error);

/// "stopped at offset 4096": reading was stopped by a signal or by a failure elsewhere.
input_failure left_at(std::uint64_t offset);

/// "not verified: ...": a member of an archive was read to its end, but the archive or frame around it is damaged.
input_failure not_verified_in_archive();

/// "not read": the run was stopped before this input was read.
input_failure not_read();

/// The failure as an exception.
io::input_error as_error(const input_failure& failure);

}  // namespace gpuhist::pipeline
