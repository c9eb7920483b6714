// The C interface: a translation of gpuhist.hpp. No exception leaves it.
#include "gpuhist/gpuhist.h"

#include "gpuhist/gpuhist.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#ifndef GPUHIST_VERSION
#define GPUHIST_VERSION "0.0.0"
#endif

// Strings that are returned are kept here: pointers to them are valid until the handle is destroyed.
struct gpuhist_counter {
  gpuhist::counter counts;
};

struct gpuhist_input {
  gpuhist::input fed;
};

struct gpuhist_results {
  explicit gpuhist_results(gpuhist::results made) : counted(std::move(made)) {}

  gpuhist::results counted;
  mutable std::map<std::size_t, gpuhist::input_result> inputs{};
  mutable std::map<std::string, std::vector<std::string>, std::less<>> buckets{};
  std::optional<std::string> json{};
};

namespace {

using gpuhist::errc;
using gpuhist::error;

// Of this thread. A text that does not fit into memory is replaced by a constant.
struct last_error {
  std::string text;
  const char* shown = "";
};
thread_local last_error failure;

gpuhist_status note(gpuhist_status status, const char* text) noexcept {
  try {
    failure.text = text;
    failure.shown = failure.text.c_str();
  } catch (...) {
    failure.shown = "not enough memory";
  }
  return status;
}

gpuhist_status status_of(errc kind) {
  switch (kind) {
    case errc::invalid_argument:
      return GPUHIST_INVALID_ARGUMENT;
    case errc::misuse:
      return GPUHIST_MISUSE;
    case errc::closed:
      return GPUHIST_CLOSED;
    case errc::engine:
      return GPUHIST_ENGINE;
    case errc::out_of_memory:
      return GPUHIST_OUT_OF_MEMORY;
    case errc::system:
      return GPUHIST_SYSTEM;
  }
  return GPUHIST_INTERNAL;
}

template <typename Function>
gpuhist_status guarded(const Function& function) noexcept {
  try {
    function();
    return GPUHIST_OK;
  } catch (const error& thrown) {
    return note(status_of(thrown.kind()), thrown.what());
  } catch (const std::bad_alloc&) {
    return note(GPUHIST_OUT_OF_MEMORY, "not enough memory");
  } catch (const std::exception& thrown) {
    return note(GPUHIST_INTERNAL, thrown.what());
  } catch (...) {
    return note(GPUHIST_INTERNAL, "an unknown exception");
  }
}

template <typename T>
T& given(T* pointer, const char* name) {
  if (pointer == nullptr) throw error(errc::invalid_argument, std::string(name) + " is null");
  return *pointer;
}

gpuhist::engine engine_of(gpuhist_engine chosen) {
  switch (chosen) {
    case GPUHIST_ENGINE_AUTOMATIC:
      return gpuhist::engine::automatic;
    case GPUHIST_ENGINE_HOST:
      return gpuhist::engine::host;
    case GPUHIST_ENGINE_CUDA:
      return gpuhist::engine::cuda;
  }
  throw error(errc::invalid_argument, "gpuhist_options.engine: no such engine");
}

// A caller that was compiled with an older header has a smaller structure: later fields have their defaults.
gpuhist::counting_options options_of(const gpuhist_options* options) {
  gpuhist::counting_options made;
  if (options == nullptr) return made;
  gpuhist_options known{};
  if (options->size < sizeof(known.size)) throw error(errc::invalid_argument, "gpuhist_options.size is not set");
  std::memcpy(&known, options, std::min(options->size, sizeof(known)));
  if (known.scheme_count > 0) {
    const char* const* const names = &given(known.schemes, "gpuhist_options.schemes");
    made.schemes.clear();
    for (std::size_t i = 0; i < known.scheme_count; ++i) made.schemes.emplace_back(&given(names[i], "a scheme"));
  }
  made.ignore_case = known.ignore_case != 0;
  made.byte_counts = known.byte_counts != 0;
  made.counting_engine = engine_of(known.engine);
  made.threads = known.threads;
  if (known.memory_limit > 0) made.memory_limit = known.memory_limit;
  return made;
}

std::span<const std::byte> span_of(const void* bytes, std::size_t size) {
  if (size > 0) static_cast<void>(given(static_cast<const std::byte*>(bytes), "bytes"));
  return {static_cast<const std::byte*>(bytes), size};
}

const std::vector<std::string>& buckets_of(const gpuhist_results& results, const char* scheme) {
  const std::string name(&given(scheme, "scheme"));
  const auto known = results.buckets.find(name);
  if (known != results.buckets.end()) return known->second;
  return results.buckets.emplace(name, results.counted.buckets(name)).first->second;
}

void copy_counts(const std::vector<std::uint64_t>& from, std::uint64_t* to, std::size_t room) {
  if (room < from.size()) {
    throw error(errc::invalid_argument,
                "there is room for " + std::to_string(room) + " of " + std::to_string(from.size()) + " counts");
  }
  std::ranges::copy(from, &given(to, "counts"));
}

}  // namespace

