// Windows of bytes, lines and time: how they are cut, summed, verified and reported.
#include "pipeline/counts/windows/panes.hpp"
#include "pipeline/counts/windows/rolling_windows.hpp"
#include "pipeline/counts/windows/window_cutter.hpp"
#include "report/formats/report_json.hpp"
#include "tests/support/byte_strings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;
using namespace gpuhist::report;
using gpuhist::test::bytes_of;
using namespace std::chrono_literals;

namespace {

constexpr window_time noon{};

source_name named(input_id input) { return std::make_shared<const std::string>("input " + std::to_string(input)); }

struct reported_window {
  window_head head;
  std::string text;
};

// Records the events of a cutter and the text of each pane, and builds windows from both.
class witness {
 public:
  explicit witness(const window_shape& shape)
      : cutter(shape, noon, [this](window_event event) { events_.push_back(std::move(event)); }) {}

  void cut(const std::string& text, const text_owner& owner = {}, window_time arrival = noon) {
    std::vector<pane_slice> slices;
    cutter.cut(bytes_of(text), owner, named(owner.input), arrival, slices);
    std::size_t begin = 0;
    for (const pane_slice& each : slices) {
      panes_[each.pane] += text.substr(begin, each.end - begin);
      begin = each.end;
    }
    CHECK(begin == text.size());
  }

  // A text of which only the numbers of bytes and lines are known before it is divided.
  void cut_planned(const std::string& text, pane_planner& planner, const window_shape& shape,
                   const text_owner& owner = {}) {
    const auto is_end = [&](char each) { return shape.unit == pane_unit::bytes || each == '\n'; };
    std::vector<planned_slice> planned;
    std::vector<std::string> texts;
    const auto add_slice = [&](const std::string& slice) {
      if (slice.empty()) return;
      planned.push_back({.bytes = slice.size(),
                         .units = static_cast<std::uint64_t>(std::ranges::count_if(slice, is_end)),
                         .ends_line = slice.back() == '\n'});
      texts.push_back(slice);
    };
    std::size_t begin = 0;
    std::size_t at = 0;
    std::uint32_t reached = 0;
    for (const std::uint32_t end : planner.next(static_cast<std::uint32_t>(std::ranges::count_if(text, is_end)))) {
      for (; reached < end; ++at) reached += is_end(text.at(at)) ? 1 : 0;
      add_slice(text.substr(begin, at - begin));
      begin = at;
    }
    add_slice(text.substr(begin));
    std::vector<pane_slice> slices;
    cutter.cut_slices(planned, owner, named(owner.input), noon, slices);
    REQUIRE(slices.size() == texts.size());
    for (std::size_t i = 0; i < slices.size(); ++i) panes_[slices[i].pane] += texts[i];
  }

  std::vector<reported_window> windows() const {
    std::vector<reported_window> reported;
    std::map<stream_id, std::vector<std::string>> streams;
    for (const window_event& each : events_) {
      if (const auto* pane = std::get_if<pane_finished>(&each)) {
        const auto found = panes_.find(pane->pane);
        streams[pane->stream].push_back(found == panes_.end() ? "" : found->second);
        CHECK(streams[pane->stream].back().size() == pane->bytes);
      } else if (const auto* run = std::get_if<run_finished>(&each)) {
        streams.erase(run->stream);
      } else if (const auto* window = std::get_if<window_finished>(&each)) {
        std::vector<std::string>& panes = streams[window->stream];
        reported.push_back({window->head, std::accumulate(panes.begin(), panes.end(), std::string())});
        REQUIRE(window->panes_dropped <= panes.size());
        panes.erase(panes.begin(), panes.begin() + window->panes_dropped);
      }
    }
    return reported;
  }

  // "w0" for a window, "w0?" for one that is not verified, "0-3+" for a verdict.
  std::string order() const {
    std::string text;
    for (const window_event& each : events_) {
      if (const auto* window = std::get_if<window_finished>(&each)) {
        text += " w" + std::to_string(window->head.index) + (window->head.verified ? "" : "?");
      } else if (const auto* verdict = std::get_if<window_verdict>(&each)) {
        text += " " + std::to_string(verdict->first) + "-" + std::to_string(verdict->last) +
                (verdict->verified ? "+" : "-");
      }
    }
    return text.empty() ? text : text.substr(1);
  }

  const std::vector<window_event>& events() const { return events_; }

 private:
  std::vector<window_event> events_;
  std::map<pane_id, std::string> panes_;

