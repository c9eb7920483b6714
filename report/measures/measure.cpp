#include "report/measures/measure.hpp"

#include "report/measures/functions.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::report::measures {
namespace {

constexpr bool compares = true;
constexpr bool needs_no_baseline = false;

// name, unit, compares, function
constexpr std::array rows = {
    measure{"entropy", "bits a byte", needs_no_baseline, entropy},
    measure{"entropy_corrected", "bits a byte", needs_no_baseline, entropy_corrected},
    measure{"chi2", "", needs_no_baseline, chi2},
    measure{"chi2_p", "", needs_no_baseline, chi2_p},
    measure{"mean", "", needs_no_baseline, mean},
    measure{"distinct", "values", needs_no_baseline, distinct},
    measure{"ascii_share", "", needs_no_baseline, ascii_share},
    measure{"printable_share", "", needs_no_baseline, printable_share},
    measure{"code_points", "code points", needs_no_baseline, code_points},
    measure{"lines", "lines", needs_no_baseline, lines},
    measure{"mean_line_length", "bytes", needs_no_baseline, mean_line_length},
    measure{"jsd", "bits", compares, jsd},
    measure{"kl", "bits", compares, kl},
    measure{"chi2_baseline", "", compares, chi2_baseline},
    measure{"chi2_baseline_p", "", compares, chi2_baseline_p},
    measure{"icd", "", compares, icd},
    measure{"icd_p", "", compares, icd_p},
};

finding find(const measure& definition, const sample& measured) {
  if (!definition.compares) return definition.function(measured);
  if (measured.baseline == nullptr) return finding::none("there is no baseline");
  if (bytes_in(*measured.baseline) == 0) return finding::none("the baseline has no bytes");
  return definition.function(measured);
}

}  // namespace

std::span<const measure> all_measures() { return rows; }

const measure* find_measure(std::string_view name) {
  const auto* const found = std::ranges::find(rows, name, &measure::name);
  return found == rows.end() ? nullptr : found;
}

measurement take_measure(const measure& definition, const sample& measured) {
  measurement taken{
      .definition = &definition, .found = find(definition, measured), .sample_size = bytes_in(measured.counts)};
  if (definition.compares && measured.baseline != nullptr) taken.baseline_size = bytes_in(*measured.baseline);
  return taken;
}

byte_counts counts_of(const gpu::tally& counts) {
  byte_counts made{};
  std::ranges::copy_n(counts.counts.begin(), static_cast<std::ptrdiff_t>(std::min(counts.counts.size(), made.size())),
                      made.begin());
  return made;
}

std::vector<measurement> take_measures(const measuring& requested, const byte_counts& counts,
                                       const byte_counts* baseline) {
  const sample measured{.counts = counts, .baseline = baseline != nullptr ? baseline : requested.baseline.get()};
  std::vector<measurement> all;
  all.reserve(requested.asked.size());
  for (const measure* const each : requested.asked) all.push_back(take_measure(*each, measured));
  return all;
}

}  // namespace gpuhist::report::measures
