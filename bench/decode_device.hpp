// The measurement of gpuhist-bench decode on the current device.
#pragma once

#include "bench/decode.hpp"

#include <functional>

namespace gpuhist::bench {

/// Measures every configuration in turn and reports it. Throws std::runtime_error that names the configuration: the
/// device rejected a frame, the text is not the original, or a call failed.
void measure_decode(const decode_options& options, unsigned host_threads,
                    const std::function<void(const decode_row&)>& report);

}  // namespace gpuhist::bench
