// The C interface of counters and files: a translation of counter.hpp and files.hpp.
#include "library/c_interface.hpp"

#include "gpuhist/counter.hpp"
#include "gpuhist/files.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <type_traits>
#include <utility>

#ifndef GPUHIST_VERSION
#define GPUHIST_VERSION "0.0.0"
#endif

struct gpuhist_counter {
  gpuhist::counter counts;
  std::stop_source stop;  // cancels it
};

struct gpuhist_input {
  gpuhist::input fed;
};

struct gpuhist_buffer {
  gpuhist::lent_buffer lent;
};

namespace gpuhist::c_interface {
namespace {

static_assert(sizeof(void*) != sizeof(std::uint64_t) || std::has_unique_object_representations_v<gpuhist_input_options>,
              "the structure has no padding");

// Of this thread. An array has no destructor, so that destructors of other variables of the thread may use it.
constexpr std::size_t error_bytes = 512;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local std::array<char, error_bytes> error_text{};

// The structure of the caller. Fields that the caller does not know are zero. Throws errc::invalid_argument for a size
// that no structure can have, as if it was not set, and for a field that this library does not know.
gpuhist_input_options known_part(const gpuhist_input_options& from) {
  constexpr std::size_t largest = 4096;
  if (from.size < sizeof(std::size_t) || from.size > largest) {
    throw error(errc::invalid_argument,
                "gpuhist_input_options.size is not set to the size of the structure, but " + std::to_string(from.size));
  }
  gpuhist_input_options known{};
  std::memcpy(&known, &from, std::min(from.size, sizeof(known)));
  if (from.size <= sizeof(known)) return known;
  const std::span unknown(reinterpret_cast<const std::byte*>(&from) + sizeof(known), from.size - sizeof(known));
  if (std::ranges::all_of(unknown, [](std::byte each) { return each == std::byte{0}; })) return known;
  throw error(errc::invalid_argument,
              "gpuhist_input_options: a field is set that this version of the library (" GPUHIST_VERSION
              ") does not have");
}

input_options input_options_of(const gpuhist_input_options* options, const std::stop_source& stop) {
  input_options made;
  if (options == nullptr) return made;
  const gpuhist_input_options known = known_part(*options);
  if (known.format != nullptr) made.format = known.format;
  made.max_output = known.max_output;
  if (known.on_kept == nullptr) return made;
  made.on_kept = [stop = std::stop_source(stop), known](std::span<const std::byte> text) mutable {
    const auto call = [&] { return known.on_kept(known.kept_context, text.data(), text.size()); };
    if (call_back("gpuhist_input_options.on_kept", call) != 0) stop.request_stop();
  };
  return made;
}

counting_options counting_options_of(const gpuhist_options& options) {
  if (options.on_text) throw error(errc::invalid_argument, "gpuhist_options_on_text: only for gpuhist_count_file");
  return options.named.counting();
}

bool has_filter(const counting_options& options) { return options.units && options.units->filter != unit_filter::none; }

file_options file_options_of(const char* path, const gpuhist_options& options, const std::stop_source& stop) {
  file_options made = options.named.files();
  made.inputs = {path};
  made.counting.stop = stop.get_token();
  if (has_filter(made.counting) && !made.pass_through) {
    made.pass_through = pass_through_options{.forwarded = pass_through_options::content::text};
  }
  if (made.pass_through.has_value() != static_cast<bool>(options.on_text)) {
    throw error(errc::invalid_argument,
                made.pass_through ? "gpuhist_options_on_text: --keep-if, --drop-if and --pass-through need it"
                                  : "gpuhist_options_on_text: requires --keep-if, --drop-if or --pass-through");
  }
  if (!made.pass_through) return made;
  made.pass_through->sink = [stop = std::stop_source(stop), on_text = options.on_text,
                             has_ended = false](std::span<const std::byte> text) mutable {
    if (has_ended) return;
    has_ended = call_back("gpuhist_options_on_text", [&] { return on_text(text.data(), text.size()); }) != 0;
    if (has_ended) stop.request_stop();
  };
  return made;
}

std::span<const std::byte> span_of(const void* bytes, std::size_t size) {
  if (size > 0) static_cast<void>(given(static_cast<const std::byte*>(bytes), "bytes"));
  return {static_cast<const std::byte*>(bytes), size};
}

counter& counter_of(gpuhist_counter* handle) { return given(handle, "counter").counts; }

}  // namespace

gpuhist_status note_failure(gpuhist_status status, const char* text) noexcept {
  const std::size_t size = std::min(std::strlen(text), error_bytes - 1);
  std::memmove(error_text.data(), text, size);
  error_text.at(size) = '\0';
  return status;
}

gpuhist_status status_of(errc kind) noexcept {
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
    case errc::callback:
      return GPUHIST_CALLBACK;
    case errc::internal:
      break;
  }
  return GPUHIST_INTERNAL;
}

void copy_counts(const std::vector<std::uint64_t>& from, std::uint64_t* to, std::size_t room) {
  if (room < from.size()) {
    throw error(errc::invalid_argument,
                "there is room for " + std::to_string(room) + " of " + std::to_string(from.size()) + " counts");
  }
  std::ranges::copy(from, &given(to, "counts"));
}

}  // namespace gpuhist::c_interface

