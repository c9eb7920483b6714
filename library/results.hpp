// The counts behind gpuhist::results: how they are made, read, merged and viewed.
#pragma once

#include "gpu/tally.hpp"
#include "gpuhist/errors.hpp"
#include "gpuhist/results.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "report/formats/report.hpp"
#include "report/measures/measure.hpp"

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist {

/// Why counting failed.
struct counting_failure {
  std::string text{};          ///< empty: it did not
  std::optional<errc> kind{};  ///< nothing: it did not
};

/// The failure with this text, which an exception caused. An empty text: there is no failure.
counting_failure failure_of(std::string text, const std::exception_ptr& cause);

struct [[gnu::visibility("hidden")]] results::state {
  report::run_report content;
  counting_failure failed;
};

// Counts and measures by name: what gpuhist::results and gpuhist::window have in common.

/// Throws errc::invalid_argument for an unknown scheme.
const pipeline::scheme_view& find_scheme(const report::run_report& frame, std::string_view name);

/// The pairs of a scheme. Throws errc::invalid_argument for an unknown scheme, and without pairs.
std::vector<std::uint64_t> pairs_of(const report::run_report& frame, const gpu::tally& counts, std::string_view scheme);

/// The measure of `counts`, which have the partition of `frame`. `baseline`: null: that of the frame. Throws
/// errc::invalid_argument for an unknown measure, and if the partition is not the identity.
measurement measure_of(const report::run_report& frame, const gpu::tally& counts, std::string_view name,
                       const report::measures::byte_counts* baseline = nullptr);

/// The counts behind gpuhist::window.
struct [[gnu::visibility("hidden")]] window::state {
  std::shared_ptr<const report::run_report> frame;  ///< what all windows of the run share; without counts
  pipeline::closed_window content;
  std::optional<report::measures::byte_counts> baseline;  ///< of this window alone; absent: that of the frame
};

}  // namespace gpuhist
