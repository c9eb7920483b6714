// Groups of one text that are read at the same time give what the text gives in order. Filters that drop units with
// damaged text: the units that remain, and what is reported of the others, are those of an oracle, wherever damage
// begins and ends, and however many readers share the text of an input.
#include "gpu/cuda/kernels_on_host.hpp"
#include "tests/support/unit_strings.hpp"
#include "unit_oracle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace gpuhist::test;
namespace measured = gpuhist::report::units;

namespace {

// What a run reports.
struct outcome {
  unit_totals totals;
  std::vector<unit_place> selected{};
  std::vector<std::vector<std::uint64_t>> counts{};  // of the selected units
  std::vector<std::pair<double, unit_place>> top{};
  std::vector<distribution_bin> bins;
  std::vector<measured::match_count> matches{};
  std::uint64_t unmatched = 0;
  std::uint64_t unmatched_bytes = 0;
  std::string kept;
  std::vector<std::optional<double>> watched{};

  bool operator==(const outcome&) const = default;
};

outcome outcome_of(measured_run& run, std::string kept) {
  const measured::unit_result result = run.run().result();
  outcome made{
      .totals = result.totals, .bins = result.values.bins(), .kept = std::move(kept), .watched = result.watched};
  CHECK(run.lines == lines_of(place_lines(), run.selected));
  for (const unit_record& each : run.selected) {
    made.selected.push_back(each.place);
    made.counts.emplace_back(each.counts.counts.begin(), each.counts.counts.end());
  }
  if (result.groups) {
    made.matches = result.groups->all.matches;
    made.unmatched = result.groups->all.unmatched;
    made.unmatched_bytes = result.groups->all.unmatched_bytes;
  }
  for (const ranked_unit& each : result.top) made.top.emplace_back(each.value, each.unit.place);
  return made;
}

using gpuhist::gpu::cuda::units::piece_classes;
using gpuhist::gpu::cuda::units::piece_rows;

partition coarse() { return gpuhist::pipeline::coarsest_partition(std::vector{find_scheme("classes")}); }

// The rows of the pieces of a text, which ends pieces after delimiters, and anywhere else so that none is longer than
// this.
std::vector<std::uint32_t> rows_of(std::string_view text, const piece_classes& classes, std::mt19937& random,
                                   std::size_t longest) {
  std::vector<std::uint32_t> words;
  while (!text.empty()) {
    const std::size_t most = std::min(text.size(), 1 + random() % longest);
    const std::size_t delimiter = text.find(static_cast<char>(classes.delimiter));
    const bool ends_unit = delimiter < most;
    const std::string_view piece = text.substr(0, ends_unit ? delimiter + 1 : most);
    std::vector<std::uint16_t> row(classes.counters);
    for (const char each : piece) {
      const unsigned own = classes.class_of[static_cast<unsigned char>(each)];
      if (own > 0 && own < classes.counters) ++row[own];
    }
    row[0] = static_cast<std::uint16_t>(piece.size() | (ends_unit ? piece_rows::end_flag : 0));
    for (std::size_t i = 0; i < row.size(); i += 2) words.push_back(row[i] | std::uint32_t{row[i + 1]} << 16U);
    text.remove_prefix(piece.size());
  }
  return words;
}

// Joins units for which the condition does not hold, some of them.
std::vector<std::uint32_t> without_some(const std::vector<std::uint32_t>& rows, const piece_classes& classes,
                                        std::mt19937& random) {
  using gpuhist::gpu::cuda::units::piece_numbers;
  if (!classes.condition.exists()) return rows;
  const std::size_t words = classes.words_of_row();
  std::vector<std::uint32_t> made;
  bool is_joining = false;
  for (std::size_t at = 0; at < rows.size(); at += words) {
    const piece_numbers row{&rows[at], classes.counters};
    const bool is_whole = at > 0 && row.ends_unit() && piece_numbers{&rows[at - words], classes.counters}.ends_unit();
    if (!is_whole || holds(classes.condition, row) || random() % 4 == 0) {
      made.insert(made.end(), &rows[at], &rows[at] + words);
      is_joining = false;
      continue;
    }
    if (!is_joining) made.resize(made.size() + words);
    is_joining = true;
    made[made.size() - words] += 1U << 16U;
    made[made.size() - words + 1] += row.bytes();
  }
  return made;
}

std::vector<std::string_view> cut_at_random(std::string_view text, std::mt19937& random, std::size_t longest_group) {
  std::vector<std::string_view> groups;
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(groups.back().size())) {
    groups.push_back(rest.substr(0, random() % (longest_group + 1)));
  }
  return groups;
}

