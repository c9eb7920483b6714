#include "pipeline/reports/pending_inputs.hpp"

#include "config/quote.hpp"
#include "pipeline/reports/report.hpp"

#include <algorithm>

namespace gpuhist::pipeline {

pending_inputs::pending_inputs(finished_inputs& to, std::size_t classes)
    : to_(to), verified_(classes), unverified_(classes) {}

void pending_inputs::add(const input_report& next) {
  if (number_ == 0) begin_ = to_.now();
  to_.append(to_.lay_down(next));
  if (!next.complete && incomplete_.empty()) {
    incomplete_ = "inputs[" + std::to_string(number_) + "] (" + config::quote(printable(next.name)) + ")";
  }
  ++number_;
  verified_ += next.verified;
  unverified_ += next.unverified;
}

void pending_inputs::keep() { begin_anew(); }

void pending_inputs::drop() {
  if (number_ > 0) to_.cut_back(begin_);
  begin_anew();
}

void pending_inputs::begin_anew() {
  number_ = 0;
  incomplete_.clear();
  std::ranges::fill(verified_.counts, 0);
  std::ranges::fill(unverified_.counts, 0);
}

}  // namespace gpuhist::pipeline
