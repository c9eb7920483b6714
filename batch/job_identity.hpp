// What recorded counts mean, derived from the plan of the run: in the header of the journals of a job, and in the lines
// of a result. Counts are added only if nothing in it differs.
#pragma once

#include "config/options.hpp"
#include "library/counting_plan.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::batch {

struct job_identity {
  std::string manifest;                                                ///< manifest::identity
  config::shard_choice shard;                                          ///< 0 of 0: the whole manifest
  nlohmann::ordered_json counts;                                       ///< counts_of(), and what only jobs have
  std::map<std::string, std::vector<std::string>, std::less<>> given;  ///< the options that led to it, as typed
};

/// By name, everything in the plan that determines counts and their reports. The names of options are theirs.
nlohmann::ordered_json counts_of(const library::counting_plan& planned);

/// The part of counts_of() that decides which text is read and which units are selected, and whether a filter keeps
/// them. Equal: equal outputs of a filter, for equal inputs.
nlohmann::ordered_json texts_of(const library::counting_plan& planned);

/// A line for each name with two values: "\n  --utf8: not given, instead of true". Empty: there is none.
std::string differences_of_counts(const nlohmann::ordered_json& recorded, const nlohmann::ordered_json& now);

/// The identity of a job with this plan, which `typed` led to.
job_identity identity_of(const library::counting_plan& planned, const config::options& typed, std::string manifest,
                         config::shard_choice shard);

/// One line without its line end.
std::string header_of(const job_identity& job);

/// Nothing if the line is not a header of this version.
std::optional<job_identity> identity_in(std::string_view header);

/// The options that led to it. Throws config::usage_error: of another version.
config::options options_of(const job_identity& job);

/// A line for each difference that makes counts incompatible: "--fail-if: not given, instead of ["entropy > 7"]".
/// Empty: there is none. Conditions may differ, as long as they need the same counts.
std::string differences(const job_identity& recorded, const job_identity& job);

/// Throws std::runtime_error with the differences if the file, which has this header, is not of the job.
void refuse_other_job(const std::string& path, std::string_view header, const job_identity& job);

/// The same for what a merge computes from the recorded options: not what only reading depends on.
void refuse_other_plan(const std::string& path, const job_identity& recorded, const library::counting_plan& planned);

}  // namespace gpuhist::batch
