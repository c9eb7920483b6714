// Measures against values that NumPy and SciPy computed (measure_values.py), and at the edges: no bytes, one byte, one
// value, counts near 2^63.
#include "pipeline/report/measures/chi_squared_tail.hpp"
#include "pipeline/report/measures/measure.hpp"
#include "pipeline/report/measures/previous_baseline.hpp"

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
#include <string>

using namespace gpuhist::pipeline::measures;

namespace {

using formula = std::uint64_t (*)(std::uint64_t byte);

byte_counts made_by(formula of) {
  byte_counts made{};
  for (std::size_t byte = 0; byte < made.size(); ++byte) made[byte] = of(byte);
  return made;
}

/// As measure_values.py has them.
const std::map<std::string_view, byte_counts>& samples() {
  static const std::map<std::string_view, byte_counts> made = {
      {"noise", made_by([](std::uint64_t b) { return (37 * b * b + 11 * b + 5) % 97 + 20; })},
      {"falling", made_by([](std::uint64_t b) { return 1'000'000 / (b + 1); })},
      {"falling a little less", made_by([](std::uint64_t b) { return 1'000'000 / (b + 2) + 300; })},
      {"a few", made_by([](std::uint64_t b) { return b >= 60 && b < 100 ? 3 * (b % 7) : 0; })},
      {"one value", made_by([](std::uint64_t b) -> std::uint64_t { return b == 97 ? 5000 : 0; })},
      {"another value", made_by([](std::uint64_t b) -> std::uint64_t { return b == 98 ? 700 : 0; })},
      {"chance", made_by([](std::uint64_t b) { return (37 * b * b + 11 * b + 5) % 37 + 82; })},
      {"chance again", made_by([](std::uint64_t b) { return (29 * b * b + 7 * b + 3) % 37 + 82; })},
      {"flat", made_by([](std::uint64_t b) { return 10 + b % 2; })},
      {"huge", made_by([](std::uint64_t b) { return (std::uint64_t{1} << 55U) + b * (std::uint64_t{1} << 46U); })}};
  return made;
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
  byte_counts made{};
  for (const char c : text) ++made[static_cast<unsigned char>(c)];
  return made;
}

}  // namespace

TEST_CASE("every measure is what SciPy says it is, and nothing where a sample cannot support it") {
  std::set<std::string_view> checked;
  for (const gpuhist::test::measure_value& each : gpuhist::test::measure_values) {
    CAPTURE(each.sample);
    CAPTURE(each.baseline);
    CAPTURE(each.measure);
    const byte_counts* const baseline = each.baseline.empty() ? nullptr : &samples().at(each.baseline);
    const measurement taken = take(each.measure, samples().at(each.sample), baseline);
    CHECK(taken.found.value.has_value() == each.value.has_value());
    CHECK(taken.found.reason.empty() == taken.found.value.has_value());
    CHECK(taken.sample_size == bytes_in(samples().at(each.sample)));
    if (!taken.found.value || !each.value) continue;
    checked.insert(each.measure);
    const double allowed = 1e-9 * std::abs(*each.value) + 1e-15;
    INFO(*taken.found.value, " instead of ", *each.value);
    CHECK(std::abs(*taken.found.value - *each.value) <= allowed);
  }
  CHECK(checked.size() == all_measures().size());
}

TEST_CASE("names of measures are their own, of letters, digits and underscores, and each row is complete") {
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

TEST_CASE("of no bytes there are no measures but numbers of things, and each says why") {
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

TEST_CASE("of one byte the entropy is 0, the mean is the byte, and no test of a distribution is made") {
  const byte_counts one = counts_of("A");
  CHECK(value_of("entropy", one) == 0.0);
  CHECK_FALSE(std::signbit(*value_of("entropy", one)));
  CHECK(value_of("entropy_corrected", one) == 0.0);
  CHECK(value_of("mean", one) == 65.0);
  CHECK(value_of("distinct", one) == 1.0);
  CHECK(value_of("printable_share", one) == 1.0);
  for (const std::string_view name : {"chi2", "chi2_p", "chi2_baseline", "chi2_baseline_p", "icd", "icd_p"}) {
    CAPTURE(name);
    CHECK_FALSE(value_of(name, one, &samples().at("noise")).has_value());
  }
}

TEST_CASE("chi-squared needs an expected count of 5, which 1,280 bytes are the first to have") {
  byte_counts counts{};
  counts['x'] = 1279;
  CHECK(take("chi2", counts).found == finding::none("an expected count is under 5"));
  counts['x'] = 1280;
  CHECK(value_of("chi2", counts) == 255.0 * 1280);
  CHECK(value_of("chi2_p", counts) == 0.0);
}

TEST_CASE("what is equal to its baseline diverges by nothing, and what shares no value with it by one bit") {
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

TEST_CASE("the character distribution does not ask which values are frequent, only how frequent they are") {
  byte_counts turned = samples().at("falling");
  std::ranges::reverse(turned);
  CHECK(value_of("icd", turned, &samples().at("falling")) == 0.0);
  CHECK(*value_of("jsd", turned, &samples().at("falling")) > 0.5);
}

TEST_CASE("counts near 2^63 overflow nothing: every measure is finite and what the same shares give of fewer bytes") {
  const std::uint64_t most = (std::uint64_t{1} << 63U) - 1;
  byte_counts huge{};
  byte_counts same{};
  byte_counts full;
  full.fill(most);
  for (std::size_t byte = 32; byte < 40; ++byte) {
    huge[byte] = most;
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

TEST_CASE("without a baseline, or with an empty one, what compares says so, and the rest is as it is") {
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

TEST_CASE("entropy of few random bytes is biased low, and corrected it is nearer to the truth") {
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

TEST_CASE("p-values of random bytes are spread evenly: one in ten is under a tenth") {
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

TEST_CASE("lines, code points and shares are what can be counted by hand") {
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

TEST_CASE("the upper tail of chi-squared is 1 at nothing, 0 beyond all doubles, and its median near the freedom") {
  CHECK(chi_squared_tail(0, 5) == 1.0);
  CHECK(chi_squared_tail(1e300, 255) == 0.0);
  CHECK(chi_squared_tail(4.351460191096, 5) == doctest::Approx(0.5).epsilon(1e-9));
  CHECK(chi_squared_tail(2, 2) == doctest::Approx(std::exp(-1)).epsilon(1e-12));
}

TEST_CASE(
    "the baseline of previous windows is the sum of the last ones, recounted from scratch, and nothing at first") {
  std::mt19937_64 chosen(3);
  for (const std::size_t windows : {1U, 2U, 5U}) {
    CAPTURE(windows);
    previous_baseline kept(windows);
    CHECK(kept.get() == nullptr);
    std::deque<byte_counts> closed;
    for (int i = 0; i < 20; ++i) {
      byte_counts next{};
      for (std::uint64_t& each : next) each = chosen() >> 8U;
      kept.close(next);
      closed.push_back(next);
      if (closed.size() > windows) closed.pop_front();
      byte_counts sum{};
      for (const byte_counts& each : closed) {
        for (std::size_t byte = 0; byte < sum.size(); ++byte) sum[byte] += each[byte];
      }
      REQUIRE(kept.get() != nullptr);
      CHECK(*kept.get() == sum);
    }
  }
}
