// Pairs of neighbouring bytes: the counts of a run compared with the pairs of the plain texts, however these are cut.
#include "pipeline/counts/rolling_counts.hpp"
#include "report/formats/table_sections.hpp"
#include "report/formats/text.hpp"
#include "support/byte_strings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;
using namespace gpuhist::report;
using gpuhist::test::bytes_of;

namespace {

constexpr char gap = '\0';  // in the texts of oracles
constexpr std::size_t classes = 3;

using matrix = std::vector<std::uint64_t>;

std::size_t class_of(char letter) { return letter == 'a' ? 0 : letter == 'b' ? 1 : 2; }

// The pairs of a text whose second letter is at `begin` or later.
matrix pairs_of(const std::string& text, std::size_t begin = 0) {
  matrix found(classes * classes);
  for (std::size_t i = std::max<std::size_t>(begin, 1); i < text.size(); ++i) {
    if (text[i - 1] != gap && text[i] != gap) ++found[class_of(text[i - 1]) * classes + class_of(text[i])];
  }
  return found;
}

matrix sum(matrix left, const matrix& right) {
  for (std::size_t i = 0; i < left.size(); ++i) left[i] += right[i];
  return left;
}

// Pairs have three classes. The counts have two more: '\n', and 'd' apart from 'c'.
gpu::row_layout layout() {
  gpu::partition pairs{.class_of = {}, .classes = classes};
  for (std::size_t value = 0; value < 256; ++value) {
    pairs.class_of[value] = static_cast<std::uint8_t>(class_of(static_cast<char>(value)));
  }
  gpu::partition counts{.class_of = pairs.class_of, .classes = classes + 2};
  counts.class_of['\n'] = 3;
  counts.class_of['d'] = 4;
  return {counts, pairs};
}

std::string random_text(std::mt19937& random, std::size_t size) {
  std::string text(size, ' ');
  for (char& letter : text) letter = "abcd\n"[random() % 5];
  return text;
}

std::vector<std::uint32_t> row_of(const std::string& text) {
  const gpu::row_layout columns = layout();
  std::vector<std::uint32_t> row(columns.columns());
  for (const char letter : text) ++row[columns.counted.class_of[static_cast<unsigned char>(letter)]];
  const matrix pairs = pairs_of(text);
  for (std::size_t i = 0; i < pairs.size(); ++i) row[5 + i] = static_cast<std::uint32_t>(pairs[i]);
  if (!text.empty()) row.back() = gpu::edges_of(bytes_of(text), *columns.pairs);
  return row;
}

struct counted {
  rolling_counts counts{layout().counted, layout(), {}};

  void merge(const text_owner& owner, const std::string& text, pane_id pane = 0) {
    const segment part{.owner = owner, .extent = {0, static_cast<std::uint32_t>(text.size())}, .pane = pane};
    CHECK_FALSE(counts.merge({&part, 1}, row_of(text)).failure);
  }

  void close(input_id input, group_id group, std::uint64_t bytes, std::uint64_t lost = 0) {
    counts.close_group(input, group, {.text_bytes = bytes, .number_of_lost_ranges = lost});
  }
};

void check_totals_are_sums(const run_counts& seen) {
  matrix verified(classes * classes);
  matrix unverified(classes * classes);
  for (const input_report& each : seen.inputs) {
    verified = sum(verified, each.verified.pairs);
    unverified = sum(unverified, each.unverified.pairs);
  }
  CHECK(seen.verified.pairs == verified);
  CHECK(seen.unverified.pairs == unverified);
}

}  // namespace

TEST_CASE("appending the ends of texts is associative, no text is its identity, and no pair spans a gap") {
  std::mt19937 random(1);
  const auto edges_of = [](const std::string& text) {
    text_edges edges;
    for (const char each : text) {
      const auto letter = static_cast<std::uint8_t>(each);
      edges.append(each == gap ? text_edges::gap() : text_edges{.is_empty = false, .first = letter, .last = letter});
    }
    return edges;
  };
  const auto random_gaps = [&] {
    std::string text(random() % 4, ' ');
    for (char& each : text) each = "ab\0"[random() % 3];
    return text;
  };
  for (int round = 0; round < 1000; ++round) {
    const std::string left = random_gaps();
    const std::string right = random_gaps();
    text_edges joined = edges_of(left);
    const auto seam = joined.append(edges_of(right));
    CHECK(joined == edges_of(left + right));
    const bool is_pair = !left.empty() && !right.empty() && left.back() != gap && right.front() != gap;
    REQUIRE(seam.has_value() == is_pair);
    if (is_pair) CHECK(*seam == byte_pair{static_cast<std::uint8_t>(left.back()), static_cast<std::uint8_t>(right[0])});
  }
}

