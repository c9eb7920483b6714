// One flat JSON object for each row of a result, as a line of JSON or of CSV with the same columns.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace gpuhist::bench {

using flat_row = nlohmann::ordered_json;

std::string json_line(const flat_row& row);

/// The heading: the names of the members.
std::string csv_names(const flat_row& row);
/// The values; null is an empty cell.
std::string csv_values(const flat_row& row);

}  // namespace gpuhist::bench
