// What the functions of the C interface have in common: exceptions become statuses, and those of callbacks are kept.
#pragma once

#include "gpuhist/errors.hpp"
#include "gpuhist/gpuhist.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <vector>

namespace gpuhist::c_interface {

/// Keeps the text for gpuhist_error_text() of this thread.
gpuhist_status note_failure(gpuhist_status status, const char* text) noexcept;

gpuhist_status status_of(errc kind) noexcept;

/// Calls a function. No exception leaves it.
template <typename Function>
gpuhist_status guarded(const Function& function) noexcept {
  try {
    function();
    return GPUHIST_OK;
  } catch (const error& thrown) {
    return note_failure(status_of(thrown.kind()), thrown.what());
  } catch (const std::bad_alloc&) {
    return note_failure(GPUHIST_OUT_OF_MEMORY, "not enough memory");
  } catch (const std::exception& thrown) {
    return note_failure(GPUHIST_INTERNAL, thrown.what());
  } catch (...) {
    return note_failure(GPUHIST_INTERNAL, "an unknown exception");
  }
}

/// Throws errc::invalid_argument for null.
template <typename T>
T& given(T* pointer, const char* name) {
  if (pointer == nullptr) throw error(errc::invalid_argument, std::string(name) + " is null");
  return *pointer;
}

/// Calls a callback of the caller: `call`. Its exception becomes errc::callback, whose text begins with `name`.
template <typename Call>
std::int32_t call_back(const char* name, const Call& call) {
  const std::string thrown_by = std::string(name) + " threw an exception";
  try {
    return call();
  } catch (const std::exception& thrown) {
    throw error(errc::callback, thrown_by + ": " + thrown.what());
  } catch (...) {
    throw error(errc::callback, thrown_by);
  }
}

/// Throws errc::invalid_argument if there is no room for all counts.
void copy_counts(const std::vector<std::uint64_t>& from, std::uint64_t* to, std::size_t room);

}  // namespace gpuhist::c_interface
