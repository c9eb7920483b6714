// Filters that drop units with damaged text: the units that remain, and what is reported of the others, are those of an
// oracle, wherever damage begins and ends, and however many readers share the text of an input.
#include "unit_oracle.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::test {
namespace {

using pipeline::input_observer;
using pipeline::units::filtering;
using pipeline::units::unit_totals;

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
