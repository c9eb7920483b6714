// What the functions of the C interface have in common: exceptions become statuses, structures may be older or newer.
#pragma once

#include "gpuhist/errors.hpp"
#include "gpuhist/gpuhist.h"
#include "gpuhist/results.hpp"
#include "gpuhist/units.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <span>
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

/// Throws errc::invalid_argument for a size that no structure of the caller can have, as if it was not set.
inline void check_size(std::size_t size, const char* name) {
  constexpr std::size_t largest = 4096;
  if (size >= sizeof(std::size_t) && size <= largest) return;
  throw error(errc::invalid_argument,
              std::string(name) + ".size is not set to the size of the structure, but " + std::to_string(size));
}

/// A structure of the caller, whose first member is its size. Fields that the caller does not know are zero. Throws
/// errc::invalid_argument if it sets a field that this library does not know.
template <typename Struct>
Struct known_part(const Struct& from, const char* name) {
  Struct known{};
  check_size(from.size, name);
  std::memcpy(&known, &from, std::min(from.size, sizeof(known)));
  if (from.size <= sizeof(known)) return known;
  const std::span unknown(reinterpret_cast<const std::byte*>(&from) + sizeof(known), from.size - sizeof(known));
  if (std::ranges::all_of(unknown, [](std::byte each) { return each == std::byte{0}; })) return known;
  throw error(errc::invalid_argument, std::string(name) + ": a field is set that this version of the library (" +
                                          gpuhist_version() + ") does not have");
}

/// Writes the fields that the caller knows. Fields that this library does not know become zero.
template <typename Struct>
void write_known(Struct all, Struct& to, const char* name) {
  all.size = to.size;
  check_size(all.size, name);
  std::memset(&to, 0, all.size);
  std::memcpy(&to, &all, std::min(all.size, sizeof(all)));
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

/// Throws errc::invalid_argument for values that no enumeration has.
unit_options unit_options_of(const gpuhist_unit_options& options);

/// Throws errc::invalid_argument if there is no room for all counts.
void copy_counts(const std::vector<std::uint64_t>& from, std::uint64_t* to, std::size_t room);

}  // namespace gpuhist::c_interface

struct gpuhist_unit {
  const gpuhist::unit& found;
};

/// Strings that are returned are kept in the handles: pointers to them are valid until the handle is destroyed.
struct gpuhist_window {
  const gpuhist::window& closed;
  std::string input;
  std::string last_input;
  std::string error;
};
