// What the files of the C interface have in common: its handles, and calls: exceptions become statuses, and those of
// callbacks are kept.
#pragma once

#include "gpuhist/errors.hpp"
#include "gpuhist/files.hpp"
#include "gpuhist/gpuhist.h"
#include "gpuhist/named_options.hpp"
#include "gpuhist/options.hpp"
#include "gpuhist/results.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

struct gpuhist_options {
  gpuhist::named_options named{};
  std::function<std::int32_t(const gpuhist_event*)> on_event{};
  std::function<std::int32_t(const void*, std::size_t)> on_text{};
};

/// Results behind the C interface. Strings that are returned are kept here: pointers to them are valid until the handle
/// is destroyed.
struct gpuhist_results {
  explicit gpuhist_results(gpuhist::results made)
      : counted(std::move(made)), error(counted.error()), schemes(counted.schemes()) {}
  gpuhist_results(const gpuhist_results&) = delete;
  gpuhist_results& operator=(const gpuhist_results&) = delete;

  const gpuhist::results counted;
  const std::string error;
  const std::vector<std::string> schemes;
  mutable std::mutex mutex{};  // protects the following; pointers to elements of the map stay valid
  mutable std::map<std::string, std::vector<std::string>, std::less<>> buckets{};
  mutable std::optional<std::string> json{};
};

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

// Events of the C interface.

/// Pass all events to on_event, and request a stop if it returns another number than 0. They do not call cancel(),
/// because a callback may destroy the counter.
counting_events events_of(const gpuhist_options& options, const std::stop_source& stop);
file_events file_events_of(const gpuhist_options& options, const std::stop_source& stop);

}  // namespace gpuhist::c_interface
