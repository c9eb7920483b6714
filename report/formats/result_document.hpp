// Reads a JSON document of schema gpuhist.result/1 into counts of the 256 byte values. All values are checked: a
// document whose sums do not match is damaged.
#pragma once

#include "config/scheme.hpp"
#include "io/file_state.hpp"
#include "report/formats/bucket_counts.hpp"
#include "report/formats/document_members.hpp"
#include "report/formats/report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report {

/// Whether the counts must distinguish upper and lower case.
enum class letter_case { exact, ignored };

/// What writes results that can be read back.
inline constexpr std::string_view writer_of_results = "gpuhist --byte-counts --format json";

/// Whether what was read of lines is wanted: matches, groups, windows of event time.
enum class line_results { left_out, wanted };

/// The counts that are read from documents.
struct wanted_counts {
  letter_case letters = letter_case::exact;
  std::vector<config::scheme> pairs{};       ///< schemes whose pairs are wanted; a tally has them in this order
  const bucket_counts* by_bucket = nullptr;  ///< reads counts over another partition; borrowed; null: 256 values
  line_results lines = line_results::left_out;

  /// Implicit: without pairs.
  wanted_counts(letter_case wanted, std::vector<config::scheme> paired = {})
      : letters(wanted), pairs(std::move(paired)) {}

  /// The partition of the tallies.
  [[nodiscard]] gpu::partition counted() const {
    return by_bucket != nullptr ? by_bucket->partition() : gpu::partition::identity();
  }

  /// A tally of no text.
  [[nodiscard]] gpu::tally no_text() const;
};

/// Throws result_damage if it is not a document of the schema.
void check_schema(const nlohmann::json& document);

/// The kind of the document: result, input, snapshot, ...
std::string kind_of(const nlohmann::json& document);

/// The run that a line names; empty if it names none. Throws result_damage.
std::string run_of(const nlohmann::json& document);

/// The state of a file, as state_as_json() writes it. Throws nlohmann::json::exception.
template <typename json>
io::file_state state_from(const json& object) {
  return {.bytes = object.at("bytes").template get<std::uint64_t>(),
          .modified = object.at("modified").template get<std::int64_t>(),
          .fingerprint = object.value("fingerprint", std::string())};
}

/// Reads an input: a line of its own, or an element of `inputs`. The counts are "byte_counts" or, if these are absent,
/// the buckets of the scheme `bytes`. `folded`: these buckets ignore case. Throws result_damage.
pipeline::input_report read_input(const nlohmann::json& document, const wanted_counts& wanted, bool folded);

/// The counts of a group of lines, over the partition of `wanted` and without pairs. `folded`: as above. Throws
/// result_damage.
gpu::tally read_group_counts(const nlohmann::json& group, const wanted_counts& wanted, bool folded);

/// Whether the counts of buckets ignore case.
bool is_folded(const nlohmann::json& document);

/// Reads the totals of a result, without its inputs. The partition is the identity. Throws result_damage.
run_report read_totals(const nlohmann::json& document, const wanted_counts& wanted);

/// Whether counts of the input are buckets of the scheme `bytes`, which `folded` applies to.
bool is_by_scheme(const nlohmann::json& input);

/// Throws result_damage if the totals are not the sums of the inputs.
void check_sums(const run_report& totals, const gpu::tally& verified, const gpu::tally& unverified);

}  // namespace gpuhist::report