 public:
  window_cutter cutter;
};

window_shape bytes_shape(std::uint64_t pane, std::uint32_t window = 1, std::uint32_t step = 1) {
  return {.unit = pane_unit::bytes, .pane = pane, .window_panes = window, .step_panes = step};
}

// The ends of panes, found byte by byte.
std::vector<std::size_t> borders_of(const std::string& text, const window_shape& shape) {
  std::vector<std::size_t> borders{0};
  std::uint64_t units = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (shape.unit == pane_unit::bytes || text[i] == '\n') ++units;
    if (units == shape.pane) {
      borders.push_back(i + 1);
      units = 0;
    }
  }
  return borders;
}

// The windows of a text, recounted: window i begins with pane i * step, if there is text.
std::vector<std::string> windows_of(const std::string& text, const window_shape& shape) {
  const std::vector<std::size_t> borders = borders_of(text, shape);
  std::vector<std::string> all;
  for (std::size_t pane = 0; pane < borders.size() && borders[pane] < text.size(); pane += shape.step_panes) {
    const std::size_t end_pane = pane + shape.window_panes;
    const std::size_t end = end_pane < borders.size() ? borders[end_pane] : text.size();
    all.push_back(text.substr(borders[pane], end - borders[pane]));
  }
  return all;
}

std::string random_text(std::mt19937& random, std::size_t size) {
  std::string text;
  while (text.size() < size) text += random() % 5 == 0 ? '\n' : static_cast<char>('a' + random() % 26);
  return text;
}

window_shape random_shape(std::mt19937& random) {
  window_shape shape{.unit = random() % 2 == 0 ? pane_unit::bytes : pane_unit::lines, .pane = 1 + random() % 20};
  shape.window_panes = 1 + static_cast<std::uint32_t>(random() % 6);
  shape.step_panes = 1 + static_cast<std::uint32_t>(random() % shape.window_panes);
  return shape;
}

}  // namespace

TEST_CASE("newlines are counted, and the n-th is found, wherever they are") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string text(random() % 9000, 'x');
    const std::size_t newlines = random() % 3 == 0 ? text.size() * 2 : random() % 20;
    for (std::size_t i = 0; i < newlines && !text.empty(); ++i) text[random() % text.size()] = '\n';
    const auto all = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    CHECK(count_newlines(bytes_of(text)) == all);
    const std::uint64_t wanted = 1 + random() % (all + 2);
    std::uint64_t found = 0;
    std::size_t end = 0;
    while (end < text.size() && found < wanted) found += text[end++] == '\n' ? 1 : 0;
    std::uint64_t remaining = wanted;
    CHECK(through_newline(bytes_of(text), remaining) == end);
    CHECK(remaining == wanted - found);
  }
}

TEST_CASE("the sum of panes that are added and dropped equals that of the panes that remain") {
  std::mt19937 random(2);
  pane_sum sum(gpu::tally(3));
  std::vector<gpu::tally> panes;
  for (int round = 0; round < 500; ++round) {
    gpu::tally tally;  // a tally without classes is an empty one
    if (random() % 4 > 0) tally.counts = {random(), random(), std::uint64_t{random()} << 31U};
    panes.push_back(tally);
    sum.add(std::move(tally));
    const std::size_t dropped = random() % 3 == 0 ? random() % (panes.size() + 1) : 0;
    sum.drop(dropped);
    panes.erase(panes.begin(), panes.begin() + static_cast<std::ptrdiff_t>(dropped));
    gpu::tally expected(3);
    for (const gpu::tally& each : panes) {
      for (std::size_t i = 0; i < each.counts.size(); ++i) expected.counts[i] += each.counts[i];
    }
    CHECK(sum.sum() == expected);
  }
}

TEST_CASE("windows of bytes and of lines equal the recounted ones, however the text is cut") {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    const window_shape shape = random_shape(random);
    const std::string text = random_text(random, random() % 600);
    witness tested(shape);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = 1 + random() % 90;
      tested.cut(text.substr(at, size));
      at += size;
    }
    tested.cutter.end(noon);
    const std::vector<std::string> expected = windows_of(text, shape);
    const std::vector<reported_window> reported = tested.windows();
    REQUIRE(reported.size() == expected.size());
    for (std::size_t i = 0; i < reported.size(); ++i) {
      CHECK(reported[i].text == expected[i]);
      CHECK(reported[i].head.index == i);
      CHECK(reported[i].head.verified);
      CHECK(reported[i].head.end_offset - reported[i].head.first_offset == expected[i].size());
      CHECK(text.substr(reported[i].head.first_offset, expected[i].size()) == expected[i]);
    }
  }
}