// Passes groups of one text to readers of their own, in an order that is random, and joins the readers in order.
class concurrent_groups {
 public:
  concurrent_groups(measured_run& run, std::vector<std::string_view> groups) : run_(run), rest_(std::move(groups)) {
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      readers_.push_back(i == 0 ? run.run().open("input", 0) : run.run().open_later("input", 0));
    }
  }

  // Passes the rows of pieces instead of the text of some groups.
  void measure_some(std::mt19937& random, std::size_t longest) {
    measured_.resize(rest_.size());
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (random() % 3 > 0) {
        const piece_classes& classes = *run_.run().piece_classes();
        measured_[i] = without_some(rows_of(rest_[i], classes, random, longest), classes, random);
      }
    }
  }

  // Passes the rows of extents in which a device has searched strings instead of the text of some groups.
  void search_some(std::mt19937& random, std::size_t longest_extent) {
    measured_.resize(rest_.size());
    const piece_classes& classes = *run_.run().piece_classes();
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (random() % 3 == 0) continue;
      unit_text extents;
      for (const std::string_view each : cut_at_random(rest_[i], random, longest_extent)) {
        extents.add(std::as_bytes(std::span(each)));
      }
      measured_[i] =
          measure_pieces(extents, classes, classes.delimiter, gpuhist::gpu::cuda::units::measure_on_host).rows;
    }
  }

  std::string read(std::mt19937& random, std::size_t longest_piece) {
    while (first_ < rest_.size()) {
      const std::size_t chosen = first_ + random() % (rest_.size() - first_);
      if (!readers_[chosen]->is_full()) pass(chosen, 1 + random() % longest_piece);
      while (first_ < rest_.size() && rest_[first_].empty()) end_first();
    }
    return std::move(kept_);
  }

 private:
  void pass(std::size_t group, std::size_t size) {
    if (group < measured_.size() && !measured_[group].empty()) return pass_rows(group, size);
    const std::string_view piece = rest_[group].substr(0, size);
    if (piece.empty()) return;
    rest_[group].remove_prefix(readers_[group]->take_some(std::as_bytes(std::span(piece)), false));
    if (group == first_) drain();
  }

  void pass_rows(std::size_t group, std::size_t size) {
    const piece_classes& classes = *run_.run().piece_classes();
    std::vector<std::uint32_t>& words = measured_[group];
    const std::size_t given = std::min(words.size(), size * classes.words_of_row());
    const std::size_t taken =
        readers_[group]->take_pieces({std::span(words).first(given), classes}, 0, false) * classes.words_of_row();
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(taken));
    if (words.empty()) rest_[group] = {};
    if (group == first_) drain();
  }

  void end_first() {
    if (first_ + 1 < rest_.size()) {
      readers_[first_ + 1]->follow(std::move(readers_[first_]));
      ++first_;
      drain();
    } else {
      readers_[first_]->end(input_observer::ending::whole);
      drain();
      const auto found = readers_[first_]->found();
      CHECK((found ? found->values : std::vector<std::optional<double>>()) == run_.run().result().watched);
      ++first_;
    }
  }

  void drain() {
    for (auto kept = readers_[first_]->next_kept(); !kept.empty(); kept = readers_[first_]->next_kept()) {
      kept_.append(reinterpret_cast<const char*>(kept.data()), kept.size());
    }
    run_.run().publish();
  }

  measured_run& run_;
  std::vector<std::string_view> rest_;                // of the groups
  std::vector<std::vector<std::uint32_t>> measured_;  // rows of pieces of the groups; empty: text is passed
  std::vector<std::unique_ptr<input_observer>> readers_;
  std::size_t first_ = 0;
  std::string kept_;
};

