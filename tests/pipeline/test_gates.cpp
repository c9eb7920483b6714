// Conditions over counts, which are true, false or unknown, and the reports of a watcher.
#include "config/scheme.hpp"
#include "config/usage_error.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/conditions/formula.hpp"
#include "report/conditions/watcher.hpp"
#include "report/formats/report_alert.hpp"
#include "report/measures/measure.hpp"

#include "report_samples.hpp"
#include "tests/support/usage_errors.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace gpuhist::pipeline;
using namespace gpuhist::report;
using namespace gpuhist::report::gates;
using gpuhist::config::find_scheme;
using gpuhist::config::parse_expression;
using gpuhist::config::scheme;

namespace {

const std::vector<scheme>& schemes() {
  static const std::vector<scheme> result = {find_scheme("classes"), find_scheme("letters"), find_scheme("bytes")};
  return result;
}

gpuhist::gpu::tally tally_of(std::string_view text, const gpuhist::gpu::partition& partition) {
  gpuhist::gpu::tally result(partition.classes);
  for (const char c : text) ++result.counts[partition.class_of[static_cast<unsigned char>(c)]];
  return result;
}

condition condition_of(std::string_view text) { return {parse_expression(text), schemes()}; }

/// "true", "false" or "unknown": an expression evaluated for a text.
std::string outcome_of(std::string_view text, std::string_view expression,
                       const measures::byte_counts* baseline = nullptr) {
  const auto identity = gpuhist::gpu::partition::identity();
  const auto counts = tally_of(text, identity);
  const verdict found =
      condition_of(expression).holds_for({.counts = counts, .partition = identity, .baseline = baseline});
  if (!found) return "unknown";
  return *found ? "true" : "false";
}

std::string error_of(std::string_view text) {
  return gpuhist::test::usage_error_of([&] { condition_of(text); });
}

struct row {
  std::string_view condition;
  std::string_view expected;
};

/// Collects the reports of a watcher.
struct report_recorder {
  std::vector<firing> all;
  std::function<void(const firing&)> sink() {
    return [this](const firing& each) { all.push_back(each); };
  }
};

watch_list list_of(std::string_view fail, std::string_view alert = "") {
  watch_list result;
  if (!fail.empty()) result.gates.push_back({.effect = gate::kind::fail, .when = condition_of(fail)});
  if (!alert.empty()) result.gates.push_back({.effect = gate::kind::alert, .when = condition_of(alert)});
  return result;
}

}  // namespace

TEST_CASE("names denote bytes, lines, measures, and the shares and counts of buckets") {
  // 12 bytes: 3 digits, 4 lower, 2 upper, 2 line feeds, 1 of punctuation
  for (const row& each : {row{"bytes == 12", "true"},
                          row{"lines == 2", "true"},
                          row{"digit == 0.25", "true"},
                          row{"share(digit) == digit", "true"},
                          row{"count(digit) == 3", "true"},
                          row{"classes.digit * bytes == 3", "true"},
                          row{"count(classes.upper) + count(lower) == 6", "true"},
                          row{"bytes.0x0a == lines / bytes", "true"},
                          row{"'a-d' > 0.33 && 'a-d' < 0.34", "true"},
                          row{"count(letters.other) == 8", "true"},
                          row{"distinct == 11", "true"},
                          row{"mean_line_length == 5", "true"},
                          row{"ascii_share < 1", "false"},
                          row{"entropy > 3.4 && entropy < 3.5", "true"},
                          row{"'non-ascii' > 0", "false"},
                          row{"bytes >= 12B", "true"},
                          row{"-digit < 0 && !(digit > 0.5)", "true"},
                          row{"2 + 3 * 4 == 14 && (2 + 3) * 4 == 20", "true"},
                          row{"10 - 2 - 3 == 5 && 16 / 4 / 2 == 2", "true"},
                          row{"1 != 1 || 2 <= 1", "false"}}) {
    CAPTURE(each.condition);
    CHECK(outcome_of("abcdXY\n123!\n", each.condition) == each.expected);
  }
}