TEST_CASE("pairs of inputs and totals are those of the texts, however these are cut, and none spans two inputs") {
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    counted tested;
    std::vector<std::string> texts(1 + random() % 4);
    std::vector<std::string> merged(texts.size());
    for (std::string& each : texts) {
      each = random_text(random, random() % 60);
      tested.counts.open_input("input");
    }
    for (std::size_t open = texts.size(); open > 0;) {
      const std::size_t input = random() % texts.size();
      const auto id = static_cast<input_id>(input);
      if (merged[input].size() > texts[input].size()) continue;
      if (merged[input] == texts[input]) {
        tested.counts.finish(id, texts[input].size());
        merged[input] += gap;
        --open;
        continue;
      }
      const std::string part = texts[input].substr(merged[input].size(), 1 + random() % 20);
      tested.merge({.input = id}, part);
      merged[input] += part;
      const run_counts seen = tested.counts.counts();
      CHECK(seen.inputs[input].verified.pairs == pairs_of(merged[input]));
      check_totals_are_sums(seen);
    }
    const run_counts seen = tested.counts.counts();
    CHECK(seen.complete);
    for (std::size_t i = 0; i < texts.size(); ++i) CHECK(seen.inputs[i].verified.pairs == pairs_of(texts[i]));
    check_totals_are_sums(seen);
  }
}

namespace {

// One event of a group, in the order in which its decoder and its cutter cause it.
struct group_event {
  text_owner owner{};
  std::string text{};             // merged; empty: a verdict
  std::uint64_t frame_bytes = 0;  // of a verdict
  bool verified = false;
};

// An input of several groups of frames, some of them damaged, some verified in place.
struct framed_input {
  std::string verified;  // its text; damaged frames and lost ranges are gaps
  matrix unverified = matrix(classes * classes);
  std::deque<std::deque<group_event>> groups;
  std::vector<std::uint64_t> bytes{};  // of groups
  std::vector<std::uint64_t> lost{};   // ranges of groups

  explicit framed_input(std::mt19937& random) {
    const std::size_t count = 1 + random() % 4;
    for (group_id group = 1; group <= count; ++group) add_group(random, {.group = group});
  }

  void add_group(std::mt19937& random, text_owner owner) {
    groups.emplace_back();
    bytes.push_back(0);
    for (std::size_t frames = random() % 5; frames > 0; --frames) {
      ++owner.frame;
      if (random() % 3 == 0) {
        add_damaged(random, owner);
        ++owner.lost_before;
      } else {
        add_verified(random, owner);
      }
    }
    lost.push_back(owner.lost_before);
  }

  void add_pieces(std::mt19937& random, text_owner owner, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::string piece = text.substr(at, 1 + random() % 6);
      groups.back().push_back({.owner = owner, .text = piece});
      at += piece.size();
    }
    bytes.back() += text.size();
  }

  void add_verified(std::mt19937& random, text_owner owner) {
    const std::string text = random_text(random, random() % 12);
    verified += text;
    const bool in_place = random() % 2 == 0;
    const text_owner in_row{
        .group = owner.group, .frame = in_place ? 0 : owner.frame, .lost_before = owner.lost_before};
    add_pieces(random, in_row, text);
    if (!in_place && !text.empty()) add_verdict(random, owner, text.size(), true);
  }

  void add_damaged(std::mt19937& random, text_owner owner) {
    const std::string text = random_text(random, random() % 12);
    verified += gap;
    unverified = sum(unverified, pairs_of(text));
    add_pieces(random, owner, text);
    if (!text.empty()) add_verdict(random, owner, text.size(), false);
  }

  // The verdict may precede the merging of the frame's text.
  void add_verdict(std::mt19937& random, const text_owner& owner, std::uint64_t size, bool is_verified) {
    auto& events = groups.back();
    const auto of_frame =
        std::count_if(events.begin(), events.end(), [&](const group_event& each) { return each.owner == owner; });
    events.insert(events.end() - static_cast<std::ptrdiff_t>(random() % static_cast<unsigned>(of_frame + 1)),
                  {.owner = owner, .frame_bytes = size, .verified = is_verified});
  }
};

