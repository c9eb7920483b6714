// What the results of a job depend on, as one line: the header of its journals. Results with the same header can be
// added.
#pragma once

#include "config/options.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

struct job_identity {
  std::string manifest;        ///< manifest::identity
  config::shard_choice shard;  ///< 0 of 0: the whole manifest
  config::options options;     ///< those that determine counts and their reports; all others have their defaults
};

/// The identity of a job with these options.
job_identity identity_of(const config::options& typed, std::string manifest, config::shard_choice shard);

/// One line without its line end.
std::string header_of(const job_identity& job);

/// Nothing if the line is not a header of this version.
std::optional<job_identity> identity_in(std::string_view header);

}  // namespace gpuhist::pipeline