TEST_CASE("a name without a value makes unknown what depends on it, and nothing else") {
  for (const row& each :
       {row{"chi2 > 0", "unknown"}, row{"chi2 <= 0", "unknown"}, row{"!(chi2 > 0)", "unknown"},
        row{"chi2 != chi2", "unknown"}, row{"chi2 + 1 > 0", "unknown"}, row{"-chi2 < 0", "unknown"},
        row{"chi2 > 0 && bytes > 100", "false"}, row{"bytes > 100 && chi2 > 0", "false"},
        row{"chi2 > 0 && bytes > 1", "unknown"}, row{"bytes > 1 && chi2 > 0", "unknown"},
        row{"chi2 > 0 || bytes > 1", "true"}, row{"bytes > 1 || chi2 > 0", "true"},
        row{"chi2 > 0 || bytes > 100", "unknown"}, row{"chi2 > 0 || chi2 <= 0", "unknown"},
        row{"!(chi2 > 0 && bytes > 100)", "true"}, row{"1 / 0 > 1", "unknown"}, row{"0 / 0 == 0 / 0", "unknown"},
        row{"1e308 * 10 > 1", "unknown"}, row{"jsd > 0", "unknown"}}) {
    CAPTURE(each.condition);
    CHECK(outcome_of("only a few", each.condition) == each.expected);
  }
  CHECK(outcome_of("", "digit < 1") == "unknown");
  CHECK(outcome_of("", "count(digit) == 0 && bytes == 0 && lines == 0") == "true");
}

TEST_CASE("measures that compare use the baseline that is passed") {
  const auto identity = gpuhist::gpu::partition::identity();
  const auto baseline = measures::counts_of(tally_of("aaaabbbb", identity));
  CHECK(outcome_of("ab", "jsd == 0", &baseline) == "true");
  CHECK(outcome_of("xy", "jsd == 1", &baseline) == "true");
}

TEST_CASE("conditions without measures can be evaluated on any partition that the schemes are folded from") {
  const auto coarse = coarsest_partition(std::vector<scheme>{find_scheme("classes")});
  REQUIRE(coarse.classes < 16);
  const condition coarse_condition(parse_expression("digit == 0.25 && count(upper) == 2 && lines == 2 && bytes == 12"),
                                   std::vector<scheme>{find_scheme("classes")});
  CHECK_FALSE(coarse_condition.needs_byte_counts());
  CHECK(coarse_condition.holds_for({.counts = tally_of("abcdXY\n123!\n", coarse), .partition = coarse}) == true);
  CHECK(condition_of("entropy > 1 || digit > 0").needs_byte_counts());
  CHECK(condition_of("entropy > 1").needs_baseline() == nullptr);
  const condition compares = condition_of("digit > 1 || icd_p < 0.01");
  REQUIRE(compares.needs_baseline() != nullptr);
  CHECK(compares.needs_baseline()->typed == "icd_p");
}

TEST_CASE("an unknown name is refused with a suggestion, and an ambiguous bucket with the choices") {
  CHECK(error_of("digits > 1").starts_with("there is no \"digits\"; did you mean digit?\n"));
  CHECK(error_of("1 < entropie").starts_with("there is no \"entropie\"; did you mean entropy?\n"));
  CHECK(error_of("1 < entropie").ends_with("\n    1 < entropie\n        ^"));
  CHECK(error_of("class.digit > 1").starts_with("there is no \"class.digit\"; did you mean classes.digit?"));
  CHECK(error_of("count(bytes) > 1").starts_with("there is no \"bytes\""));
  CHECK(error_of("zzzzzzzz > 1")
            .find("names are bytes, lines, words, malformed, measures (--measures) and the buckets of classes, ") !=
        std::string::npos);
  CHECK(error_of("letters.digit > 1").starts_with("there is no \"letters.digit\""));
  CHECK(error_of("classes.letters.other > 1").find("no meaning") != std::string::npos);
  const std::vector<scheme> both = {find_scheme("letters"), find_scheme("alphabet")};
  CHECK_THROWS_WITH_AS(
      condition(parse_expression("other > 1"), both),
      "both letters and alphabet have this bucket; name the scheme, as in letters.other\n    other > 1\n    ^",
      gpuhist::config::usage_error);
}

