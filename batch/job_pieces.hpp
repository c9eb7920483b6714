// The division of a manifest into shards. Large files whose frames can be found are divided, too: into pieces, each of
// which is counted by one shard.
//
//     manifest   | a   | b (divided)                    | c |
//     shard 1    | a   |        |                       |   |
//     shard 2    |     |        | piece of b            |   |
//     shard 3    |     | piece  |                       | c |
#pragma once

#include "batch/job_ledger.hpp"
#include "batch/manifest.hpp"
#include "library/counting_plan.hpp"
#include "pipeline/counts/input_report.hpp"

#include <cstddef>
#include <vector>

namespace gpuhist::batch {

struct job_division {
  manifest pieces;                                 ///< an entry for each whole input and each piece, in order
  std::vector<std::size_t> entry_of;               ///< of each: its entry in the manifest of the job
  std::vector<std::vector<std::size_t>> of_shard;  ///< the entries in `pieces` of each shard, in order
};

/// Whether files are divided in a job with this plan: not if text at the ends of pieces belongs together, or if a
/// limit is one of the whole input.
bool may_divide(const library::counting_plan& planned);

/// Every process computes the same division. Inputs that are not divided: the largest first, each to the shard with the
/// least bytes so far. Then the others, whose pieces fill the shards. A shard has at most one piece of a file.
/// `shards`: 0 for a job without shards, whose entries are all whole. `may_divide`: whether files are divided.
job_division divide(manifest inputs, unsigned shards, bool may_divide);

/// The report of an input whose pieces have these reports, in their order: that of one run over the whole input.
/// `pieces`: the entries of the pieces. If a piece was not counted to its end, later ones do not count.
pipeline::input_report joined_report(const std::vector<pipeline::input_report>& reports,
                                     const std::vector<const manifest_entry*>& pieces);

/// Adds the report of each divided input whose pieces are all finished in `from`, a ledger of the pieces, to `to`, a
/// ledger of the manifest.
void join_pieces(const job_division& division, const job_ledger& from, job_ledger& to);

}  // namespace gpuhist::batch
