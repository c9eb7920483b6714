// The C interface of results and windows: a translation of results.hpp.
#include "library/c_results.hpp"

#include "library/c_calls.hpp"

namespace gpuhist::c_interface {
namespace {

std::int32_t number_of(failure kind) {
  switch (kind) {
    case failure::none:
      return GPUHIST_FAILURE_NONE;
    case failure::not_read:
      return GPUHIST_FAILURE_NOT_READ;
    case failure::stopped:
      return GPUHIST_FAILURE_STOPPED;
    case failure::unreadable:
      return GPUHIST_FAILURE_UNREADABLE;
    case failure::damaged:
      return GPUHIST_FAILURE_DAMAGED;
    case failure::refused:
      return GPUHIST_FAILURE_REFUSED;
    case failure::out_of_memory:
      return GPUHIST_FAILURE_OUT_OF_MEMORY;
    case failure::not_counted:
      return GPUHIST_FAILURE_NOT_COUNTED;
    case failure::unknown:
      break;
  }
  return GPUHIST_FAILURE_UNKNOWN;
}

std::int32_t number_of(input_notice::kind kind) {
  switch (kind) {
    case input_notice::kind::name_differs:
      return GPUHIST_NOTICE_NAME_DIFFERS;
    case input_notice::kind::unknown_compression:
      return GPUHIST_NOTICE_UNKNOWN_COMPRESSION;
    case input_notice::kind::no_end_marker:
      return GPUHIST_NOTICE_NO_END_MARKER;
    case input_notice::kind::trailing_data:
      return GPUHIST_NOTICE_TRAILING_DATA;
    case input_notice::kind::no_end_blocks:
      return GPUHIST_NOTICE_NO_END_BLOCKS;
    case input_notice::kind::unknown:
      break;
  }
  return GPUHIST_NOTICE_UNKNOWN;
}

std::int32_t number_of(window::end reason) {
  switch (reason) {
    case window::end::full:
      return GPUHIST_WINDOW_FULL;
    case window::end::input:
      return GPUHIST_WINDOW_INPUT_ENDED;
    case window::end::error:
      break;
  }
  return GPUHIST_WINDOW_ERROR;
}

const input_result& input_of(const gpuhist_results& results, std::size_t number) {
  const std::scoped_lock lock(results.mutex);
  const auto known = results.inputs.find(number);
  if (known != results.inputs.end()) return known->second;
  return results.inputs.emplace(number, results.counted.input(number)).first->second;
}

const std::vector<std::string>& buckets_of(const gpuhist_results& results, const char* scheme) {
  const std::string name(&given(scheme, "scheme"));
  const std::scoped_lock lock(results.mutex);
  const auto known = results.buckets.find(name);
  if (known != results.buckets.end()) return known->second;
  return results.buckets.emplace(name, results.counted.buckets(name)).first->second;
}

const std::string& json_of(const gpuhist_results& results) {
  const std::scoped_lock lock(results.mutex);
  if (!results.json) results.json = results.counted.to_json();
  return *results.json;
}

}  // namespace
}  // namespace gpuhist::c_interface

using gpuhist::c_interface::buckets_of;
using gpuhist::c_interface::copy_counts;
using gpuhist::c_interface::given;
using gpuhist::c_interface::guarded;
using gpuhist::c_interface::input_of;
using gpuhist::c_interface::json_of;
using gpuhist::c_interface::number_of;
using gpuhist::c_interface::status_of;
using gpuhist::c_interface::write_known;

