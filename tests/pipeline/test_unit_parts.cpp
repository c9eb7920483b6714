// Parts of one text that are read at the same time give what the text gives in order.
#include "unit_oracle.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace gpuhist::test;
namespace units = gpuhist::pipeline::units;

namespace {

// What a run reports.
struct outcome {
  unit_totals totals;
  std::vector<unit_place> selected{};
  std::vector<std::vector<std::uint64_t>> counts{};  // of the selected units
  std::vector<std::pair<double, unit_place>> top{};
  std::vector<distribution_bin> bins;
  std::string kept;

  bool operator==(const outcome&) const = default;
};

outcome outcome_of(measured_run& run, std::string kept) {
  const units::unit_result result = run.run().result();
  outcome made{.totals = result.totals, .bins = result.values.bins(), .kept = std::move(kept)};
  CHECK(run.lines == lines_of(place_lines(), run.selected));
  for (const unit_record& each : run.selected) {
    made.selected.push_back(each.place);
    made.counts.emplace_back(each.counts.counts.begin(), each.counts.counts.end());
  }
  for (const ranked_unit& each : result.top) made.top.emplace_back(each.value, each.unit.place);
  return made;
}

// Passes parts of one text to readers of their own, in an order that is random, and joins the readers in order.
class concurrent_parts {
 public:
  concurrent_parts(measured_run& run, std::vector<std::string_view> parts) : run_(run), rest_(std::move(parts)) {
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      readers_.push_back(i == 0 ? run.run().open("input", 0) : run.run().open_later("input", 0));
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
  void pass(std::size_t part, std::size_t size) {
    const std::string_view piece = rest_[part].substr(0, size);
    if (piece.empty()) return;
    rest_[part].remove_prefix(readers_[part]->take_some(std::as_bytes(std::span(piece)), false));
    if (part == first_) drain();
  }

  void end_first() {
    if (first_ + 1 < rest_.size()) {
      readers_[first_ + 1]->follow(std::move(readers_[first_]));
      ++first_;
      drain();
    } else {
      readers_[first_]->end(input_observer::ending::whole);
      drain();
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
  std::vector<std::string_view> rest_;  // of the parts
  std::vector<std::unique_ptr<input_observer>> readers_;
  std::size_t first_ = 0;
  std::string kept_;
};

outcome in_order(const unit_plan& plan, std::string_view text) {
  measured_run run(plan);
  std::mt19937 random(1);
  std::string kept = concurrent_parts(run, {text}).read(random, text.size() + 1);
  return outcome_of(run, std::move(kept));
}

outcome in_parts(const unit_plan& plan, std::string_view text, std::mt19937& random, std::size_t longest_part,
                 std::size_t longest_piece) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(parts.back().size())) {
    parts.push_back(rest.substr(0, random() % (longest_part + 1)));
  }
  measured_run run(plan);
  std::string kept = concurrent_parts(run, std::move(parts)).read(random, longest_piece);
  return outcome_of(run, std::move(kept));
}

unit_plan filtered(unit_plan plan, units::filtering::kept kept) {
  plan.filter = {.units = kept, .in_memory = 40};
  return plan;
}

TEST_CASE("parts of a text give the units, the ranks, the distribution and the kept text of the whole") {
  std::mt19937 random(5);
  for (const std::string_view condition :
       {"digit > 0.3", "words >= 2", "entropy > 1.2", "malformed > 0", "bytes > 3 && count(lower) < 4"}) {
    for (const char delimiter : {'\n', '\0', 'b', '\xff'}) {
      for (int repeat = 0; repeat < 15; ++repeat) {
        unit_plan plan = plan_of(records(delimiter), condition);
        plan.top = ranking{.number = static_cast<unsigned>(1 + random() % 5), .by = formula_of("words + bytes")};
        plan.distribution = formula_of("count(digit)");
        if (random() % 2 == 0) plan = filtered(plan, units::filtering::kept::selected);
        if (random() % 2 == 0) plan = filtered(plan, units::filtering::kept::others);
        const std::string text = random_text(random, random() % 400, small_alphabet);
        const std::size_t longest_part = 1 + random() % 80;
        CAPTURE(condition);
        CAPTURE(text);
        REQUIRE(in_parts(plan, text, random, longest_part, 1 + random() % 20) == in_order(plan, text));
      }
    }
  }
}

TEST_CASE("a unit that is longer than several parts is joined from them") {
  std::mt19937 random(6);
  unit_plan plan = filtered(plan_of(lines, "words > 3"), units::filtering::kept::others);
  plan.top = ranking{.number = 3, .by = formula_of("bytes")};
  const std::string text = "short\n" + random_text(random, 3'000'000, "ab c") + "\n1 2 3 4\n" +
                           random_text(random, 2'500'000, "xyz") + "\nend";
  REQUIRE(in_order(plan, text).totals.seen == 5);
  for (const std::size_t longest : {100'000U, 1'000'000U, 4'000'000U}) {
    CHECK((in_parts(plan, text, random, longest, longest) == in_order(plan, text)));
  }
}

TEST_CASE("later text holds at most as many reported units as text that is read in order reports at once") {
  measured_run run(plan_of(lines, "bytes > 0"));
  const auto later = run.run().open_later("input", 0);
  const std::string text(100'000, '\n');
  std::size_t taken = 0;
  while (!later->is_full()) taken += later->take_some(std::as_bytes(std::span(text)).subspan(taken), false);
  CHECK(taken < 5000);
  run.run().publish();
  CHECK(run.selected.empty());
}

TEST_CASE("a gap at the beginning of later text ends the unit before it") {
  measured_run run(plan_of(lines, "bytes > 0"));
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
  measured_run of_lines(plan_of(lines, "bytes > 0"));
  CHECK(of_lines.run().divides());
}

}  // namespace