TEST_CASE("windows of text whose panes are planned from its size or its lines are those of text that is read") {
  std::mt19937 random(4);
  for (int round = 0; round < 400; ++round) {
    window_shape shape = random_shape(random);
    shape.per_input = random() % 2 == 0;
    witness planned(shape);
    witness read(shape);
    for (input_id input = 0; input < 2; ++input) {
      std::optional<pane_planner> planner;  // none after text that was read
      for (auto left = random() % 12; left > 0; --left) {
        const std::string text = random_text(random, random() % 90);
        if (text.empty()) continue;
        read.cut(text, {.input = input});
        if (random() % 3 == 0) {
          planner.reset();
          planned.cut(text, {.input = input});
          continue;
        }
        if (!planner) planner.emplace(shape.pane, planned.cutter.missing_in_pane(input));
        planned.cut_planned(text, *planner, shape, {.input = input});
      }
    }
    planned.cutter.end(noon);
    read.cutter.end(noon);
    const std::vector<reported_window> expected = read.windows();
    const std::vector<reported_window> found = planned.windows();
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].text == expected[i].text);
      CHECK(found[i].head.first_offset == expected[i].head.first_offset);
      CHECK(found[i].head.end_reason == expected[i].head.end_reason);
      CHECK(found[i].head.ends_line == expected[i].head.ends_line);
      CHECK(*found[i].head.source == *expected[i].head.source);
    }
  }
}

TEST_CASE("a slice that is longer than what its pane lacks is an error of the plan") {
  witness tested(bytes_shape(10));
  tested.cut("abc");
  CHECK(tested.cutter.missing_in_pane(0) == 7);
  std::vector<pane_slice> slices;
  const planned_slice longer{.bytes = 8, .units = 8};
  CHECK_THROWS_AS(tested.cutter.cut_slices({&longer, 1}, {}, named(0), noon, slices), std::logic_error);
}

TEST_CASE("a window closes with its last byte, and does not wait for the next one") {
  witness of_bytes(bytes_shape(3));
  of_bytes.cut("abc");
  CHECK(of_bytes.order() == "w0");
  witness of_lines({.unit = pane_unit::lines, .pane = 2});
  of_lines.cut("a\nb");
  CHECK(of_lines.order().empty());
  of_lines.cut("\n");
  CHECK(of_lines.order() == "w0");
  CHECK(of_lines.windows()[0].head.end_reason == window_end::full);
}

TEST_CASE("windows continue from one input to the next, or each input has its own") {
  window_shape shape = bytes_shape(4);
  for (const bool per_input : {false, true}) {
    shape.per_input = per_input;
    witness tested(shape);
    tested.cut("abcdef", {.input = 0});
    tested.cutter.end_input(0, noon);
    tested.cut("ghijk", {.input = 1});
    tested.cutter.end(noon);
    std::vector<std::string> texts;
    std::vector<std::uint64_t> offsets;
    std::vector<std::string> sources;
    for (const reported_window& each : tested.windows()) {
      texts.push_back(each.text);
      offsets.push_back(each.head.first_offset);
      sources.push_back(*each.head.source + (each.head.last_source ? ".." + *each.head.last_source : ""));
    }
    if (per_input) {
      CHECK(texts == std::vector<std::string>{"abcd", "ef", "ghij", "k"});
      CHECK(offsets == std::vector<std::uint64_t>{0, 4, 0, 4});
      CHECK(sources == std::vector<std::string>{"input 0", "input 0", "input 1", "input 1"});
    } else {
      CHECK(texts == std::vector<std::string>{"abcd", "efgh", "ijk"});
      CHECK(offsets == std::vector<std::uint64_t>{0, 4, 8});
      CHECK(sources == std::vector<std::string>{"input 0", "input 0..input 1", "input 1"});
    }
    CHECK(tested.windows().back().head.end_reason == window_end::input);
  }
}

TEST_CASE("interleaved inputs have windows side by side") {
  window_shape shape = bytes_shape(2, 2, 1);
  shape.per_input = shape.interleaved = true;
  witness tested(shape);
  for (const char* each : {"ab", "cd", "ef", "g"}) {
    tested.cut(each, {.input = 0});
    std::string upper = each;
    for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
    tested.cut(upper, {.input = 1});
  }
  tested.cutter.end(noon);
  std::map<std::string, std::vector<std::string>> texts;
  for (const reported_window& each : tested.windows()) texts[*each.head.source].push_back(each.text);
  CHECK(texts["input 0"] == std::vector<std::string>{"abcd", "cdef", "efg", "g"});
  CHECK(texts["input 1"] == std::vector<std::string>{"ABCD", "CDEF", "EFG", "G"});
}