extern "C" {

const char* gpuhist_version(void) { return GPUHIST_VERSION; }

int gpuhist_abi_version(void) { return GPUHIST_ABI_VERSION; }

const char* gpuhist_error_text(void) { return failure.shown; }

gpuhist_status gpuhist_counter_create(const gpuhist_options* options, gpuhist_counter** made) {
  return guarded([&] {
    given(made, "made") = nullptr;
    *made = new gpuhist_counter{gpuhist::counter(options_of(options))};
  });
}

void gpuhist_counter_destroy(gpuhist_counter* counter) { delete counter; }

gpuhist_status gpuhist_counter_cancel(gpuhist_counter* counter) {
  return guarded([&] { given(counter, "counter").counts.cancel(); });
}

gpuhist_status gpuhist_counter_snapshot(gpuhist_counter* counter, gpuhist_results** made) {
  return guarded([&] {
    given(made, "made") = nullptr;
    *made = new gpuhist_results(given(counter, "counter").counts.snapshot());
  });
}

gpuhist_status gpuhist_counter_finish(gpuhist_counter* counter, gpuhist_results** made) {
  return guarded([&] {
    given(made, "made") = nullptr;
    *made = new gpuhist_results(given(counter, "counter").counts.finish());
  });
}

gpuhist_status gpuhist_input_open(gpuhist_counter* counter, const char* name, gpuhist_input** made) {
  return guarded([&] {
    given(made, "made") = nullptr;
    *made = new gpuhist_input{given(counter, "counter").counts.open_input(&given(name, "name"))};
  });
}

void gpuhist_input_destroy(gpuhist_input* input) { delete input; }

gpuhist_status gpuhist_input_feed(gpuhist_input* input, const void* bytes, size_t size) {
  return guarded([&] { given(input, "input").fed.feed(span_of(bytes, size)); });
}

gpuhist_status gpuhist_input_feed_borrowed(gpuhist_input* input, const void* bytes, size_t size,
                                           void (*release)(void* context), void* context) {
  const auto release_once = [release, context] {
    if (release != nullptr) release(context);
  };
  bool is_passed_on = false;  // then the library releases the bytes, also if it throws
  const gpuhist_status status = guarded([&] {
    gpuhist::input& fed = given(input, "input").fed;
    const auto text = span_of(bytes, size);
    std::function<void()> call = release_once;
    is_passed_on = true;
    fed.feed_borrowed(text, std::move(call));
  });
  if (!is_passed_on) release_once();
  return status;
}

gpuhist_status gpuhist_input_finish(gpuhist_input* input) {
  return guarded([&] { given(input, "input").fed.finish(); });
}

gpuhist_status gpuhist_input_fail(gpuhist_input* input, const char* cause) {
  return guarded([&] { given(input, "input").fed.fail(&given(cause, "cause")); });
}

void gpuhist_results_destroy(gpuhist_results* results) { delete results; }

int gpuhist_results_complete(const gpuhist_results* results) {
  return results != nullptr && results->counted.complete() ? 1 : 0;
}

uint64_t gpuhist_results_bytes(const gpuhist_results* results) {
  return results == nullptr ? 0 : results->counted.bytes();
}

uint64_t gpuhist_results_lines(const gpuhist_results* results) {
  return results == nullptr ? 0 : results->counted.lines();
}

size_t gpuhist_results_inputs(const gpuhist_results* results) {
  return results == nullptr ? 0 : results->counted.inputs();
}

gpuhist_status gpuhist_results_input(const gpuhist_results* results, size_t number, gpuhist_input_result* found) {
  return guarded([&] {
    const gpuhist_results& from = given(results, "results");
    const std::size_t room = given(found, "found").size;
    if (room < sizeof(found->size)) throw error(errc::invalid_argument, "gpuhist_input_result.size is not set");
    auto known = from.inputs.find(number);
    if (known == from.inputs.end()) known = from.inputs.emplace(number, from.counted.input(number)).first;
    const gpuhist::input_result& input = known->second;
    const gpuhist_input_result all{.size = room,
                                   .name = input.name.c_str(),
                                   .format = input.format.c_str(),
                                   .error = input.error.c_str(),
                                   .bytes = input.bytes,
                                   .lines = input.lines,
                                   .unverified_bytes = input.unverified_bytes,
                                   .complete = input.complete ? 1 : 0};
    std::memcpy(found, &all, std::min(room, sizeof(all)));
  });
}

gpuhist_status gpuhist_results_buckets(const gpuhist_results* results, const char* scheme, size_t* buckets) {
  return guarded([&] { given(buckets, "buckets") = buckets_of(given(results, "results"), scheme).size(); });
}

gpuhist_status gpuhist_results_bucket_name(const gpuhist_results* results, const char* scheme, size_t bucket,
                                           const char** name) {
  return guarded([&] {
    const std::vector<std::string>& all = buckets_of(given(results, "results"), scheme);
    if (bucket >= all.size()) throw error(errc::invalid_argument, "there is no bucket " + std::to_string(bucket));
    given(name, "name") = all[bucket].c_str();
  });
}

gpuhist_status gpuhist_results_counts(const gpuhist_results* results, const char* scheme, uint64_t* counts,
                                      size_t room) {
  return guarded(
      [&] { copy_counts(given(results, "results").counted.counts(&given(scheme, "scheme")), counts, room); });
}

gpuhist_status gpuhist_results_input_counts(const gpuhist_results* results, size_t number, const char* scheme,
                                            uint64_t* counts, size_t room) {
  return guarded(
      [&] { copy_counts(given(results, "results").counted.counts(&given(scheme, "scheme"), number), counts, room); });
}

gpuhist_status gpuhist_results_json(gpuhist_results* results, const char** json) {
  return guarded([&] {
    gpuhist_results& from = given(results, "results");
    if (!from.json) from.json = from.counted.to_json();
    given(json, "json") = from.json->c_str();
  });
}

}  // extern "C"