void run(counted& tested, framed_input& input, std::mt19937& random) {
  const input_id id = tested.counts.open_input("frames");
  for (std::size_t i = 0; i < input.groups.size(); ++i) tested.counts.open_group(id);
  for (std::size_t open = input.groups.size(); open > 0;) {
    const std::size_t group = random() % input.groups.size();
    if (input.bytes[group] == ~std::uint64_t{0}) continue;
    if (input.groups[group].empty()) {
      tested.close(id, group + 1, input.bytes[group], input.lost[group]);
      input.bytes[group] = ~std::uint64_t{0};
      --open;
      continue;
    }
    group_event next = input.groups[group].front();
    input.groups[group].pop_front();
    next.owner.input = id;
    if (next.text.empty()) {
      tested.counts.conclude(next.owner, next.frame_bytes, next.verified);
    } else {
      tested.merge(next.owner, next.text);
    }
    check_totals_are_sums(tested.counts.counts());
  }
}

}  // namespace

TEST_CASE("pairs of frames that are verified in any order are those of the text: none spans a damaged or lost part") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    counted tested;
    std::vector<framed_input> inputs;
    for (std::size_t i = 1 + random() % 2; i > 0; --i) inputs.emplace_back(random);
    for (framed_input& each : inputs) {
      const std::uint64_t size = std::accumulate(each.bytes.begin(), each.bytes.end(), std::uint64_t{0});
      run(tested, each, random);
      tested.counts.finish(static_cast<input_id>(&each - inputs.data()), size);
    }
    const run_counts seen = tested.counts.counts();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      CHECK(seen.inputs[i].verified.pairs == pairs_of(inputs[i].verified));
      CHECK(seen.inputs[i].unverified.pairs == inputs[i].unverified);
    }
    check_totals_are_sums(seen);
  }
}

TEST_CASE("a snapshot counts the pairs of the front group with the pair at its seam, and of no later group") {
  counted tested;
  tested.counts.open_input("snapshot");
  for (int i = 0; i < 3; ++i) tested.counts.open_group(0);
  tested.merge({.group = 1}, "ab");
  tested.close(0, 1, 2);
  tested.merge({.group = 3}, "ccc");
  tested.merge({.group = 2}, "a");
  run_counts seen = tested.counts.counts();
  CHECK(seen.inputs[0].verified.pairs == pairs_of("aba"));
  CHECK(seen.verified.pairs == pairs_of("aba"));
  tested.merge({.group = 2, .frame = 1}, "bb");
  seen = tested.counts.counts();
  CHECK(seen.verified.pairs == pairs_of("aba"));
  CHECK(seen.unverified.pairs == pairs_of("bb"));
  tested.counts.conclude({.group = 2, .frame = 1}, 2, true);
  CHECK(tested.counts.counts().verified.pairs == pairs_of("ababb"));
  tested.close(0, 2, 3);
  tested.close(0, 3, 3);
  CHECK(tested.counts.counts().verified.pairs == pairs_of("ababbccc"));
}

namespace {

window_shape random_shape(std::mt19937& random) {
  const auto panes = static_cast<std::uint32_t>(1 + random() % 4);
  return {.unit = random() % 2 == 0 ? pane_unit::bytes : pane_unit::lines,
          .pane = 1 + random() % 7,
          .window_panes = panes,
          .step_panes = static_cast<std::uint32_t>(1 + random() % panes),
          .per_input = random() % 2 == 0};
}

// Texts of several inputs that are cut into windows and merged.
struct windowed {
  counted under_test{};
  bool per_input;
  std::map<stream_id, std::string> streams{};           // their texts
  std::map<stream_id, std::set<std::size_t>> breaks{};  // offsets at which no pair ends

  explicit windowed(const window_shape& shape) : per_input(shape.per_input) {
    under_test.counts.add_windows(shape, [] {});
  }

  stream_id stream_of(input_id input) const { return per_input ? input : 0; }

