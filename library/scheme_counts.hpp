// Counts and measures by name: what gpuhist::results and gpuhist::window have in common.
#pragma once

#include "gpu/tally.hpp"
#include "gpuhist/results.hpp"
#include "report/formats/report.hpp"
#include "report/measures/measure.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace gpuhist {

/// Throws errc::invalid_argument for an unknown scheme.
const pipeline::scheme_view& find_scheme(const pipeline::report& frame, std::string_view name);

/// The pairs of a scheme. Throws errc::invalid_argument for an unknown scheme, and without pairs.
std::vector<std::uint64_t> pairs_of(const pipeline::report& frame, const gpu::tally& counts, std::string_view scheme);

/// The measure of `counts`, which have the partition of `frame`. `baseline`: null: that of the frame. Throws
/// errc::invalid_argument for an unknown measure, and if the partition is not the identity.
measurement measure_of(const pipeline::report& frame, const gpu::tally& counts, std::string_view name,
                       const pipeline::measures::byte_counts* baseline = nullptr);

}  // namespace gpuhist
