// Conditions that hold, as the public interface and as reports have them.
#pragma once

#include "gpuhist/results.hpp"
#include "report/conditions/watcher.hpp"

namespace gpuhist::pipeline {

alert alert_of(const gates::firing& fired);

/// The reverse of alert_of().
gates::firing firing_of(const alert& reported);

}  // namespace gpuhist::pipeline