TEST_CASE("a watcher reports each condition that holds, with its place and its values") {
  report_recorder reports;
  const watch_list list = list_of("digit > 0.5 || chi2 > 1", "bytes > 2 && bytes < 10");
  const auto identity = gpuhist::gpu::partition::identity();
  const measures::measuring nothing;
  watcher watched(list, identity, nothing, reports.sink());
  const auto four = tally_of("12ab", identity);
  const auto five = tally_of("1234b", identity);
  CHECK_FALSE(watched.watch({.type = subject::kind::input, .source = "a", .end = 4, .counts = four}));
  CHECK_FALSE(watched.has_failed());
  CHECK_FALSE(watched.watch({.type = subject::kind::window,
                             .source = "b\n",
                             .window = 7,
                             .begin = 35,
                             .end = 40,
                             .lines = line_range{3, 5},
                             .counts = five}));
  CHECK(watched.has_failed());
  REQUIRE(reports.all.size() == 3);
  CHECK(firing_for_people(reports.all[0]) ==
        "--alert-if 'bytes > 2 && bytes < 10' holds for a, bytes 0 to 4, line 1: bytes = 4");
  CHECK(firing_for_people(reports.all[1]) ==
        "--fail-if 'digit > 0.5 || chi2 > 1' holds for b\\x0a, window 7, bytes 35 to 40, lines 3 to 5: digit = 0.8, "
        "chi2 = unknown");
  CHECK(firing_for_people(reports.all[2]) ==
        "--alert-if 'bytes > 2 && bytes < 10' holds for b\\x0a, window 7, bytes 35 to 40, lines 3 to 5: bytes = 5");
}

TEST_CASE("an input has the lines that end in it, one without text has none, and totals have none") {
  report_recorder reports;
  const watch_list list = list_of("", "bytes >= 0");
  const auto identity = gpuhist::gpu::partition::identity();
  const measures::measuring nothing;
  watcher watched(list, identity, nothing, reports.sink());
  const auto text = tally_of("a\nb\nc", identity);
  const auto none = tally_of("", identity);
  watched.watch({.type = subject::kind::input, .source = "a", .end = 5, .counts = text});
  watched.watch({.type = subject::kind::input, .source = "empty", .end = 0, .counts = none});
  watched.watch({.type = subject::kind::total, .source = {}, .end = 5, .counts = text});
  REQUIRE(reports.all.size() == 3);
  CHECK(reports.all[0].lines == line_range{.first = 1, .last = 2});
  CHECK_FALSE(reports.all[1].lines);
  CHECK_FALSE(reports.all[2].lines);
  CHECK(nlohmann::json::parse(alert_line(reports.all[0], {}))["end_line"] == 2);
  CHECK_FALSE(nlohmann::json::parse(alert_line(reports.all[1], {})).contains("first_line"));
}

TEST_CASE("a window is compared with its own baseline rather than with that of the watch") {
  report_recorder reports;
  const watch_list list = list_of("jsd == 0");
  const auto identity = gpuhist::gpu::partition::identity();
  measures::measuring measuring;
  const auto same = tally_of("abab", identity);
  const auto own = measures::counts_of(same);
  measuring.baseline = std::make_shared<const measures::byte_counts>(measures::counts_of(tally_of("xyz", identity)));
  watcher watched(list, identity, measuring, reports.sink());
  watched.watch({.type = subject::kind::window, .source = "s", .counts = same});
  CHECK(reports.all.empty());
  watched.watch({.type = subject::kind::window, .source = "s", .counts = same, .baseline = &own});
  CHECK(reports.all.size() == 1);
}

TEST_CASE("only subjects of the kinds that are watched are checked") {
  report_recorder reports;
  watch_list list = list_of("bytes >= 0");
  list.totals = false;
  const auto identity = gpuhist::gpu::partition::identity();
  const measures::measuring nothing;
  watcher watched(list, identity, nothing, reports.sink());
  const auto some = tally_of("some", identity);
  watched.watch({.type = subject::kind::total, .source = {}, .counts = some});
  CHECK(reports.all.empty());
  watched.watch({.type = subject::kind::input, .source = "a", .counts = some});
  CHECK(reports.all.size() == 1);
  CHECK_FALSE(watch_list{}.covers(subject::kind::total));
}

