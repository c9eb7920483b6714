// Exceptions of the pipeline as errors of the public interface.
#pragma once

#include "gpuhist/errors.hpp"

#include <exception>

namespace gpuhist {

/// Throws the gpuhist::error for an exception of the pipeline, and errors as they are. Throws std::bad_alloc if there
/// is no memory for the error.
[[noreturn]] void rethrow_as_error(const std::exception_ptr& thrown);

/// The kind of that error.
errc kind_of(const std::exception_ptr& thrown) noexcept;

/// Calls a function of the pipeline. Its exceptions become those of the public interface.
template <typename Function>
auto translated(const Function& function) {
  try {
    return function();
  } catch (...) {
    rethrow_as_error(std::current_exception());
  }
}

}  // namespace gpuhist
