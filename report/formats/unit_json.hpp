// The units of a run in the JSON formats.
#pragma once

#include "report/formats/report.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace gpuhist::pipeline {

/// The object "units" of a result.
nlohmann::ordered_json units_as_json(const report& content, const units::unit_result& found);

}  // namespace gpuhist::pipeline
