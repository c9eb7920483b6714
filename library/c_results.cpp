// The C interface of results: a translation of results.hpp.
#include "library/c_interface.hpp"

namespace gpuhist::c_interface {
namespace {

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
using gpuhist::c_interface::json_of;
using gpuhist::c_interface::status_of;

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

}  // extern "C"
