// The numbers of shards that Slurm and MPI give to their tasks.
#pragma once

#include "config/options.hpp"

#include <functional>

namespace gpuhist::pipeline {

/// The shard of this task. `variable`: the value of an environment variable, or null. Throws config::usage_error if
/// `typed` is auto and no variable says which.
config::shard_choice resolve_shard(const config::shard_choice& typed,
                                   const std::function<const char*(const char*)>& variable);

}  // namespace gpuhist::pipeline