TEST_CASE("a window that is open where text is missing closes there with the error; the next begins after it") {
  witness tested(bytes_shape(2, 3, 1));
  tested.cut("abcdefghi");
  tested.cutter.break_off(0, "frame 1 is damaged", noon);
  tested.cutter.break_off(0, "the archive is damaged", noon);  // no window is open any more
  tested.cut("jklmnopq");
  tested.cutter.end(noon);
  std::vector<std::string> reported;
  for (const reported_window& each : tested.windows()) {
    reported.push_back(each.text + ":" + std::string(name_of(each.head.end_reason)) + ":" + each.head.error);
  }
  CHECK(reported == std::vector<std::string>{"abcdef:full:", "cdefgh:full:", "efghi:error:frame 1 is damaged",
                                             "ghi:error:frame 1 is damaged", "i:error:frame 1 is damaged",
                                             "jklmno:full:", "lmnopq:full:", "nopq:end:", "pq:end:"});
  CHECK(tested.windows()[5].head.first_offset == 9);
}

TEST_CASE("a window is reported at once, and its verdict follows when all of its frames have theirs") {
  witness tested(bytes_shape(4));
  const text_owner first{.input = 0, .group = 1, .frame = 1};
  const text_owner second{.input = 0, .group = 1, .frame = 2};
  tested.cut("abcdefghij", first);
  CHECK(tested.order() == "w0? w1?");
  tested.cutter.conclude(first, true);
  CHECK(tested.order() == "w0? w1? 0-1+");
  tested.cut("klm", second);  // the third window has text of both frames
  CHECK(tested.order() == "w0? w1? 0-1+ w2?");
  tested.cutter.conclude(second, false);
  tested.cutter.end(noon);
  CHECK(tested.order() == "w0? w1? 0-1+ w2? 2-2- w3? 3-3-");
}

TEST_CASE("windows of frames that were verified before need no verdict, nor do those of text without frames") {
  witness tested(bytes_shape(6));
  const text_owner frame{.input = 0, .group = 1, .frame = 1};
  tested.cut("abc", frame);
  tested.cutter.conclude(frame, true);
  tested.cut("defghi", {.input = 1});
  tested.cutter.end(noon);
  CHECK(tested.order() == "w0 w1");
}

// Frames of random lengths, some of them damaged. Their verdicts arrive at once or, as in archives, some frames later.
TEST_CASE("every window is verified when it is reported, or by exactly one later verdict, which is right") {
  std::mt19937 random(4);
  for (int round = 0; round < 400; ++round) {
    const window_shape shape = random_shape(random);
    const bool breaks_off = random() % 2 == 0;
    const std::size_t delay = random() % 4;
    witness tested(shape);
    std::vector<std::pair<text_owner, std::pair<std::size_t, std::size_t>>> frames;
    std::vector<bool> damaged;
    std::size_t concluded = 0;
    std::size_t offset = 0;
    const auto conclude_oldest = [&] {
      const bool good = random() % 6 > 0;
      damaged.push_back(!good);
      if (!good && breaks_off) tested.cutter.break_off(0, "damaged", noon);
      tested.cutter.conclude(frames[concluded++].first, good);
    };
    for (frame_id id = 1; id < 12; ++id) {
      const text_owner owner{.input = 0, .group = 1, .frame = id};
      const std::size_t size = 1 + random() % 60;
      frames.push_back({owner, {offset, offset + size}});
      offset += size;
      for (std::size_t remaining = size; remaining > 0;) {
        const std::size_t part = 1 + random() % remaining;
        tested.cut(random_text(random, part), owner);
        remaining -= part;
      }
      if (frames.size() - concluded > delay) conclude_oldest();
    }
    while (concluded < frames.size()) conclude_oldest();
    tested.cutter.end(noon);

    std::map<std::uint64_t, window_head> reported;
    std::map<std::uint64_t, bool> verdicts;
    for (const window_event& each : tested.events()) {
      if (const auto* window = std::get_if<window_finished>(&each)) reported[window->head.index] = window->head;
      if (const auto* verdict = std::get_if<window_verdict>(&each)) {
        for (std::uint64_t i = verdict->first; i <= verdict->last; ++i) {
          CHECK(reported.contains(i));
          CHECK(verdicts.emplace(i, verdict->verified).second);
        }
      }
    }
    for (const auto& [index, head] : reported) {
      bool is_good = true;
      for (std::size_t i = 0; i < frames.size(); ++i) {
        const auto [begin, end] = frames[i].second;
        if (begin < head.end_offset && head.first_offset < end && damaged[i]) is_good = false;
      }
      CHECK(verdicts.contains(index) == !head.verified);
      CHECK((head.verified || verdicts[index]) == is_good);
    }
  }
}

