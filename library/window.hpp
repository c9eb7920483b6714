// The counts behind gpuhist::window.
#pragma once

#include "gpuhist/results.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "report/formats/report.hpp"
#include "report/measures/measure.hpp"

#include <memory>
#include <optional>

namespace gpuhist {

struct [[gnu::visibility("hidden")]] window::state {
  std::shared_ptr<const pipeline::report> frame;  ///< what all windows of the run share; without counts
  pipeline::closed_window content;
  std::optional<pipeline::measures::byte_counts> baseline;  ///< of this window alone; absent: that of the frame
};

}  // namespace gpuhist
