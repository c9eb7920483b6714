// Measures, compared with values that NumPy and SciPy computed (measure_values.py), and at the edges: no bytes, one
// byte, one value, counts near 2^63.
#include "report/measures/functions.hpp"
#include "report/measures/measure.hpp"
#include "report/measures/previous_baseline.hpp"

#include "measure_values.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>

using namespace gpuhist::report::measures;

namespace {

using formula = std::uint64_t (*)(std::uint64_t byte);

byte_counts counts_by(formula count_at) {
  byte_counts result{};
  for (std::size_t byte = 0; byte < result.size(); ++byte) result[byte] = count_at(byte);
  return result;
}

/// The samples of measure_values.py.
const std::map<std::string_view, byte_counts>& samples() {
  static const std::map<std::string_view, byte_counts> result = {
      {"noise", counts_by([](std::uint64_t b) { return (37 * b * b + 11 * b + 5) % 97 + 20; })},
      {"falling", counts_by([](std::uint64_t b) { return 1'000'000 / (b + 1); })},
      {"falling a little less", counts_by([](std::uint64_t b) { return 1'000'000 / (b + 2) + 300; })},
      {"a few", counts_by([](std::uint64_t b) { return b >= 60 && b < 100 ? 3 * (b % 7) : 0; })},
      {"one value", counts_by([](std::uint64_t b) -> std::uint64_t { return b == 97 ? 5000 : 0; })},
      {"another value", counts_by([](std::uint64_t b) -> std::uint64_t { return b == 98 ? 700 : 0; })},
      {"chance", counts_by([](std::uint64_t b) { return (37 * b * b + 11 * b + 5) % 37 + 82; })},
      {"chance again", counts_by([](std::uint64_t b) { return (29 * b * b + 7 * b + 3) % 37 + 82; })},
      {"flat", counts_by([](std::uint64_t b) { return 10 + b % 2; })},
      {"huge", counts_by([](std::uint64_t b) { return (std::uint64_t{1} << 55U) + b * (std::uint64_t{1} << 46U); })}};
  return result;
}

measurement take(std::string_view name, const byte_counts& counts, const byte_counts* baseline = nullptr) {
  const measure* const found = find_measure(name);
  REQUIRE(found != nullptr);
  return take_measure(*found, {.counts = counts, .baseline = baseline});
}

std::optional<double> value_of(std::string_view name, const byte_counts& counts,
                               const byte_counts* baseline = nullptr) {
  return take(name, counts, baseline).found.value;
}

byte_counts counts_of(std::string_view text) {
  byte_counts result{};
  for (const char c : text) ++result[static_cast<unsigned char>(c)];
  return result;
}

}  // namespace

TEST_CASE("every measure equals SciPy's value, and has no value if the sample cannot support one") {
  std::set<std::string_view> checked;
  for (const gpuhist::test::measured_sample& each : gpuhist::test::measured_samples) {
    CAPTURE(each.sample);
    CAPTURE(each.baseline);
    const byte_counts* const baseline = each.baseline.empty() ? nullptr : &samples().at(each.baseline);
    const std::span<const std::string_view> measures =
        baseline == nullptr ? std::span<const std::string_view>(gpuhist::test::measures_alone)
                            : std::span<const std::string_view>(gpuhist::test::measures_compared);
    for (std::size_t i = 0; i < measures.size(); ++i) {
      CAPTURE(measures[i]);
      const std::optional<double> value = each.values.at(i);
      const measurement taken = take(measures[i], samples().at(each.sample), baseline);
      CHECK(taken.found.value.has_value() == value.has_value());
      CHECK(taken.found.reason.empty() == taken.found.value.has_value());
      CHECK(taken.sample_size == bytes_in(samples().at(each.sample)));
      if (!taken.found.value || !value) continue;
      checked.insert(measures[i]);
      const double allowed = 1e-9 * std::abs(*value) + 1e-15;
      INFO(*taken.found.value, " instead of ", *value);
      CHECK(std::abs(*taken.found.value - *value) <= allowed);
    }
  }
  CHECK(checked.size() == all_measures().size());
}