outcome in_order(const unit_plan& plan, std::string_view text, const partition& counted = partition::identity()) {
  measured_run run(plan, nullptr, counted);
  std::mt19937 random(1);
  std::string kept = concurrent_groups(run, {text}).read(random, text.size() + 1);
  return outcome_of(run, std::move(kept));
}

outcome in_groups(const unit_plan& plan, std::string_view text, std::mt19937& random, std::size_t longest_group,
                  std::size_t longest_piece) {
  measured_run run(plan);
  std::string kept = concurrent_groups(run, cut_at_random(text, random, longest_group)).read(random, longest_piece);
  return outcome_of(run, std::move(kept));
}

measured::watched_values watched_quantiles() {
  using gpuhist::report::gates::line_fact;
  using kind = line_fact::kind;
  return {.formulas = {formula_of("bytes"), formula_of("count(digit) / bytes")},
          .percents = {{50, 99}, {75}},
          .conditions = {{.type = kind::quantile, .of = "bytes", .percent = 50},
                         {.type = kind::quantile, .of = "count(digit) / bytes", .percent = 75},
                         {.type = kind::quantile, .of = "bytes", .percent = 99},
                         {.type = kind::sum, .of = "bytes"},
                         {.type = kind::mean, .of = "bytes"}}};
}

// The nearest rank of the lengths of units: whole numbers below 256.
std::optional<double> quantile_of_lengths(std::vector<std::size_t> lengths, std::size_t percent) {
  if (lengths.empty()) return std::nullopt;
  std::ranges::sort(lengths);
  return static_cast<double>(lengths[std::max<std::size_t>(1, (percent * lengths.size() + 99) / 100) - 1]);
}

TEST_CASE("quantiles of the units that are counted are those of their sorted values, however the text is read") {
  std::mt19937 random(9);
  for (const bool has_condition : {false, true}) {
    for (int repeat = 0; repeat < 100; ++repeat) {
      unit_plan plan = plan_of(text_lines, "count(digit) > 0");
      if (!has_condition) plan.where.reset();
      plan.watched = watched_quantiles();
      const std::string text = random_text(random, random() % 250, small_alphabet);
      std::vector<std::size_t> lengths;
      for (const piece& each : split(text, text_lines)) {
        if (!has_condition || count_if(each.text, is_digit) > 0) lengths.push_back(each.text.size());
      }
      const outcome found = in_groups(plan, text, random, 1 + random() % 80, 1 + random() % 20);
      CAPTURE(text);
      REQUIRE(found.watched.size() == 5);
      CHECK(found.watched[0] == quantile_of_lengths(lengths, 50));
      CHECK(found.watched[2] == quantile_of_lengths(lengths, 99));
      const auto sum = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}));
      CHECK(found.watched[3] == (lengths.empty() ? std::nullopt : std::optional(sum)));
      CHECK(found.watched[4] ==
            (lengths.empty() ? std::nullopt : std::optional(sum / static_cast<double>(lengths.size()))));
      CHECK(found == in_order(plan, text));
    }
  }
}

unit_plan filtered(unit_plan plan, measured::filtering::kept kept) {
  plan.filter = {.units = kept, .in_memory = 40};
  return plan;
}

