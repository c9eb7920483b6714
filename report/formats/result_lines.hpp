// Reads what a document of kind result has of lines: matches, groups and windows of event time.
#pragma once

#include "report/formats/result_document.hpp"
#include "report/units/unit_result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::report {

/// The options by which lines were read. Results are added only if theirs are equal.
struct reading_options {
  std::map<std::string, std::string> values{};  ///< by the name of the option; empty: nothing was read
  std::optional<std::map<std::string, std::string>> expressions{};  ///< by name; nothing: not in older results
  std::int64_t window = 0;                                          ///< nanoseconds of a window of event time; 0: none

  /// Those of a result. Throws result_damage.
  static reading_options in(const nlohmann::json& document);

  /// "--group-by status instead of host"; empty: the results can be added. Lengths of windows may differ if one divides
  /// the other.
  [[nodiscard]] std::string difference_from(const reading_options& other) const;

  /// In the order of the names; of older results none.
  [[nodiscard]] std::vector<std::string> names_of_expressions() const;

  /// Those of the sum with a result that does not differ.
  void add(const reading_options& more);
};

/// Whether groups or windows lack the counts of bytes that are wanted, as those of older versions do.
bool lacks_counts_of_groups(const nlohmann::json& document, const wanted_counts& wanted);

/// Whether the result has groups of lines, or numbers of matches.
bool has_lines(const nlohmann::json& document);

/// Nothing: there are no units. Without groups: nothing was read of lines. Of the units it has their numbers, rules and
/// distribution. Throws result_damage.
std::optional<units::unit_result> read_lines(const nlohmann::json& document, const wanted_counts& wanted);

}  // namespace gpuhist::report