TEST_CASE("names of measures are unique and consist of letters, digits and underscores, and each row is complete") {
  std::set<std::string_view> names;
  for (const measure& each : all_measures()) {
    CAPTURE(each.name);
    CHECK(names.insert(each.name).second);
    CHECK(each.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos);
    CHECK(static_cast<bool>(each.function));
    CHECK(find_measure(each.name) == &each);
  }
  CHECK(find_measure("entropie") == nullptr);
}

TEST_CASE("without bytes only counts of things have a value, and each other measure says why it has none") {
  const byte_counts none{};
  const byte_counts& baseline = samples().at("noise");
  for (const measure& each : all_measures()) {
    CAPTURE(each.name);
    const measurement taken = take_measure(each, {.counts = none, .baseline = &baseline});
    CHECK(taken.sample_size == 0);
    if (each.name == "distinct" || each.name == "code_points" || each.name == "lines") {
      CHECK(taken.found.value == 0.0);
    } else {
      CHECK_FALSE(taken.found.value.has_value());
      CHECK_FALSE(taken.found.reason.empty());
    }
  }
}

TEST_CASE("for one byte the entropy is 0, the mean is the byte, and tests of a distribution have no value") {
  const byte_counts single = counts_of("A");
  CHECK(value_of("entropy", single) == 0.0);
  CHECK_FALSE(std::signbit(*value_of("entropy", single)));
  CHECK(value_of("entropy_corrected", single) == 0.0);
  CHECK(value_of("mean", single) == 65.0);
  CHECK(value_of("distinct", single) == 1.0);
  CHECK(value_of("printable_share", single) == 1.0);
  for (const std::string_view name : {"chi2", "chi2_p", "chi2_baseline", "chi2_baseline_p", "icd", "icd_p"}) {
    CAPTURE(name);
    CHECK_FALSE(value_of(name, single, &samples().at("noise")).has_value());
  }
}

TEST_CASE("chi-squared needs an expected count of 5, which takes 1,280 bytes or more") {
  byte_counts counts{};
  counts['x'] = 1279;
  CHECK(take("chi2", counts).found == finding::none("an expected count is under 5"));
  counts['x'] = 1280;
  CHECK(value_of("chi2", counts) == 255.0 * 1280);
  CHECK(value_of("chi2_p", counts) == 0.0);
}

TEST_CASE("a sample diverges by 0 from an equal baseline, and by one bit from one without a common value") {
  for (const auto& [name, counts] : samples()) {
    CAPTURE(name);
    CHECK(value_of("jsd", counts, &counts) == 0.0);
    CHECK(value_of("kl", counts, &counts) == 0.0);
  }
  CHECK(value_of("chi2_baseline", samples().at("noise"), &samples().at("noise")) == 0.0);
  CHECK(value_of("chi2_baseline_p", samples().at("noise"), &samples().at("noise")) == 1.0);
  CHECK(value_of("icd_p", samples().at("falling"), &samples().at("falling")) == 1.0);
  CHECK(value_of("jsd", samples().at("one value"), &samples().at("another value")) == 1.0);
}

TEST_CASE("the character distribution depends on how frequent values are, not on which values are frequent") {
  byte_counts turned = samples().at("falling");
  std::ranges::reverse(turned);
  CHECK(value_of("icd", turned, &samples().at("falling")) == 0.0);
  CHECK(*value_of("jsd", turned, &samples().at("falling")) > 0.5);
}

TEST_CASE(
    "counts near 2^63 do not overflow: every measure is finite and equals that of fewer bytes with the same shares") {
  const std::uint64_t largest = (std::uint64_t{1} << 63U) - 1;
  byte_counts huge{};
  byte_counts same{};
  byte_counts full;
  full.fill(largest);
  for (std::size_t byte = 32; byte < 40; ++byte) {
    huge[byte] = largest;
    same[byte] = 1000;
  }
  for (const measure& each : all_measures()) {
    CAPTURE(each.name);
    for (const byte_counts* const baseline : {&full, &same, &huge}) {
      const measurement taken = take_measure(each, {.counts = huge, .baseline = baseline});
      if (taken.found.value) CHECK(std::isfinite(*taken.found.value));
      CHECK(taken.sample_size == std::numeric_limits<std::uint64_t>::max());
    }
  }
  CHECK(value_of("entropy", huge) == 3.0);
  CHECK(value_of("entropy", full) == 8.0);
  CHECK(value_of("mean", huge) == doctest::Approx(35.5).epsilon(1e-12));
  CHECK(value_of("jsd", huge, &same) == 0.0);
  CHECK(value_of("chi2_p", full) == 1.0);
}