extern "C" {

void gpuhist_results_destroy(gpuhist_results* results) { delete results; }

int32_t gpuhist_results_complete(const gpuhist_results* results) {
  return results != nullptr && results->counted.complete() ? 1 : 0;
}

const char* gpuhist_results_error(const gpuhist_results* results) {
  return results == nullptr ? "" : results->error.c_str();
}

gpuhist_status gpuhist_results_failure(const gpuhist_results* results) {
  if (results == nullptr || !results->counted.error_kind()) return GPUHIST_OK;
  return status_of(*results->counted.error_kind());
}

uint64_t gpuhist_results_bytes(const gpuhist_results* results) {
  return results == nullptr ? 0 : results->counted.bytes();
}

uint64_t gpuhist_results_lines(const gpuhist_results* results) {
  return results == nullptr ? 0 : results->counted.lines();
}

uint64_t gpuhist_results_unverified_bytes(const gpuhist_results* results) {
  return results == nullptr ? 0 : results->counted.unverified_bytes();
}

size_t gpuhist_results_inputs(const gpuhist_results* results) {
  return results == nullptr ? 0 : results->counted.inputs();
}

size_t gpuhist_results_schemes(const gpuhist_results* results) {
  return results == nullptr ? 0 : results->schemes.size();
}

gpuhist_status gpuhist_results_scheme_name(const gpuhist_results* results, size_t scheme, const char** name) {
  return guarded([&] {
    const std::vector<std::string>& all = given(results, "results").schemes;
    if (scheme >= all.size()) {
      throw gpuhist::error(gpuhist::errc::invalid_argument, "there is no scheme " + std::to_string(scheme));
    }
    given(name, "name") = all[scheme].c_str();
  });
}

gpuhist_status gpuhist_results_input(const gpuhist_results* results, size_t number, gpuhist_input_result* found) {
  return guarded([&] {
    gpuhist_input_result& to = given(found, "found");
    const gpuhist::input_result& input = input_of(given(results, "results"), number);
    write_known({.size = 0,
                 .name = input.name.c_str(),
                 .format = input.format.c_str(),
                 .error = input.error.c_str(),
                 .bytes = input.bytes,
                 .lines = input.lines,
                 .unverified_bytes = input.unverified_bytes,
                 .complete = input.complete ? 1 : 0,
                 .failure = number_of(input.kind),
                 .compressed_bytes = input.compressed_bytes.value_or(0),
                 .notices = input.notices.size()},
                to, "gpuhist_input_result");
  });
}

gpuhist_status gpuhist_results_notice(const gpuhist_results* results, size_t number, size_t notice, int32_t* kind,
                                      const char** text) {
  return guarded([&] {
    const std::vector<gpuhist::input_notice>& all = input_of(given(results, "results"), number).notices;
    if (notice >= all.size()) {
      throw gpuhist::error(gpuhist::errc::invalid_argument, "there is no notice " + std::to_string(notice));
    }
    given(kind, "kind") = number_of(all[notice].type);
    given(text, "text") = all[notice].text.c_str();
  });
}

gpuhist_status gpuhist_results_buckets(const gpuhist_results* results, const char* scheme, size_t* buckets) {
  return guarded([&] { given(buckets, "buckets") = buckets_of(given(results, "results"), scheme).size(); });
}

gpuhist_status gpuhist_results_bucket_name(const gpuhist_results* results, const char* scheme, size_t bucket,
                                           const char** name) {
  return guarded([&] {
    const std::vector<std::string>& all = buckets_of(given(results, "results"), scheme);
    if (bucket >= all.size()) {
      throw gpuhist::error(gpuhist::errc::invalid_argument, "there is no bucket " + std::to_string(bucket));
    }
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

gpuhist_status gpuhist_results_pairs(const gpuhist_results* results, const char* scheme, uint64_t* counts,
                                     size_t room) {
  return guarded([&] { copy_counts(given(results, "results").counted.pairs(&given(scheme, "scheme")), counts, room); });
}

gpuhist_status gpuhist_results_input_pairs(const gpuhist_results* results, size_t number, const char* scheme,
                                           uint64_t* counts, size_t room) {
  return guarded(
      [&] { copy_counts(given(results, "results").counted.pairs(&given(scheme, "scheme"), number), counts, room); });
}

gpuhist_status gpuhist_results_json(const gpuhist_results* results, const char** json) {
  return guarded([&] {
    const std::string& text = json_of(given(results, "results"));
    given(json, "json") = text.c_str();
  });
}

gpuhist_status gpuhist_window_describe(const gpuhist_window* window, gpuhist_window_info* info) {
  return guarded([&] {
    gpuhist_window_info& to = given(info, "info");
    const gpuhist_window& from = given(window, "window");
    write_known({.size = 0,
                 .input = from.input.c_str(),
                 .last_input = from.last_input.c_str(),
                 .error = from.error.c_str(),
                 .index = from.closed.index(),
                 .first_offset = from.closed.first_offset(),
                 .end_offset = from.closed.end_offset(),
                 .bytes = from.closed.bytes(),
                 .lines = from.closed.lines(),
                 .end = number_of(from.closed.end_reason()),
                 .verified = from.closed.verified() ? 1 : 0},
                to, "gpuhist_window_info");
  });
}

gpuhist_status gpuhist_window_counts(const gpuhist_window* window, const char* scheme, uint64_t* counts, size_t room) {
  return guarded([&] { copy_counts(given(window, "window").closed.counts(&given(scheme, "scheme")), counts, room); });
}

gpuhist_status gpuhist_window_pairs(const gpuhist_window* window, const char* scheme, uint64_t* counts, size_t room) {
  return guarded([&] { copy_counts(given(window, "window").closed.pairs(&given(scheme, "scheme")), counts, room); });
}

}  // extern "C"