TEST_CASE("frames that never get a verdict count as damaged") {
  witness tested(bytes_shape(4));
  tested.cut("abcdef", {.input = 0, .group = 1, .frame = 1});
  tested.cutter.break_off(0, "it ends early", noon);
  tested.cutter.abandon(0, 1);
  CHECK(tested.order() == "w0? w1? 0-1-");
  tested.cut("ghij", {.input = 1, .group = 1, .frame = 1});
  tested.cutter.end(noon);
  CHECK(tested.order() == "w0? w1? 0-1- w2? 2-2-");
}

TEST_CASE("windows of time contain the text that arrived in them, and are reported without text as well") {
  witness tested({.unit = pane_unit::milliseconds, .pane = 100, .window_panes = 2, .step_panes = 1});
  tested.cut("a", {}, noon + 10ms);
  tested.cut("b", {}, noon + 99ms);
  tested.cut("c", {}, noon + 100ms);
  CHECK(tested.cutter.next_border() == noon + 200ms);
  tested.cutter.pass_time(noon + 520ms);
  tested.cut("d", {}, noon + 530ms);
  tested.cutter.end(noon + 540ms);
  std::vector<std::string> reported;
  for (const reported_window& each : tested.windows()) {
    const auto milliseconds = [](window_time time) {
      return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time - noon).count());
    };
    reported.push_back(each.text + " " + milliseconds(each.head.start) + "-" + milliseconds(each.head.end) + " " +
                       std::string(name_of(each.head.end_reason)));
  }
  CHECK(reported == std::vector<std::string>{"abc 0-200 full", "c 100-300 full", " 200-400 full", " 300-500 full",
                                             "d 400-540 end", "d 500-540 end"});
  CHECK(*tested.windows()[2].head.source == "input 0");
}

TEST_CASE("after a process was stopped for very long, no windows are reported for that time") {
  witness tested({.unit = pane_unit::milliseconds, .pane = 10});
  tested.cut("a", {}, noon);
  tested.cut("b", {}, noon + 24h);
  tested.cutter.end(noon + 24h + 1ms);
  CHECK(tested.order() == "w0 w1");
  CHECK(tested.windows()[1].text == "b");
}

namespace {

// rolling_windows with two classes: newlines, and all other values.
struct rolling {
  rolling_windows windows;

  explicit rolling(const window_shape& shape) : windows(shape, row_folding(two_classes(0), two_classes(1)), [] {}) {}

  // `newlines` is their class: 0 in tallies, 1 in rows.
  static gpu::partition two_classes(std::uint8_t newlines) {
    gpu::partition classes{.classes = 2};
    classes.class_of.fill(static_cast<std::uint8_t>(1 - newlines));
    classes.class_of['\n'] = newlines;
    return classes;
  }

  std::vector<std::pair<pane_id, std::string>> cut(const std::string& text) {
    std::vector<pane_slice> slices;
    windows.cut(bytes_of(text), {}, named(0), slices);
    std::vector<std::pair<pane_id, std::string>> out;
    std::size_t begin = 0;
    for (const pane_slice& each : slices) {
      out.emplace_back(each.pane, text.substr(begin, each.end - begin));
      begin = each.end;
    }
    return out;
  }

  void merge(const std::pair<pane_id, std::string>& slice) {
    const auto lines = static_cast<std::uint32_t>(std::ranges::count(slice.second, '\n'));
    const std::array<std::uint32_t, 2> row = {static_cast<std::uint32_t>(slice.second.size()) - lines, lines};
    windows.merge(slice.first, slice.second.size(), row);
  }

  std::vector<std::vector<std::uint64_t>> reported() {
    std::vector<std::vector<std::uint64_t>> all;
    while (const auto next = windows.next()) all.push_back(std::get<closed_window>(*next).counts.counts);
    return all;
  }
};

using counts = std::vector<std::vector<std::uint64_t>>;

// The lines of text[begin, end), found byte by byte.
line_range lines_of(const std::string& text, std::uint64_t begin, std::uint64_t end) {
  const auto at = [&](std::uint64_t offset) { return text.begin() + static_cast<std::ptrdiff_t>(offset); };
  const auto line_at = [&](std::uint64_t offset) {
    return 1 + static_cast<std::uint64_t>(std::count(text.begin(), at(offset), '\n'));
  };
  return {.first = line_at(begin), .last = line_at(end - 1)};
}

}  // namespace

