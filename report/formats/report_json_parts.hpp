// The objects of schema gpuhist.result/1 that the JSON formats share.
#pragma once

#include "report/formats/member_writer.hpp"
#include "report/formats/report.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

inline constexpr std::string_view result_schema = "gpuhist.result/1";

/// Adds "lines", "buckets" and, for a result with `byte_counts`, the 256 counts.
void add_counts(member_writer& to, const report& content, const gpu::tally& counts);

/// Adds "name" and, if it is not UTF-8, "name_base64", which has the exact bytes.
void add_name(member_writer& to, const std::string& name);

/// Adds the first members of every document: its kind, the schema and, if not empty, the run.
void add_beginning(member_writer& to, std::string_view kind, std::string_view run);

/// A hash of the buckets of a scheme and their members, 16 hexadecimal digits, as in `scheme_members`: schemes of one
/// name with other members differ.
std::string hash_of_members(const config::scheme& of);

/// Adds the members of a result with its totals, without inputs and statistics.
void add_totals(member_writer& to, const report& content, std::string_view run);

/// Adds the members of an input of a result.
void add_input(member_writer& to, const report& content, const input_report& input);

/// The object of an input of a result.
std::string input_text(const report& content, const input_report& input);

/// The object "measures": name -> value, sample_size and, if they apply, reason and baseline_size.
nlohmann::ordered_json measures_as_json(const std::vector<measures::measurement>& measurements);

/// One line with its line end. Bytes that are not UTF-8 become U+FFFD; `name_base64` has the exact bytes of a name.
std::string as_line(const nlohmann::ordered_json& object);

/// Writes a snapshot with the prefixes of its inputs: one line.
void write_snapshot(const report& content, std::string_view run, const text_sink& out);

/// Writes the member "inputs" after others: a list whose elements `text_of_input` makes.
void write_inputs(const report& content, std::string (*text_of_input)(const report&, const input_report&),
                  const text_sink& out);

}  // namespace gpuhist::pipeline