using gpuhist::c_interface::counter_of;
using gpuhist::c_interface::counting_options_of;
using gpuhist::c_interface::error_text;
using gpuhist::c_interface::events_of;
using gpuhist::c_interface::file_events_of;
using gpuhist::c_interface::file_options_of;
using gpuhist::c_interface::given;
using gpuhist::c_interface::guarded;
using gpuhist::c_interface::input_options_of;
using gpuhist::c_interface::span_of;

extern "C" {

const char* gpuhist_version(void) { return GPUHIST_VERSION; }

int32_t gpuhist_abi_version(void) { return GPUHIST_ABI_VERSION; }

const char* gpuhist_error_text(void) { return error_text.data(); }

int32_t gpuhist_must_end_at_once(void) { return gpuhist::must_end_at_once() ? 1 : 0; }

gpuhist_status gpuhist_counter_create(const gpuhist_options* options, gpuhist_counter** made) {
  return guarded([&] {
    given(made, "made") = nullptr;
    const gpuhist_options known = options == nullptr ? gpuhist_options{} : *options;
    const std::stop_source stop;
    gpuhist::counting_options counting = counting_options_of(known);
    counting.stop = stop.get_token();
    *made = new gpuhist_counter{.counts = gpuhist::counter(counting, events_of(known, stop)), .stop = stop};
  });
}

void gpuhist_counter_destroy(gpuhist_counter* counter) { delete counter; }

gpuhist_status gpuhist_counter_cancel(gpuhist_counter* counter) {
  return guarded([&] { counter_of(counter).cancel(); });
}

gpuhist_status gpuhist_counter_snapshot(gpuhist_counter* counter, gpuhist_results** made) {
  return guarded([&] {
    given(made, "made") = nullptr;
    *made = new gpuhist_results(counter_of(counter).snapshot());
  });
}

gpuhist_status gpuhist_counter_finish(gpuhist_counter* counter, gpuhist_results** made) {
  return guarded([&] {
    given(made, "made") = nullptr;
    *made = new gpuhist_results(counter_of(counter).finish());
  });
}

gpuhist_status gpuhist_input_open(gpuhist_counter* counter, const char* name, gpuhist_input** made) {
  return gpuhist_input_open_with(counter, name, nullptr, made);
}

gpuhist_status gpuhist_input_open_with(gpuhist_counter* counter, const char* name, const gpuhist_input_options* options,
                                       gpuhist_input** made) {
  return guarded([&] {
    given(made, "made") = nullptr;
    const gpuhist::input_options known = input_options_of(options, given(counter, "counter").stop);
    *made = new gpuhist_input{counter_of(counter).open_input(&given(name, "name"), known)};
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
  if (is_passed_on) return status;
  try {
    release_once();
  } catch (...) {
    return status;  // of the call
  }
  return status;
}

gpuhist_status gpuhist_input_lend(gpuhist_input* input, size_t wanted, gpuhist_buffer** made, void** bytes,
                                  size_t* size) {
  return guarded([&] {
    given(made, "made") = nullptr;
    void*& bytes_of_buffer = given(bytes, "bytes");
    std::size_t& size_of_buffer = given(size, "size");
    auto handle = std::make_unique<gpuhist_buffer>(gpuhist_buffer{given(input, "input").fed.lend(wanted)});
    bytes_of_buffer = handle->lent.bytes().data();
    size_of_buffer = handle->lent.bytes().size();
    *made = handle.release();
  });
}

gpuhist_status gpuhist_buffer_commit(gpuhist_buffer* buffer, size_t filled) {
  bool is_used = false;
  const gpuhist_status status = guarded([&] {
    gpuhist::lent_buffer& lent = given(buffer, "buffer").lent;
    is_used = filled <= lent.bytes().size();
    lent.commit(filled);
  });
  if (is_used) delete buffer;
  return status;
}

void gpuhist_buffer_destroy(gpuhist_buffer* buffer) { delete buffer; }

gpuhist_status gpuhist_input_finish(gpuhist_input* input) {
  return guarded([&] { given(input, "input").fed.finish(); });
}

gpuhist_status gpuhist_input_fail(gpuhist_input* input, const char* cause) {
  return guarded([&] { given(input, "input").fed.fail(&given(cause, "cause")); });
}

gpuhist_status gpuhist_input_failed(gpuhist_input* input, int32_t* failed) {
  return guarded([&] { given(failed, "failed") = given(input, "input").fed.failed() ? 1 : 0; });
}

gpuhist_status gpuhist_count_file(const char* path, const gpuhist_options* options, gpuhist_results** made) {
  return guarded([&] {
    given(made, "made") = nullptr;
    const gpuhist_options known = options == nullptr ? gpuhist_options{} : *options;
    const std::stop_source stop;
    const gpuhist::file_options counted = file_options_of(&given(path, "path"), known, stop);
    *made = new gpuhist_results(gpuhist::count_files(counted, file_events_of(known, stop)).result);
  });
}

}  // extern "C"
