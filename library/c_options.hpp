// Options and events of the C interface.
#pragma once

#include "gpuhist/files.hpp"
#include "gpuhist/gpuhist.h"
#include "gpuhist/named_options.hpp"
#include "gpuhist/options.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>

struct gpuhist_options {
  gpuhist::named_options named{};
  std::function<std::int32_t(const gpuhist_event*)> on_event{};
  std::function<std::int32_t(const void*, std::size_t)> on_text{};
};

namespace gpuhist::c_interface {

/// Pass all events to on_event, and request a stop if it returns another number than 0. They do not call cancel(),
/// because a callback may destroy the counter.
counting_events events_of(const gpuhist_options& options, const std::stop_source& stop);
file_events file_events_of(const gpuhist_options& options, const std::stop_source& stop);

}  // namespace gpuhist::c_interface
