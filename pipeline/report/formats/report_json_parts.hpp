// What the JSON formats are made of: the objects of schema gpuhist.result/1.
#pragma once

#include "pipeline/report/formats/report.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Adds "lines" and "buckets", and of a result the 256 counts where they are kept.
void add_counts(nlohmann::ordered_json& to, const report& content, const gpu::tally& counts);

/// What every document begins with: its kind, the schema and, unless that is empty, the run.
nlohmann::ordered_json beginning_of(std::string_view kind, std::string_view run);

/// A result with its totals, but neither inputs nor statistics.
nlohmann::ordered_json totals_as_json(const report& content, std::string_view run);

/// An input of a result.
nlohmann::ordered_json input_as_json(const report& content, const input_report& input);

/// A number in its shortest form; a whole one without a fraction.
nlohmann::ordered_json json_number(double value);

/// The object "measures": name -> value, sample_size and, where they apply, reason and baseline_size.
nlohmann::ordered_json measures_as_json(const std::vector<measures::measurement>& taken);

/// A snapshot, with the prefixes of its inputs: one line.
void write_snapshot(const report& content, std::string_view run, const text_sink& out);

/// One line: the object `before`, in it as "inputs" what `one` makes of each of them, and the members of `behind`.
void write_with_inputs(const nlohmann::ordered_json& before, const report& content,
                       nlohmann::ordered_json (*one)(const report&, const input_report&),
                       const nlohmann::ordered_json& behind, const text_sink& out);

/// One line with its end. What is no UTF-8 becomes U+FFFD; of names `name_base64` has the truth.
std::string as_line(const nlohmann::ordered_json& object);

}  // namespace gpuhist::pipeline