TEST_CASE("a window has the numbers of the lines that its first and last byte are in") {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    const window_shape shape = random_shape(random);
    const std::string text = random_text(random, random() % 600);
    rolling it(shape);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = 1 + random() % 90;
      for (const auto& slice : it.cut(text.substr(at, size))) it.merge(slice);
      if (random() % 8 == 0) it.windows.break_off(0, "text is missing");  // the numbers continue
      at += size;
    }
    it.windows.end();
    while (const auto next = it.windows.next()) {
      const auto& window = std::get<closed_window>(*next);
      CHECK(window.lines == lines_of(text, window.head.first_offset, window.head.end_offset));
    }
  }
}

TEST_CASE("after text that was not counted, windows have no line numbers") {
  rolling it(bytes_shape(2));
  const auto slices = it.cut("a\ncdef");
  it.merge(slices[0]);
  it.merge(slices[2]);
  it.windows.give_up("not all of it was counted");
  std::vector<std::optional<line_range>> found;
  while (const auto next = it.windows.next()) found.push_back(std::get<closed_window>(*next).lines);
  CHECK(found == std::vector<std::optional<line_range>>{line_range{.first = 1, .last = 1}, {}, {}});
}

TEST_CASE("a window is reported when all of its text was merged, in whatever order") {
  rolling tested(bytes_shape(3));
  const auto first = tested.cut("ab");
  const auto rest = tested.cut("c\nef\n");  // the end of the first window, the second, the beginning of the third
  REQUIRE(rest.size() == 3);
  CHECK(tested.windows.is_waiting());
  tested.merge(rest[1]);
  CHECK(tested.reported().empty());
  tested.merge(first[0]);
  CHECK(tested.reported().empty());
  tested.merge(rest[0]);
  CHECK(tested.reported() == counts{{0, 3}, {1, 2}});
  tested.windows.end();
  CHECK(tested.reported().empty());
  tested.merge(rest[2]);
  CHECK(tested.reported() == counts{{1, 0}});
  CHECK_FALSE(tested.windows.is_waiting());
}

TEST_CASE("text that was never counted is reported as incomplete, and the windows around it are whole") {
  rolling tested(bytes_shape(2));
  const auto slices = tested.cut("abcdef");
  tested.merge(slices[0]);
  tested.merge(slices[2]);
  tested.windows.end();
  CHECK(tested.reported() == counts{{0, 2}});
  tested.windows.give_up("the device was lost");
  const auto lost = tested.windows.next();
  REQUIRE(lost);
  CHECK(std::get<closed_window>(*lost).head.end_reason == window_end::error);
  CHECK(std::get<closed_window>(*lost).head.error == "the device was lost");
  CHECK(std::get<closed_window>(*lost).head.first_offset == 2);
  CHECK(tested.reported() == counts{{0, 2}});
}

TEST_CASE("merging is held up while many windows wait to be reported, but never text that they wait for") {
  rolling tested(bytes_shape(1));
  const auto slices = tested.cut(std::string(5000, 'x'));
  for (std::size_t i = 1; i < slices.size(); ++i) {
    tested.merge(slices[i]);
    REQUIRE_FALSE(tested.windows.is_backed_up());  // the first one is missing
  }
  tested.merge(slices[0]);
  CHECK(tested.windows.is_backed_up());
  CHECK(tested.reported().size() == 5000);
  CHECK_FALSE(tested.windows.is_backed_up());
}

TEST_CASE("discarded windows hold nothing up") {
  rolling tested(bytes_shape(1));
  tested.windows.discard();
  for (int i = 0; i < 3; ++i) {
    for (const auto& each : tested.cut(std::string(2000, 'x'))) tested.merge(each);
  }
  CHECK_FALSE(tested.windows.is_backed_up());
  CHECK_FALSE(tested.windows.next());
}

TEST_CASE("times are written as ISO 8601, in UTC, with microseconds") {
  CHECK(iso_8601(window_time(std::chrono::microseconds(1772366400000125))) == "2026-03-01T12:00:00.000125Z");
  CHECK(iso_8601(window_time(-1us)) == "1969-12-31T23:59:59.999999Z");
}
