#include "pipeline/counts/input_reports.hpp"

namespace gpuhist::pipeline {

input_report input_reports::operator[](std::size_t number) const {
  input_report found;
  if (number < finished_) {
    found = spilled_->at(spilled_->location_of(number));
  } else {
    const entry& each = rest_.at(number - finished_);
    found = each.held ? *each.held : spilled_->at(each.at);
    if (each.waits) set_unverified(found);
  }
  if (counts_unverified_) pipeline::count_unverified(found);
  return found;
}

}  // namespace gpuhist::pipeline
