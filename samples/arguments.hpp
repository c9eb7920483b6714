// Checks of the arguments of the public functions. They throw gpuhist::error (invalid_argument).
#pragma once

#include "gpuhist/errors.hpp"
#include "gpuhist/samples.hpp"

#include <cstddef>
#include <string>

namespace gpuhist::gpu::samples {

inline void require(bool valid, const char* text) {
  if (!valid) throw error(errc::invalid_argument, std::string("samples: ") + text);
}

inline void check_view(const sample_view& samples) {
  require(samples.channels >= 1 && samples.channels <= 4, "1 to 4 channels are possible");
  require(samples.data != nullptr || samples.frames == 0, "data is a null pointer");
}

inline void check_weights(const weight_view& weights, const sample_view& samples) {
  require(weights.channels == 1 || weights.channels == samples.channels,
          "weights have one channel, or those of the samples");
  require(weights.data != nullptr || samples.frames == 0, "weights are a null pointer");
}

inline void check_rows(std::size_t given, std::size_t wanted) {
  require(given == wanted, "the size of the output is not channels x row_size()");
}

inline void check_joint(const joint_samples& samples) {
  check_view(samples.x);
  check_view(samples.y);
  require(samples.x.channels == 1 && samples.y.channels == 1, "a joint histogram has one channel for each axis");
  require(samples.x.frames == samples.y.frames, "the axes of a joint histogram have different numbers of samples");
  require(samples.row_size() - 2 <= sample_bins::max_bins, "a joint histogram has at most 2^20 bins");
}

}  // namespace gpuhist::gpu::samples