TEST_CASE("--fail-fast ends the run at once if a gate fails, but not for an alert") {
  report_recorder reports;
  watch_list list = list_of("digit > 0.5", "bytes > 0");
  list.fail_fast = true;
  const auto identity = gpuhist::gpu::partition::identity();
  const measures::measuring nothing;
  watcher watched(list, identity, nothing, reports.sink());
  CHECK_FALSE(watched.watch({.type = subject::kind::input, .source = "a", .counts = tally_of("abc", identity)}));
  CHECK(watched.watch({.type = subject::kind::input, .source = "a", .counts = tally_of("123", identity)}));
}

TEST_CASE("the totals of a single input are not checked a second time") {
  auto single = gpuhist::test::report_of({"classes"}, "12");
  const watch_list list{
      .gates = {{.effect = gate::kind::fail,
                 .when = {parse_expression("digit == 1"), std::vector<scheme>{find_scheme("classes")}}}}};
  report_recorder reports;
  watcher watched(list, single.partition, single.measuring, reports.sink());
  watch_totals(single, list, watched);
  CHECK(reports.all.empty());
  gpuhist::test::add_input(single, "another", "3");
  watch_totals(single, list, watched);
  REQUIRE(reports.all.size() == 1);
  CHECK(firing_for_people(reports.all[0]) == "--fail-if 'digit == 1' holds for the totals, 3 bytes: digit = 1");
}

TEST_CASE("conditions about facts are checked for what was observed in an input, others for its counts") {
  line_names names{.matches = {"error", "slow"}, .has_numbers = false, .has_values = true};
  watch_list list;
  for (const std::string_view each :
       {"match(slow) / lines > 0.5", "p90(bytes) == 12", "match(error) == 0", "lines == 1"}) {
    list.gates.push_back(
        {.effect = gate::kind::alert, .when = condition(parse_expression(each), schemes(), {}, &names)});
  }
  list.facts = names.used;
  list.matches = names.matches;
  const auto identity = gpuhist::gpu::partition::identity();
  const measures::measuring none;
  report_recorder reported;
  watcher watched(list, identity, none, reported.sink());
  input_report input;
  input.name = "a.log";
  input.verified = tally_of("a\nb", identity);
  const auto conditions = [&] {
    reported.all.clear();
    CHECK_FALSE(watch_input(input, list, watched));
    std::vector<std::string> found;
    for (const firing& each : reported.all) found.push_back(each.condition);
    return found;
  };
  using texts = std::vector<std::string>;
  // without text that was observed, no line matches and quantiles are unknown
  CHECK(conditions() == texts{"lines == 1", "match(error) == 0"});
  input.observed = {.lines = 3, .matches = {{1, 9}, {2, 20}, {0, 0}}, .values = {12.0}};
  CHECK(conditions() == texts{"lines == 1", "match(slow) / lines > 0.5", "p90(bytes) == 12"});
  CHECK(reported.all[1].values == std::vector<named_value>{{"match(slow)", 2}, {"lines", 3}});
  input.observed->values = {std::nullopt};
  CHECK(conditions() == texts{"lines == 1", "match(slow) / lines > 0.5"});

  run_counts result;
  result.verified = input.verified;
  reported.all.clear();
  watch_totals(result, list, watched, &*input.observed);
  CHECK(reported.all.size() == 2);
}

TEST_CASE("an alert is a line of JSON with its place, its values, and the exact bytes of its source's name") {
  const firing fired{.effect = gate::kind::alert,
                     .condition = "x > 1",
                     .type = subject::kind::window,
                     .source = "caf\xe9",
                     .window = 3,
                     .begin = 10,
                     .end = 20,
                     .lines = line_range{.first = 12, .last = 40},
                     .values = {{.name = "x", .value = 1.5}, {.name = "chi2", .value = std::nullopt}}};
  const std::string line = alert_line(fired, {});
  CHECK(line.back() == '\n');
  const auto read = nlohmann::json::parse(line);
  CHECK(read["kind"] == "alert");
  CHECK(read["option"] == "--alert-if");
  CHECK(read["condition"] == "x > 1");
  CHECK(read["of"] == "window");
  CHECK(read["window"] == 3);
  CHECK(read["name_base64"] == "Y2Fm6Q==");
  CHECK(read["begin"] == 10);
  CHECK(read["end"] == 20);
  CHECK(read["first_line"] == 12);
  CHECK(read["end_line"] == 40);
  CHECK(read["values"]["x"] == 1.5);
  CHECK(read["values"]["chi2"].is_null());
}
