// Which differences of a stream are one change.
#pragma once

#include "report/changes/change_finder.hpp"

#include <cstddef>
#include <vector>

namespace gpuhist::report::changes {

/// The changes of a stream. Differences whose stretches begin together, or are about the same windows, are one change.
/// Of its kinds, only those are kept whose share differs among the lines of the kinds that moved less: if one kind has
/// a burst, the shares of all others fall, and that is no difference of theirs. `index`: of the stream. `least_ratio`:
/// of shares.
std::vector<change> incidents(const log_stream& stream, std::size_t index, std::vector<difference> found,
                              double least_ratio);

}  // namespace gpuhist::report::changes
