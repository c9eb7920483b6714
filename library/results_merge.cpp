// The sum of gpuhist::results.
#include "gpuhist/errors.hpp"
#include "library/errors.hpp"
#include "library/results.hpp"
#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/partitioning.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

namespace gpuhist {
namespace {

using pipeline::report;
using pipeline::scheme_view;
using pipeline::view_through;
using pipeline::views_with_own_pairs;

bool have_same_schemes(const report& a, const report& b) {
  return std::ranges::equal(a.schemes, b.schemes, {}, &scheme_view::scheme, &scheme_view::scheme);
}

// That of all parts, or the coarsest if some have the counts of all byte values and others do not.
const gpu::partition& common_partition(std::span<const results> parts) {
  const auto classes = [](const results& each) { return each.shared().content.partition.classes; };
  return std::ranges::min_element(parts, {}, classes)->shared().content.partition;
}

bool have_pairs(const results& each) { return each.has_pairs(); }

// Counts over a coarser partition. Of pairs, every scheme has a matrix of its own.
class coarsening {
 public:
  coarsening(const report& from, const gpu::partition& to, bool with_pairs)
      : from_(from), classes_(to.classes), with_pairs_(with_pairs), class_of_(from.partition.classes) {
    for (std::size_t byte = 0; byte < to.class_of.size(); ++byte) {
      class_of_[from.partition.class_of[byte]] = to.class_of[byte];
    }
  }

  [[nodiscard]] gpu::tally operator()(const gpu::tally& counts) const {
    gpu::tally made(classes_);
    for (std::size_t i = 0; i < counts.counts.size(); ++i) made.counts[class_of_[i]] += counts.counts[i];
    if (!with_pairs_) return made;
    for (const scheme_view& each : from_.schemes) {
      const pipeline::pair_matrix pairs = each.fold_pairs(counts);
      made.pairs.insert(made.pairs.end(), pairs.counts.begin(), pairs.counts.end());
    }
    return made;
  }

 private:
  const report& from_;
  std::size_t classes_;
  bool with_pairs_;
  std::vector<std::uint8_t> class_of_;
};

// Adds results with the same schemes. Inputs are kept in memory.
class adder {
 public:
  adder(const report& first, const gpu::partition& partition, bool with_pairs)
      : with_pairs_(with_pairs),
        inputs_(std::make_shared<pipeline::finished_inputs>(partition.classes, 0, pipeline::spill_folder{.path = ""})) {
    sum_.partition = partition;
    sum_.verified = sum_.unverified = coarsening(first, partition, with_pairs)(gpu::tally());
    sum_.complete = true;
    sum_.byte_counts = true;
    sum_.ignore_case = first.ignore_case;
    sum_.measuring = first.measuring;
    std::vector<config::scheme> schemes;
    for (const scheme_view& each : first.schemes) schemes.push_back(each.scheme);
    if (with_pairs) {
      sum_.schemes = views_with_own_pairs(schemes, partition);
    } else {
      for (const config::scheme& each : schemes) sum_.schemes.push_back(view_through(each, partition));
    }
  }

  void add(const report& part) {
    const coarsening coarse(part, sum_.partition, with_pairs_);
    add_totals(part, coarse);
    for (const pipeline::input_report& each : part.inputs) {
      pipeline::input_report folded = each;
      folded.verified = coarse(each.verified);
      folded.unverified = coarse(each.unverified);
      inputs_->append(inputs_->spill(folded));
      ++number_;
    }
  }

  report take() {
    if (!all_have_utf8_) sum_.utf8.reset();
    sum_.inputs = pipeline::input_reports(inputs_, number_);
    return std::move(sum_);
  }

 private:
  void add_totals(const report& part, const coarsening& coarse) {
    const auto exceeds = [](const gpu::tally& a, const gpu::tally& b) {
      std::uint64_t bytes = 0;
      return __builtin_add_overflow(a.bytes(), b.bytes(), &bytes);
    };
    if (exceeds(sum_.verified, part.verified) || exceeds(sum_.unverified, part.unverified)) {
      throw error(errc::invalid_argument, "merge: the sum exceeds 2^64 - 1 bytes");
    }
    sum_.verified += coarse(part.verified);
    sum_.unverified += coarse(part.unverified);
    if (part.type == report::kind::snapshot) sum_.type = report::kind::snapshot;
    sum_.complete = sum_.complete && part.complete;
    all_have_utf8_ = all_have_utf8_ && part.utf8;
    add_utf8(sum_.utf8, part.utf8);
    sum_.byte_counts = sum_.byte_counts && part.byte_counts;
    sum_.counted_unverified = sum_.counted_unverified || part.counted_unverified;
    sum_.elapsed_seconds = std::max(sum_.elapsed_seconds, part.elapsed_seconds);
    for (const pipeline::skipped_names& each : part.skipped) add_skipped(sum_.skipped, each);
  }

  bool with_pairs_;
  bool all_have_utf8_ = true;
  report sum_;
  std::shared_ptr<pipeline::finished_inputs> inputs_;
  std::size_t number_ = 0;
};

results sum_of(std::span<const results> parts) {
  if (parts.empty()) throw error(errc::invalid_argument, "merge: there are no results");
  const report& first = parts.front().shared().content;
  adder sum(first, common_partition(parts), std::ranges::all_of(parts, have_pairs));
  counting_failure failed;
  for (const results& each : parts) {
    const report& part = each.shared().content;
    if (!have_same_schemes(first, part)) {
      throw error(errc::invalid_argument, "merge: the results have different schemes");
    }
    if (!failed.kind) failed = each.shared().failed;
    sum.add(part);
  }
  return results(
      std::make_shared<const results::state>(results::state{.content = sum.take(), .failed = std::move(failed)}));
}

}  // namespace

results results::merge(std::span<const results> parts) {
  try {
    return sum_of(parts);
  } catch (...) {
    rethrow_as_error(std::current_exception());
  }
}

}  // namespace gpuhist