TEST_CASE("groups of a text give the units, the ranks, the distribution and the kept text of the whole") {
  std::mt19937 random(5);
  for (const std::string_view condition :
       {"digit > 0.3", "words >= 2", "entropy > 1.2", "malformed > 0", "bytes > 3 && count(lower) < 4"}) {
    for (const char delimiter : {'\n', '\0', 'b', '\xff'}) {
      for (int repeat = 0; repeat < 15; ++repeat) {
        unit_plan plan = plan_of(records(delimiter), condition);
        plan.top = ranking{.number = static_cast<unsigned>(1 + random() % 5), .by = formula_of("words + bytes")};
        plan.distribution = formula_of("count(digit)");
        plan.watched = watched_quantiles();
        if (random() % 2 == 0) plan = filtered(plan, measured::filtering::kept::selected);
        if (random() % 2 == 0) plan = filtered(plan, measured::filtering::kept::others);
        const std::string text = random_text(random, random() % 400, small_alphabet);
        const std::size_t longest_group = 1 + random() % 80;
        CAPTURE(condition);
        CAPTURE(text);
        REQUIRE(in_groups(plan, text, random, longest_group, 1 + random() % 20) == in_order(plan, text));
      }
    }
  }
}

TEST_CASE("groups whose pieces a device has counted give the units, the ranks and the distribution of the text") {
  std::mt19937 random(7);
  const partition classes = coarse();
  for (const std::string_view condition : {"digit > 0.3", "bytes > 3 && count(lower) < 4", "lines > 1", "bytes > 0"}) {
    for (const char delimiter : {'\n', '\0', 'b', '\xff'}) {
      for (int repeat = 0; repeat < 25; ++repeat) {
        unit_plan plan = plan_of(records(delimiter), condition);
        plan.top = ranking{.number = static_cast<unsigned>(1 + random() % 5), .by = formula_of("count(upper) - bytes")};
        plan.distribution = formula_of("count(digit)");
        plan.watched = watched_quantiles();
        const std::string text = random_text(random, random() % 600, small_alphabet);
        measured_run run(plan, nullptr, classes);
        REQUIRE(run.run().piece_classes() != nullptr);
        concurrent_groups groups(run, cut_at_random(text, random, 1 + random() % 120));
        groups.measure_some(random, 1 + random() % 40);
        const std::string kept = groups.read(random, 1 + random() % 30);
        CAPTURE(condition);
        CAPTURE(text);
        REQUIRE(outcome_of(run, kept) == in_order(plan, text, classes));
      }
    }
  }
}

TEST_CASE("groups of which a device has omitted units give the selected units of the text") {
  std::mt19937 random(8);
  const partition classes = coarse();
  for (const std::string_view condition :
       {"digit > 0.3", "bytes > 3 && count(lower) < 4", "count(upper) / 0 > 1", "!(bytes > 5) || digit == 0.5"}) {
    for (int repeat = 0; repeat < 100; ++repeat) {
      const unit_plan plan = plan_of(text_lines, condition);
      const std::string text = random_text(random, random() % 900, small_alphabet);
      measured_run run(plan, nullptr, classes);
      REQUIRE(run.run().piece_classes()->condition.exists());
      concurrent_groups groups(run, cut_at_random(text, random, 1 + random() % 200));
      groups.measure_some(random, 1 + random() % 40);
      const std::string kept = groups.read(random, 1 + random() % 30);
      CAPTURE(condition);
      CAPTURE(text);
      REQUIRE(outcome_of(run, kept) == in_order(plan, text, classes));
    }
  }
}

TEST_CASE("a device omits units if only a condition needs them, it is short, and units are lines") {
  const auto omits = [&](const unit_plan& plan) {
    return measured_run(plan, nullptr, coarse()).run().piece_classes()->condition.exists();
  };
  CHECK(omits(plan_of(text_lines, "digit > 0.3 && count(upper) == 0")));
  CHECK_FALSE(omits(plan_of(records('b'), "digit > 0.3")));
  unit_plan ranked = plan_of(text_lines, "digit > 0.3");
  ranked.top = ranking{.number = 1, .by = formula_of("bytes")};
  CHECK_FALSE(omits(ranked));
  std::string sum = "bytes";
  for (int i = 0; i < 20; ++i) sum += " + bytes";
  CHECK_FALSE(omits(plan_of(text_lines, sum + " > 3")));
  std::string nested = "bytes";
  for (int i = 0; i < 8; ++i) nested = "1 + (" + nested + ")";
  CHECK_FALSE(omits(plan_of(text_lines, nested + " > 3")));
}

