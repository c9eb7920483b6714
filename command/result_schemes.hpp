// The schemes of results, which are read before their counts.
#pragma once

#include "config/scheme.hpp"
#include "report/formats/result_lines.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::command {

/// How the counts of one result are divided.
struct scheme_names {
  std::string result;                                         ///< the name of its file
  std::map<std::string, std::vector<std::string>> buckets{};  ///< of each scheme, in byte order
  std::map<std::string, std::string> members{};               ///< hash_of_members() of schemes; not in older ones
  bool lists_byte_counts = false;                             ///< --byte-counts
  bool has_byte_counts = false;                               ///< the counts of all byte values can be read
  bool ignore_case = false;
  report::reading_options reading{};  ///< of lines

  /// "letters, classes (with --ignore-case)", for messages.
  [[nodiscard]] std::string text() const;
};

/// That of each result in the file: documents of the kind "result". Damaged ones are left out. Throws std::system_error
/// if the file cannot be read.
std::vector<scheme_names> schemes_in(const std::string& path);

/// Throws config::usage_error that names two results whose lines were read with other options: they cannot be added.
void refuse_other_reading(const std::vector<scheme_names>& results);

/// How the sum of results is divided.
struct shared_schemes {
  std::vector<config::scheme> schemes;
  bool have_byte_counts = false;  ///< all results; not if there is none
  bool ignore_case = false;
};

/// Throws config::usage_error that names the result and the scheme if one of the schemes has the name of another one in
/// a result. For counts that are read by buckets.
void refuse_other_members(const std::vector<scheme_names>& results, const std::vector<config::scheme>& schemes);

/// The schemes by which the sum of the results is reported: those in `typed`, or if it is empty those of all results.
/// Throws config::usage_error that names two results whose schemes differ, or a scheme whose definition is not known.
shared_schemes common_schemes(const std::vector<scheme_names>& results, const std::vector<std::string>& typed);

}  // namespace gpuhist::command
