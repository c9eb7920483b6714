// Pairs of neighbouring bytes as a table for people: a heat map, the conditional entropy, and the pairs that are more
// frequent than in independent bytes.
#pragma once

#include "report/formats/report.hpp"

#include <string>

namespace gpuhist::pipeline {

/// The pairs of one scheme, with an empty line at the end. Empty if pairs are not counted.
std::string pair_lines(const scheme_view& view, const gpu::tally& counts, const render_target& target);

}  // namespace gpuhist::pipeline
