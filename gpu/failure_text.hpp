// The message of an exception that a thread stored.
#pragma once

#include <exception>
#include <string>

namespace gpuhist::gpu {

/// what() of the exception. Precondition: `error` is not null. Throws std::bad_alloc.
inline std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an unknown error";
  }
}

}  // namespace gpuhist::gpu
