// The objects of schema gpuhist.result/1 that the JSON formats share.
#pragma once

#include "pipeline/report/formats/report.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Adds "lines", "buckets" and, for a result with `byte_counts`, the 256 counts.
void add_counts(nlohmann::ordered_json& to, const report& content, const gpu::tally& counts);

inline constexpr std::string_view result_schema = "gpuhist.result/1";

/// The first fields of every document: its kind, the schema and, if not empty, the run.
nlohmann::ordered_json beginning_of(std::string_view kind, std::string_view run);

/// A result with its totals, without inputs and statistics.
nlohmann::ordered_json totals_as_json(const report& content, std::string_view run);

/// An input of a result.
nlohmann::ordered_json input_as_json(const report& content, const input_report& input);

/// A number in its shortest form; a whole number has no fraction.
nlohmann::ordered_json json_number(double value);

/// The object "measures": name -> value, sample_size and, if they apply, reason and baseline_size.
nlohmann::ordered_json measures_as_json(const std::vector<measures::measurement>& measurements);

/// Writes a snapshot with the prefixes of its inputs: one line.
void write_snapshot(const report& content, std::string_view run, const text_sink& out);

/// Writes one line: an object with the members of `before`, a list "inputs" whose elements `input_to_json` makes, and
/// the members of `after`.
void write_with_inputs(const nlohmann::ordered_json& before, const report& content,
                       nlohmann::ordered_json (*input_to_json)(const report&, const input_report&),
                       const nlohmann::ordered_json& after, const text_sink& out);

/// The text of a value, in one line. Bytes that are not UTF-8 become U+FFFD.
std::string text_of(const nlohmann::ordered_json& value);

/// One line with its line end. Bytes that are not UTF-8 become U+FFFD; `name_base64` has the exact bytes of a name.
std::string as_line(const nlohmann::ordered_json& object);

}  // namespace gpuhist::pipeline
