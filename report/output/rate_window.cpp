#include "report/output/rate_window.hpp"

namespace gpuhist::pipeline {

void rate_window::add(const run_progress& sample) {
  samples_.push_back(sample);
  while (samples_.size() > 2 && samples_[1].seconds <= sample.seconds - seconds_) samples_.pop_front();
}

transfer_rates rate_window::rates() const {
  const run_progress& from = samples_.front();
  const run_progress& to = samples_.back();
  const double seconds = to.seconds - from.seconds;
  if (seconds <= 0) return {};
  return {.source = static_cast<double>(to.source_bytes - from.source_bytes) / seconds,
          .text = static_cast<double>(to.text_bytes - from.text_bytes) / seconds};
}

}  // namespace gpuhist::pipeline
