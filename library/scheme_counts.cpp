#include "library/scheme_counts.hpp"

#include "gpuhist/errors.hpp"
#include "report/measures/measure.hpp"

#include <algorithm>
#include <string>

namespace gpuhist {

using pipeline::report;
using pipeline::scheme_view;
namespace measures = pipeline::measures;

const scheme_view& find_scheme(const report& frame, std::string_view name) {
  const auto found = std::ranges::find(frame.schemes, name, [](const scheme_view& each) { return each.scheme.name; });
  if (found != frame.schemes.end()) return *found;
  throw error(errc::invalid_argument, "the result has no scheme '" + std::string(name) + "'");
}

std::vector<std::uint64_t> pairs_of(const report& frame, const gpu::tally& counts, std::string_view scheme) {
  const scheme_view& view = find_scheme(frame, scheme);
  if (view.has_pairs()) return view.fold_pairs(counts).counts;
  throw error(errc::invalid_argument, "the result has no pairs; set counting_options::pairs");
}

measurement measure_of(const report& frame, const gpu::tally& counts, std::string_view name,
                       const measures::byte_counts* baseline) {
  const measures::measure* const definition = measures::find_measure(name);
  if (definition == nullptr) {
    throw error(errc::invalid_argument, "there is no measure '" + std::string(name) + "'");
  }
  if (frame.partition != gpu::partition::identity()) {
    throw error(errc::invalid_argument, "measure '" + std::string(name) +
                                            "': needs the counts of the 256 byte values, which the result does not "
                                            "have; set counting_options::byte_counts");
  }
  const measures::byte_counts bytes = measures::counts_of(counts);
  const measures::byte_counts* const compared = baseline != nullptr ? baseline : frame.measuring.baseline.get();
  const measures::measurement taken = measures::take_measure(*definition, {.counts = bytes, .baseline = compared});
  return {.name = std::string(definition->name),
          .unit = std::string(definition->unit),
          .value = taken.found.value,
          .reason = std::string(taken.found.reason)};
}

}  // namespace gpuhist
