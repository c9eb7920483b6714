#include "sample_case.hpp"

#include <gpuhist/errors.hpp>

namespace gpuhist::test {
namespace {

case_result run_joint(const sample_case& each, const sample_bins& x, const sample_bins& y) {
  const joint_samples samples{
      .x_bins = x, .x = each.x.view(each.head.frames, 1), .y_bins = y, .y = each.y.view(each.head.frames, 1)};
  case_result result{.counts = {}, .sums = {}, .edges = x.bin_edges()};
  if (const auto weights = each.weighting()) {
    result.sums.resize(samples.row_size());
    sum_joint(samples, *weights, result.sums, each.head.threads);
  } else {
    result.counts.resize(samples.row_size());
    count_joint(samples, result.counts, each.head.threads);
  }
  return result;
}

case_result run_axis(const sample_case& each, const sample_bins& bins) {
  const sample_view samples = each.x.view(each.head.frames, each.head.channels);
  const std::size_t values = each.head.channels * bins.row_size();
  case_result result{.counts = {}, .sums = {}, .edges = bins.bin_edges()};
  if (const auto weights = each.weighting()) {
    result.sums.resize(values);
    sum_samples(bins, samples, *weights, result.sums, each.head.threads);
  } else {
    result.counts.resize(values);
    count_samples(bins, samples, result.counts, each.head.threads);
  }
  return result;
}

}  // namespace

sample_bins sample_axis::bins() const {
  const auto type = static_cast<sample_type>(head.type);
  if (head.rule == given_edges) return sample_bins::edges(type, edges);
  if (head.rule == integer_bins) return sample_bins::integers(type, head.bins);
  return sample_bins::even(type, head.bins, head.lower, head.upper, static_cast<even_rule>(head.rule));
}

case_result run_on_host(const sample_case& each) {
  try {
    return each.head.joint != 0 ? run_joint(each, each.x.bins(), each.y.bins()) : run_axis(each, each.x.bins());
  } catch (const error& refused) {
    if (refused.kind() != errc::invalid_argument) throw;
    return {.refused = true, .counts = {}, .sums = {}, .edges = {}};
  }
}

}  // namespace gpuhist::test