TEST_CASE("a device measures the units of a plan if a few classes of bytes determine all of its formulas") {
  const auto is_measured = [&](const unit_plan& plan) {
    return measured_run(plan, nullptr, coarse()).run().piece_classes() != nullptr;
  };
  CHECK_FALSE(measured_run(plan_of(text_lines, "digit > 0.3")).run().piece_classes() != nullptr);
  CHECK(is_measured(plan_of(text_lines, "digit > 0.3 && count(upper) == 0")));
  CHECK_FALSE(is_measured(plan_of(text_lines, "words > 3")));
  CHECK_FALSE(is_measured(plan_of(text_lines, "entropy > 1")));
  CHECK_FALSE(is_measured(plan_of(text_lines, "malformed > 0")));
  CHECK_FALSE(is_measured(plan_of(parts(100), "digit > 0.3")));
  CHECK_FALSE(is_measured(filtered(plan_of(text_lines, "digit > 0.3"), measured::filtering::kept::selected)));
}

// Expressions that are strings, of ASCII: RE2 refuses what is not UTF-8.
string_list random_ascii_strings(std::mt19937& random) {
  string_list strings = random_strings(random, 16, random() % 4 == 0 ? 255 : 9);
  std::erase_if(strings, [](const auto& each) {
    return std::ranges::any_of(each.text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  });
  if (strings.size() > 1) strings.resize(1 + random() % strings.size());
  return strings;
}

unit_plan plan_of_strings(const string_list& strings) {
  std::vector<gpuhist::report::lines::match_expression> typed;
  for (const auto& each : strings) {
    typed.push_back({.name = std::to_string(typed.size()), .pattern = (each.ignores_case ? "(?i)" : "") + each.text});
  }
  unit_plan plan{.shape = text_lines, .each = "line"};
  plan.lines = {.matches = std::make_shared<const gpuhist::report::lines::match_set>(std::move(typed), false),
                .max_bytes = 10};
  return plan;
}

void check_matches(const outcome& found, const string_list& strings, std::string_view text, bool first_only) {
  std::vector<measured::match_count> expected;
  for (std::size_t i = 0; i < strings.size(); ++i) expected.push_back({.name = std::to_string(i)});
  std::uint64_t unmatched = 0;
  std::uint64_t unmatched_bytes = 0;
  for (const auto& each : split(text, text_lines)) {
    std::uint64_t own = strings_in(each.text, strings);
    if (own == 0) {
      ++unmatched;
      unmatched_bytes += each.text.size();
    }
    if (first_only) own &= ~own + 1;
    for (std::size_t i = 0; i < strings.size(); ++i) {
      expected[i].lines += own >> i & 1U;
      expected[i].bytes += (own >> i & 1U) * each.text.size();
    }
  }
  REQUIRE(found.matches == expected);
  REQUIRE(found.unmatched == unmatched);
  REQUIRE(found.unmatched_bytes == unmatched_bytes);
  REQUIRE(found.totals.bytes == text.size());
}

TEST_CASE("groups in which a device has searched strings have the matches of a simple search, however they are cut") {
  std::mt19937 random(9);
  for (int repeat = 0; repeat < 1500; ++repeat) {
    const string_list strings = random_ascii_strings(random);
    if (strings.empty()) continue;
    unit_plan plan = plan_of_strings(strings);
    plan.lines->first_match_only = random() % 2 == 0;
    const std::size_t longest = repeat % 50 == 0 ? 60'000 : 800;
    const std::string text = random_lines(random, strings, random() % longest, 1 + random() % 400);
    measured_run run(plan);
    REQUIRE(run.run().piece_classes() != nullptr);
    concurrent_groups groups(run, cut_at_random(text, random, 1 + random() % (longest / 4)));
    groups.search_some(random, 1 + random() % (longest / 8));
    const std::string kept = groups.read(random, 1 + random() % 50);
    CAPTURE(repeat);
    CAPTURE(text);
    check_matches(outcome_of(run, kept), strings, text, plan.lines->first_match_only);
  }
}

TEST_CASE("lines that are not whole in a text have the matches of a simple search, whatever their length") {
  std::mt19937 random(10);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const string_list strings = random_ascii_strings(random);
    if (strings.empty()) continue;
    const unit_plan plan = plan_of_strings(strings);
    const std::string text = random_lines(random, strings, random() % 2000, 1 + random() % 900);
    measured_run run(plan);
    const std::string kept = concurrent_groups(run, cut_at_random(text, random, 400)).read(random, 1 + random() % 300);
    CAPTURE(text);
    check_matches(outcome_of(run, kept), strings, text, false);
  }
}

