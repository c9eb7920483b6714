// One JSON document of schema gpuhist.result/1, read back into counts of the 256 byte values, with nothing taken on
// trust: what does not add up is damaged.
#pragma once

#include "pipeline/report/formats/report.hpp"

#include <nlohmann/json.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

/// What is wrong with a document, in words that follow the name of its file.
struct result_damage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the counts must be fit for.
enum class letter_case { exact, ignored };

/// Throws result_damage where it is no document of the schema.
void check_schema(const nlohmann::json& document);

/// Its kind: result, input, snapshot, ... .
std::string kind_of(const nlohmann::json& document);

/// The run that a line says it is of; empty where it does not say. Throws result_damage.
std::string run_of(const nlohmann::json& document);

/// An input: a line of its own, or an element of `inputs`. Counts are the kept byte counts or, where there are none,
/// those by the scheme `bytes`; `folded` says that these were taken without regard to case. Throws result_damage.
input_report read_input(const nlohmann::json& document, letter_case wanted, bool folded);

/// Whether the counts by bucket were taken without regard to case.
bool is_folded(const nlohmann::json& document);

/// The totals of a result, without its inputs. The partition is the identity. Throws result_damage.
report read_totals(const nlohmann::json& document, letter_case wanted);

/// Whether counts of the input are those by the scheme `bytes`, so that `folded` matters to them.
bool is_by_scheme(const nlohmann::json& input);

/// Throws result_damage where the totals are not the sums of the inputs.
void check_sums(const report& totals, const gpu::tally& verified, const gpu::tally& unverified);

}  // namespace gpuhist::pipeline
