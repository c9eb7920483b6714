"""Prints tests/pipeline/measure_values.hpp: what NumPy and SciPy say that the measures of some samples are.

    python3 -m venv v && v/bin/pip install scipy && v/bin/python tests/pipeline/measure_values.py > tests/pipeline/measure_values.hpp
"""

import math

import numpy
import scipy.stats
from scipy.spatial.distance import jensenshannon

SAMPLES = {  # as sample_named() of test_measures.cpp has them
    "noise": [(37 * b * b + 11 * b + 5) % 97 + 20 for b in range(256)],
    "falling": [1_000_000 // (b + 1) for b in range(256)],
    "falling a little less": [1_000_000 // (b + 2) + 300 for b in range(256)],
    "a few": [3 * (b % 7) if 60 <= b < 100 else 0 for b in range(256)],
    "one value": [5000 if b == 97 else 0 for b in range(256)],
    "another value": [700 if b == 98 else 0 for b in range(256)],
    "chance": [(37 * b * b + 11 * b + 5) % 37 + 82 for b in range(256)],
    "chance again": [(29 * b * b + 7 * b + 3) % 37 + 82 for b in range(256)],
    "flat": [10 + b % 2 for b in range(256)],
    "huge": [2**55 + b * 2**46 for b in range(256)],
}
PAIRS = [("falling a little less", "falling"), ("noise", "falling"), ("a few", "noise"), ("flat", "noise"), ("one value", "another value"),
         ("noise", "flat"), ("a few", "falling"), ("huge", "falling"), ("chance", "chance again")]


def entropy(counts):
    return scipy.stats.entropy(numpy.array(counts, dtype=float), base=2)


def alone(counts):
    total = sum(counts)
    weights = numpy.arange(256)
    values = {
        "entropy": entropy(counts),
        "entropy_corrected": entropy(counts) + (numpy.count_nonzero(counts) - 1) / (2 * total * math.log(2)),
        "mean": numpy.average(weights, weights=numpy.array(counts, dtype=float)),
        "distinct": numpy.count_nonzero(counts),
        "ascii_share": sum(counts[:128]) / total,
        "printable_share": sum(counts[ord(" ") : ord("~") + 1]) / total,
        "code_points": sum(count for byte, count in enumerate(counts) if byte & 0xC0 != 0x80),
        "lines": counts[10],
        "mean_line_length": (total - counts[10]) / counts[10] if counts[10] else None,
        "chi2": None,
        "chi2_p": None,
    }
    if total / 256 >= 5:
        values["chi2"], values["chi2_p"] = scipy.stats.chisquare(numpy.array(counts, dtype=float))
    return values


def pooled(counts, baseline):
    """Columns of a table of two rows, those of small expected counts as one (or with the smallest of the others)."""
    smaller = min(sum(counts), sum(baseline)) / (sum(counts) + sum(baseline))
    columns = [list(pair) for pair in zip(counts, baseline)]
    large = [pair for pair in columns if sum(pair) * smaller >= 5]
    small = [sum(pair[row] for pair in columns if sum(pair) * smaller < 5) for row in (0, 1)]
    if sum(small) == 0:
        return large
    if sum(small) * smaller >= 5 or not large:
        return [*large, small]
    least = min(large, key=sum)
    least[0] += small[0]
    least[1] += small[1]
    return large


def compared(counts, baseline):
    smooth = [(numpy.array(each, dtype=float) + 0.5) / (sum(each) + 128) for each in (counts, baseline)]
    values = {
        "jsd": jensenshannon(numpy.array(counts, dtype=float), numpy.array(baseline, dtype=float), base=2) ** 2,
        "kl": scipy.stats.entropy(*smooth, base=2),
        "chi2_baseline": None,
        "chi2_baseline_p": None,
        "icd": None,
        "icd_p": None,
    }
    table = numpy.array(pooled(counts, baseline), dtype=float).T
    if table.shape[1] > 1:
        values["chi2_baseline"], values["chi2_baseline_p"], _, _ = scipy.stats.chi2_contingency(table, correction=False)
    observed, ideal = (numpy.array([sum(sorted(each, reverse=True)[a:b]) for a, b in ((0, 1), (1, 4), (4, 7), (7, 12), (12, 16), (16, 256))],
                                   dtype=float) for each in (counts, baseline))
    expected = ideal / ideal.sum() * observed.sum()
    if expected.min() >= 5:
        values["icd"], values["icd_p"] = scipy.stats.chisquare(observed, expected)
    return values


def written(value):
    return "std::nullopt" if value is None else repr(float(value))


def main():
    print("// Made by measure_values.py, with SciPy " + scipy.__version__ + ": not to be edited.")
    print("#pragma once\n\n#include <array>\n#include <optional>\n#include <string_view>\n\nnamespace gpuhist::test {\n")
    print("struct measure_value {\n  std::string_view sample;\n  std::string_view baseline;  ///< empty: none\n"
          "  std::string_view measure;\n  std::optional<double> value;\n};\n")
    rows = [(name, "", *each) for name, counts in SAMPLES.items() for each in alone(counts).items()]
    rows += [(a, b, *each) for a, b in PAIRS for each in compared(SAMPLES[a], SAMPLES[b]).items()]
    print("// clang-format off\n// NOLINTBEGIN(modernize-use-std-numbers): what is near to one is not meant to be it\ninline constexpr std::array measure_values = {")
    for sample, baseline, measure, value in rows:
        print(f'    measure_value{{"{sample}", "{baseline}", "{measure}", {written(value)}}},')
    print("};\n// NOLINTEND(modernize-use-std-numbers)\n// clang-format on\n\n}  // namespace gpuhist::test")


main()