TEST_CASE("a device searches strings if a plan of lines has nothing but them") {
  const auto searches = [](const unit_plan& plan) {
    measured_run run(plan);
    return run.run().piece_classes() != nullptr && run.run().piece_classes()->strings;
  };
  const string_list strings = {{.text = "ERROR"}, {.text = "timeout", .ignores_case = true}};
  CHECK(searches(plan_of_strings(strings)));
  CHECK_FALSE(searches(plan_of_strings({{.text = "ERR.R"}})));
  CHECK_FALSE(searches(plan_of_strings(string_list(17, strings.front()))));
  unit_plan records_of_strings = plan_of_strings(strings);
  records_of_strings.shape = records('\0');
  CHECK_FALSE(searches(records_of_strings));
  unit_plan with_condition = plan_of_strings(strings);
  with_condition.where = condition_of("bytes > 3");
  CHECK_FALSE(searches(with_condition));
  unit_plan grouped = plan_of_strings(strings);
  grouped.lines->keys.push_back({.text = "name", .from = measured::group_key::source::name});
  CHECK_FALSE(searches(grouped));
}

TEST_CASE("a unit that is longer than several groups is joined from them") {
  std::mt19937 random(6);
  unit_plan plan = filtered(plan_of(text_lines, "words > 3"), measured::filtering::kept::others);
  plan.top = ranking{.number = 3, .by = formula_of("bytes")};
  const std::string text = "short\n" + random_text(random, 3'000'000, "ab c") + "\n1 2 3 4\n" +
                           random_text(random, 2'500'000, "xyz") + "\nend";
  REQUIRE(in_order(plan, text).totals.seen == 5);
  for (const std::size_t longest : {100'000U, 1'000'000U, 4'000'000U}) {
    CHECK((in_groups(plan, text, random, longest, longest) == in_order(plan, text)));
  }
}

TEST_CASE("later text holds at most as many reported units as text that is read in order reports at once") {
  measured_run run(plan_of(text_lines, "bytes > 0"));
  const auto later = run.run().open_later("input", 0);
  const std::string text(100'000, '\n');
  std::size_t taken = 0;
  while (!later->is_full()) taken += later->take_some(std::as_bytes(std::span(text)).subspan(taken), false);
  CHECK(taken < 5000);
  run.run().publish();
  CHECK(run.selected.empty());
}

TEST_CASE("a gap at the beginning of later text ends the unit before it") {
  measured_run run(plan_of(text_lines, "bytes > 0"));
  auto first = run.run().open("input", 0);
  run.pass(*first, "one\ntw");
  auto later = run.run().open_later("input", 0);
  later->note_gap();
  run.pass(*later, "three\nfour");
  later->follow(std::move(first));
  later->end(input_observer::ending::early);
  run.run().publish();
  REQUIRE(run.selected.size() == 4);
  CHECK(run.selected[1].place == unit_place{.number = 2, .line = 2, .offset = 4, .bytes = 2});
  CHECK(run.selected[2].place == unit_place{.number = 3, .line = 2, .offset = 6, .bytes = 6});
  CHECK(run.selected[3].place == unit_place{.number = 4, .line = 3, .offset = 12, .bytes = 4});
}

TEST_CASE("parts of a fixed size are not read at the same time") {
  measured_run run(plan_of(parts(10), "bytes > 0"));
  CHECK_FALSE(run.run().divides());
  measured_run of_lines(plan_of(text_lines, "bytes > 0"));
  CHECK(of_lines.run().divides());
}

}  // namespace

namespace gpuhist::test {
namespace {

using pipeline::input_observer;
using report::units::filtering;
using report::units::unit_totals;

struct verdict_frame {
  std::string text;
  bool is_damaged = false;  // a gap follows
};

// What a filter should do with a text.
struct judged_text {
  std::string kept;
  unit_totals totals{};
  std::vector<unit_place> dropped{};
  std::vector<bool> dropped_verified{};
};

class damage_oracle {
 public:
  explicit damage_oracle(filtering::kept kept) : kept_(kept) {}

  judged_text read(const std::vector<verdict_frame>& frames) {
    for (const verdict_frame& each : frames) {
      for (const char byte : each.text) {
        open_ += byte;
        verified_ = verified_ && !each.is_damaged;
        if (byte == '\n') end();
      }
      if (!each.is_damaged) continue;
      verified_ = false;
      end();
      verified_ = false;  // the begin of the next unit is missing
    }
    end();
    return std::move(made_);
  }

 private:
  void end() {
    const bool verified = std::exchange(verified_, true);
    const std::string unit = std::exchange(open_, {});
    if (unit.empty()) return;
    const unit_place place{.number = ++number_, .line = line_, .offset = offset_, .bytes = unit.size()};
    offset_ += unit.size();
    line_ += lines_of(unit);
    const bool is_selected = verified && 2 * digits_of(unit) > unit.size();
    const bool is_kept = verified && is_selected == (kept_ == filtering::kept::selected);
    made_.totals += {.seen = 1,
                     .bytes = unit.size(),
                     .selected = is_selected ? 1U : 0U,
                     .selected_bytes = is_selected ? unit.size() : 0,
                     .unverified = verified ? 0U : 1U,
                     .unverified_bytes = verified ? 0 : unit.size()};
    if (is_kept) {
      made_.kept += unit;
    } else {
      made_.dropped.push_back(place);
      made_.dropped_verified.push_back(verified);
    }
  }

  const filtering::kept kept_;
  judged_text made_;
  std::string open_;
  bool verified_ = true;
  std::uint64_t number_ = 0;
  std::uint64_t line_ = 1;
  std::uint64_t offset_ = 0;
};

// Groups of frames, each with a reader of its own; the first groups end in order.
class group_readers {
 public:
  group_readers(measured_run& run, std::vector<std::deque<verdict_frame>> groups)
      : run_(run), left_(std::move(groups)) {
    for (std::size_t i = 0; i < left_.size(); ++i) {
      readers_.push_back(i == 0 ? run.run().open("input", 0) : run.run().open_later("input", 0));
    }
  }

  std::string read(std::mt19937& random) {
    while (first_ < left_.size()) {
      const std::size_t chosen = first_ + random() % (left_.size() - first_);
      if (!readers_[chosen]->is_full()) pass(chosen, 1 + random() % 9);
      while (first_ < left_.size() && left_[first_].empty()) end_first();
    }
    return std::move(kept_);
  }

 private:
  void pass(std::size_t group, std::size_t size) {
    if (left_[group].empty()) return;
    verdict_frame& frame = left_[group].front();
    if (!frame.text.empty()) {
      const std::string_view piece = std::string_view(frame.text).substr(0, size);
      frame.text.erase(0, readers_[group]->take_some(std::as_bytes(std::span(piece)), !frame.is_damaged));
    } else {
      if (frame.is_damaged) readers_[group]->note_gap();
      left_[group].pop_front();
    }
    if (group == first_) drain();
  }

  void end_first() {
    if (first_ + 1 < left_.size()) {
      readers_[first_ + 1]->follow(std::move(readers_[first_]));
      ++first_;
      return drain();
    }
    readers_[first_]->end(input_observer::ending::whole);
    drain();
    ++first_;
  }

  void drain() {
    for (auto kept = readers_[first_]->next_kept(); !kept.empty(); kept = readers_[first_]->next_kept()) {
      kept_.append(reinterpret_cast<const char*>(kept.data()), kept.size());
    }
    run_.run().publish();
  }

  measured_run& run_;
  std::vector<std::deque<verdict_frame>> left_;
  std::vector<std::unique_ptr<input_observer>> readers_;
  std::size_t first_ = 0;
  std::string kept_;
};

unit_plan plan_that_drops_damage(filtering::kept kept) {
  unit_plan made = plan_of({}, "digit > 0.5");
  made.filter = {.units = kept, .drops_unverified = true, .in_memory = 40};
  return made;
}

}  // namespace

TEST_CASE("units without damaged text are filtered as usual, and the others are dropped, by any number of readers") {
  std::mt19937 random(11);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    const auto kept = random() % 2 == 0 ? filtering::kept::selected : filtering::kept::others;
    const std::string_view alphabet = random() % 2 == 0 ? "a1\n" : "aaaa1111111\n";
    std::vector<verdict_frame> all;
    std::vector<std::deque<verdict_frame>> groups(1 + random() % 4);
    for (std::deque<verdict_frame>& group : groups) {
      for (auto frames = random() % 4; frames > 0; --frames) {
        group.push_back({.text = random_text(random, random() % 12, alphabet), .is_damaged = random() % 3 == 0});
        all.push_back(group.back());
      }
    }
    measured_run run(plan_that_drops_damage(kept));
    const std::string text = group_readers(run, std::move(groups)).read(random);
    const judged_text expected = damage_oracle(kept).read(all);
    CAPTURE(repeat);
    REQUIRE(text == expected.kept);
    REQUIRE(run.run().result().totals == expected.totals);
    std::vector<unit_place> dropped;
    std::vector<bool> verified;
    for (const unit_record& each : run.selected) {
      dropped.push_back(each.place);
      verified.push_back(each.verified);
    }
    REQUIRE(dropped == expected.dropped);
    REQUIRE(verified == expected.dropped_verified);
  }
}

TEST_CASE("the unit that is open at an early end is dropped, and the end is counted") {
  measured_run run(plan_that_drops_damage(filtering::kept::others));
  const auto reader = run.run().open("input", 0);
  run.pass(*reader, "one\ntw");
  reader->end(input_observer::ending::early);
  const auto kept = reader->next_kept();
  CHECK(std::string_view(reinterpret_cast<const char*>(kept.data()), kept.size()) == "one\n");
  CHECK(run.run().result().totals.unverified == 1);
  CHECK(run.run().result().early_ends == 1);
}

TEST_CASE("a summary counts what a filter keeps without damaged units") {
  const unit_totals found{
      .seen = 10, .bytes = 100, .selected = 3, .selected_bytes = 30, .unverified = 2, .unverified_bytes = 25};
  CHECK(kept_of(found, filtering::kept::selected) == unit_totals{.seen = 3, .bytes = 30});
  CHECK(kept_of(found, filtering::kept::others) == unit_totals{.seen = 5, .bytes = 45});
}

}  // namespace gpuhist::test
