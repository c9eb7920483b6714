#include "pipeline/report/measures/measure.hpp"

#include "pipeline/report/measures/functions.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::pipeline::measures {
namespace {

constexpr bool compares = true;
constexpr bool stands_alone = false;

// name, unit, words, compares, function
constexpr std::array rows = {
    measure{"entropy", "bits a byte", "Shannon's entropy, of the counts as they are", stands_alone, entropy},
    measure{"entropy_corrected", "bits a byte", "the same, corrected for few bytes (Miller and Madow)", stands_alone,
            entropy_corrected},
    measure{"chi2", "", "chi-squared against 256 equally frequent values", stands_alone, chi2},
    measure{"chi2_p", "", "how likely as much is by chance", stands_alone, chi2_p},
    measure{"mean", "", "mean byte value, 0 to 255", stands_alone, mean},
    measure{"distinct", "values", "byte values that occur", stands_alone, distinct},
    measure{"ascii_share", "", "share of bytes 0x00 to 0x7f", stands_alone, ascii_share},
    measure{"printable_share", "", "share of bytes 0x20 to 0x7e", stands_alone, printable_share},
    measure{"code_points", "code points", "bytes that are no UTF-8 continuation", stands_alone, code_points},
    measure{"lines", "lines", "line feeds", stands_alone, lines},
    measure{"mean_line_length", "bytes", "bytes a line, without the line feeds", stands_alone, mean_line_length},
    measure{"jsd", "bits", "Jensen-Shannon divergence from the baseline, 0 to 1", compares, jsd},
    measure{"kl", "bits", "Kullback-Leibler divergence, add one half", compares, kl},
    measure{"chi2_baseline", "", "chi-squared of the counts of both samples", compares, chi2_baseline},
    measure{"chi2_baseline_p", "", "how likely as much is by chance", compares, chi2_baseline_p},
    measure{"icd", "", "idealized character distribution, chi-squared of 6 bins", compares, icd},
    measure{"icd_p", "", "how likely as much is by chance", compares, icd_p},
};

finding find(const measure& what, const sample& of) {
  if (!what.compares) return what.of(of);
  if (of.baseline == nullptr) return finding::none("there is no baseline");
  if (bytes_in(*of.baseline) == 0) return finding::none("the baseline has no bytes");
  return what.of(of);
}

}  // namespace

std::span<const measure> all_measures() { return rows; }

const measure* find_measure(std::string_view name) {
  const auto* const found = std::ranges::find(rows, name, &measure::name);
  return found == rows.end() ? nullptr : found;
}

measurement take_measure(const measure& what, const sample& of) {
  measurement taken{.what = &what, .found = find(what, of), .sample_size = bytes_in(of.counts)};
  if (what.compares && of.baseline != nullptr) taken.baseline_size = bytes_in(*of.baseline);
  return taken;
}

}  // namespace gpuhist::pipeline::measures