  void add(input_id input, const std::string& text, frame_id frame) {
    const text_owner owner{.input = input, .group = 1, .frame = frame};
    std::vector<pane_slice> slices;
    under_test.counts.windows()->cut(bytes_of(text), owner, std::make_shared<const std::string>(std::to_string(input)),
                                     slices);
    std::size_t begin = 0;
    for (const pane_slice& each : slices) {
      under_test.merge(owner, text.substr(begin, each.end - begin), each.pane);
      begin = each.end;
    }
    streams[stream_of(input)] += text;
  }

  void note_break(input_id input) { breaks[stream_of(input)].insert(streams[stream_of(input)].size()); }

  matrix expected(stream_id stream, std::size_t begin, std::size_t end) {
    matrix found = pairs_of(streams[stream].substr(0, end), begin);
    for (const std::size_t at : breaks[stream]) {
      if (at == 0 || at < begin || at >= end) continue;
      --found[class_of(streams[stream][at - 1]) * classes + class_of(streams[stream][at])];
    }
    return found;
  }
};

}  // namespace

TEST_CASE("a pair belongs to the window of its second byte, and spans no two inputs and no lost text") {
  std::mt19937 random(4);
  std::size_t windows = 0;
  for (int round = 0; round < 300; ++round) {
    windowed tested(random_shape(random));
    for (input_id input = 0; input < 3; ++input) {
      tested.under_test.counts.open_input(std::to_string(input));
      tested.under_test.counts.open_group(input);
      tested.note_break(input);
      frame_id frame = 1;
      for (std::size_t slices = random() % 12; slices > 0; --slices) {
        tested.add(input, random_text(random, 1 + random() % 30), frame);
        if (random() % 4 == 0) ++frame;
        if (random() % 8 != 0) continue;
        tested.under_test.counts.note_gap(input, "text is missing");
        tested.note_break(input);
      }
      if (tested.per_input) tested.under_test.counts.windows()->end_input(input);
    }
    tested.under_test.counts.windows()->end();
    while (const auto next = tested.under_test.counts.windows()->next()) {
      const auto* window = std::get_if<closed_window>(&*next);
      if (window == nullptr) continue;
      const auto stream = tested.per_input ? static_cast<stream_id>(std::stoul(*window->head.source)) : 0;
      CHECK(window->counts.pairs == tested.expected(stream, window->head.first_offset, window->head.end_offset));
      ++windows;
    }
  }
  CHECK(windows > 1000);
}

TEST_CASE("the pairs of a finished input are spilled and read back") {
  input_report report;
  report.verified = report.unverified = gpu::tally(4, 9);
  report.verified.counts = {1, 0, 0, 1ULL << 40U};
  report.verified.pairs = {0, 0, 7, 0, 1ULL << 50U, 0, 0, 0, 3};
  report.unverified.pairs[8] = 1;
  CHECK(unpacked_report(packed_report(report), 4) == report);
}

TEST_CASE("a heat map fits the width, with numbers, shades or colours, and has a line for each bucket that occurs") {
  std::mt19937 random(5);
  gpu::tally counts(1, 27 * 27);
  for (auto& each : counts.pairs) each = random() % 5 == 0 ? random() : 0;
  const config::scheme alphabet = config::find_scheme("alphabet");
  const scheme_view view = view_through(alphabet, gpu::partition::identity(), pair_partition({&alphabet, 1}));
  const std::regex escapes("\x1b\\[[0-9;]*m");
  for (const unsigned width : {20U, 32U, 48U, 80U, 120U, 300U}) {
    for (const bool unicode : {true, false}) {
      for (const bool color : {true, false}) {
        CAPTURE(width);
        const std::string drawn = pair_lines(view, counts, {.unicode = unicode, .width = width, .color = color});
        CHECK((drawn.find('\x1b') != std::string::npos) == color);
        const std::string plain = std::regex_replace(drawn, escapes, "");
        std::size_t buckets = 0;
        for (std::size_t at = 0; at < plain.size(); at = plain.find('\n', at) + 1) {
          const std::string line = plain.substr(at, plain.find('\n', at) - at);
          CAPTURE(line);
          if (width > 32) CHECK(columns(line) <= width);
          if (line.size() > 3 && line[0] >= 'a' && line[0] <= 'z' && line.substr(1, 3) == "   ") ++buckets;
        }
        CHECK(buckets == (width >= 32 ? 26 : 0));
        CHECK((plain.find("needs a wider terminal") != std::string::npos) == (width < 32));
      }
    }
  }
}
