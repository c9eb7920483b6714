// The division of a manifest into shards, and the numbers of shards that Slurm and MPI give to their tasks.
#pragma once

#include "config/options.hpp"
#include "pipeline/program/batch/manifest.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// The entries of each shard, in their order. Every process computes the same division: the largest inputs first, each
/// to the shard with the least bytes so far.
std::vector<std::vector<std::size_t>> divide(const manifest& inputs, unsigned shards);

/// The shard of this task. `variable`: the value of an environment variable, or null. Throws config::usage_error if
/// `typed` is auto and no variable says which.
config::shard_choice resolve_shard(const config::shard_choice& typed,
                                   const std::function<const char*(const char*)>& variable);

}  // namespace gpuhist::pipeline
