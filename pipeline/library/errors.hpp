// Exceptions of the pipeline as errors of the public interface.
#pragma once

#include "gpuhist/errors.hpp"

#include <exception>

namespace gpuhist {

/// Throws the gpuhist::error for an exception of the pipeline. Exceptions of callbacks are rethrown as they are.
[[noreturn]] void rethrow_as_error(const std::exception_ptr& thrown);

}  // namespace gpuhist