TEST_CASE("without a baseline, or with an empty one, measures that compare say so, and the others are unchanged") {
  const byte_counts none{};
  for (const measure& each : all_measures()) {
    CAPTURE(each.name);
    const measurement alone = take_measure(each, {.counts = samples().at("falling")});
    const measurement empty = take_measure(each, {.counts = samples().at("falling"), .baseline = &none});
    CHECK(alone.found.value.has_value() == !each.compares);
    CHECK(empty.found.value.has_value() == !each.compares);
    if (!each.compares) continue;
    CHECK(alone.found.reason == "there is no baseline");
    CHECK(empty.found.reason == "the baseline has no bytes");
    CHECK_FALSE(alone.baseline_size.has_value());
    CHECK(empty.baseline_size == 0U);
  }
}

TEST_CASE("the entropy of few random bytes is biased low, and the corrected one is closer to the true value") {
  constexpr int rounds = 200;
  constexpr int bytes = 2000;
  std::mt19937 chosen(7);
  std::uniform_int_distribution<std::size_t> any(0, 255);
  double plain = 0;
  double corrected = 0;
  for (int i = 0; i < rounds; ++i) {
    byte_counts counts{};
    for (int k = 0; k < bytes; ++k) ++counts[any(chosen)];
    plain += *value_of("entropy", counts) / rounds;
    corrected += *value_of("entropy_corrected", counts) / rounds;
  }
  CHECK(plain < 7.93);
  CHECK(std::abs(corrected - 8) < 0.01);
}

TEST_CASE("p-values of random bytes are spread evenly: one in ten is below 0.1") {
  constexpr int rounds = 1000;
  std::mt19937 chosen(11);
  std::uniform_int_distribution<std::size_t> any(0, 255);
  int low = 0;
  for (int i = 0; i < rounds; ++i) {
    byte_counts counts{};
    for (int k = 0; k < 5000; ++k) ++counts[any(chosen)];
    low += *value_of("chi2_p", counts) < 0.1 ? 1 : 0;
  }
  CHECK(low > 65);
  CHECK(low < 140);
}

TEST_CASE("lines, code points and shares equal those counted by hand") {
  const byte_counts counts = counts_of(
      "gr\xc3\xb6\xc3\x9f"
      "e\nx\n\xff");
  CHECK(value_of("lines", counts) == 2.0);
  CHECK(value_of("code_points", counts) == 9.0);
  CHECK(value_of("mean_line_length", counts) == 4.5);
  CHECK(value_of("ascii_share", counts) == 6.0 / 11);
  CHECK(value_of("printable_share", counts) == 4.0 / 11);
  CHECK_FALSE(value_of("mean_line_length", counts_of("no end")).has_value());
}

TEST_CASE(
    "the upper tail of chi-squared is 1 at 0 and 0 at huge values, and its median is near the degrees of freedom") {
  CHECK(chi_squared_tail(0, 5) == 1.0);
  CHECK(chi_squared_tail(1e300, 255) == 0.0);
  CHECK(chi_squared_tail(4.351460191096, 5) == doctest::Approx(0.5).epsilon(1e-9));
  CHECK(chi_squared_tail(2, 2) == doctest::Approx(std::exp(-1)).epsilon(1e-12));
}

TEST_CASE("the baseline of previous windows is the sum of the last ones, recounted from scratch, and absent at first") {
  std::mt19937_64 chosen(3);
  for (const std::size_t windows : {1U, 2U, 5U}) {
    CAPTURE(windows);
    previous_baseline baseline(windows);
    CHECK(baseline.get() == nullptr);
    std::deque<byte_counts> closed;
    for (int i = 0; i < 20; ++i) {
      byte_counts next{};
      for (std::uint64_t& each : next) each = chosen() >> 8U;
      baseline.close(next);
      closed.push_back(next);
      if (closed.size() > windows) closed.pop_front();
      byte_counts sum{};
      for (const byte_counts& each : closed) {
        for (std::size_t byte = 0; byte < sum.size(); ++byte) sum[byte] += each[byte];
      }
      REQUIRE(baseline.get() != nullptr);
      CHECK(*baseline.get() == sum);
    }
  }
}
