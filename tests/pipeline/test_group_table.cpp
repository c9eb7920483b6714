// Groups of lines: the table compared with a map, and the result that is made of it.
#include "pipeline/counts/packed_numbers.hpp"
#include "report/units/distinct_keys.hpp"
#include "report/units/group_result.hpp"
#include "report/units/group_sum.hpp"
#include "report/units/group_table.hpp"
#include "report/units/unit_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace gpuhist::report::units;
namespace lines = gpuhist::report::lines;

namespace {

constexpr std::size_t classes = 3;
constexpr std::size_t matches = match_numbers::size(1);

constexpr window_lengths seconds{.length = 1'000'000'000};
const group_table::shape shape{.classes = classes, .matches = matches};

using model_key = std::pair<std::int64_t, std::optional<std::string>>;
using model = std::map<model_key, std::vector<std::uint64_t>>;  // lines, bytes by class, matches

class random_lines {
 public:
  explicit random_lines(unsigned seed) : numbers_(seed) {}

  std::uint64_t number(std::uint64_t below) { return numbers_() % below; }

  model_key key(std::uint64_t keys) {
    const std::uint64_t chosen = number(keys);
    if (chosen == 0) return {window(), std::nullopt};
    return {window(),
            chosen == 1 ? std::string()
                        : std::string(1 + chosen % 40, static_cast<char>('a' + chosen % 26)) + std::to_string(chosen)};
  }

 private:
  std::int64_t window() { return static_cast<std::int64_t>(number(5)) - 2; }

  std::mt19937_64 numbers_;
};

void add(group_table& to, model& expected, const model_key& key, random_lines& random) {
  const std::size_t place = to.place_of({.window = key.first, .key = key.second});
  const auto counts = to.counts(place);
  std::vector<std::uint64_t>& all = expected[key];
  all.resize(1 + classes + matches);
  ++counts.lines;
  ++all[0];
  for (std::size_t i = 0; i < classes + matches; ++i) {
    const std::uint64_t more = random.number(100);
    (i < classes ? counts.bytes[i] : counts.matches[i - classes]) += more;
    all[1 + i] += more;
  }
}

model content_of(const group_table& of) {
  model made;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const group_id id = of.at(i);
    const auto counts = of.counts(i);
    std::vector<std::uint64_t> all = {counts.lines};
    all.insert(all.end(), counts.bytes.begin(), counts.bytes.end());
    all.insert(all.end(), counts.matches.begin(), counts.matches.end());
    const bool is_new = made.emplace(model_key{id.window, id.key}, std::move(all)).second;
    CHECK(is_new);
  }
  return made;
}

/// A plan that groups by the first field and by seconds.
unit_plan plan_of(std::size_t most_groups) {
  unit_plan made;
  made.lines.emplace();
  made.lines->keys.push_back({.text = "field:1", .selector = lines::selector("field:1", std::nullopt)});
  made.lines->events = event_windows{.windows = seconds};
  made.lines->most_groups = most_groups;
  return made;
}

}  // namespace

TEST_CASE("a table of groups has the sums of a map, also when several tables are added") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    random_lines random(seed);
    const std::uint64_t keys = seed % 2 == 0 ? 4 : 3000;
    model expected;
    group_table sum(shape);
    for (int part = 0; part < 4; ++part) {
      group_table table(shape);
      for (std::uint64_t remaining = random.number(3000); remaining > 0; --remaining)
        add(table, expected, random.key(keys), random);
      sum += table;
      table.clear();
      CHECK(table.size() == 0);
    }
    CHECK(content_of(sum) == expected);
  }
}

TEST_CASE("lines whose time is in the text before are added to the window of that text") {
  group_table table({.classes = classes});
  const auto add_line = [&](std::int64_t window, std::optional<std::string_view> key) {
    const auto counts = table.counts(table.place_of({.window = window, .key = key}));
    ++counts.lines;
    counts.bytes[0] += 10;
  };
  add_line(group_id::of_text_before, "a");
  add_line(group_id::of_text_before, std::nullopt);
  add_line(7, "a");
  table.set_text_before(group_id::of_text_before);
  CHECK(table.size() == 3);
  table.set_text_before(7);
  CHECK(content_of(table) == model{{{7, "a"}, {2, 20, 0, 0}}, {{7, std::nullopt}, {1, 10, 0, 0}}});
}

TEST_CASE("a sum that is spilled has the groups of one in memory, and all groups of a key in one part") {
  for (const std::size_t in_memory : {std::size_t{1}, std::size_t{100'000}}) {
    CAPTURE(in_memory);
    random_lines random(9);
    model expected;
    group_sum sum(group_table(shape), {.in_memory = in_memory, .spilled_to = {}});
    for (int part = 0; part < 6; ++part) {
      group_table table(shape);
      for (int i = 0; i < 3000; ++i) add(table, expected, random.key(2000), random);
      sum.add(table);
    }
    group_sum twice(group_table(shape), {.in_memory = in_memory, .spilled_to = {}});
    twice.add(sum);
    for (const group_sum* each : {&sum, &twice}) {
      model found;
      std::map<std::optional<std::string>, int> part_of;
      int parts = 0;
      each->for_each_part([&](const group_table& part) {
        for (const auto& [key, numbers] : content_of(part)) {
          CHECK(found.emplace(key, numbers).second);
          if (key.second) CHECK(part_of.try_emplace(key.second, parts).first->second == parts);
        }
        ++parts;
      });
      CHECK(parts > 1);
      CHECK(found == expected);
    }
  }
}

TEST_CASE("groups, other groups and lines without key add up to all lines, by key and by window") {
  for (const std::size_t most : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
    CAPTURE(most);
    random_lines random(5);
    group_table table({.classes = classes});
    std::map<std::string, std::uint64_t> by_key;
    std::map<std::int64_t, std::uint64_t> by_window;
    std::uint64_t without_key = 0;
    for (int i = 0; i < 5000; ++i) {
      const model_key key = random.key(40);
      ++table.counts(table.place_of({.window = key.first, .key = key.second})).lines;
      ++by_window[key.first];
      ++(key.second ? by_key[*key.second] : without_key);
    }
    group_sum sum_of_parts(group_table({.classes = classes}),
                           {.in_memory = most == 7 ? std::size_t{1} : ~std::size_t{0}});
    sum_of_parts.add(table);
    const group_result found = group_result_of(plan_of(most), sum_of_parts);
    CHECK(found.all.lines == 5000);
    CHECK(found.number_of_groups == by_key.size());
    CHECK(found.groups.size() == std::min(most, by_key.size()));
    CHECK(found.without_key.value().lines == without_key);
    std::uint64_t sum = without_key + (found.other_groups ? found.other_groups->lines : 0);
    for (std::size_t i = 0; i < found.groups.size(); ++i) {
      const keyed_group& each = found.groups[i];
      CHECK(each.of.lines == by_key.at(each.key));
      sum += each.of.lines;
      if (i == 0) continue;
      const keyed_group& before = found.groups[i - 1];
      CHECK((before.of.lines > each.of.lines || (before.of.lines == each.of.lines && before.key < each.key)));
    }
    CHECK(sum == 5000);
    CHECK(found.windows.size() == by_window.size());
    for (const event_window& each : found.windows) {
      CHECK(each.of.lines == by_window.at(each.start));
      CHECK(each.lines_by_key.size() == found.groups.size());
    }
    for (std::size_t i = 0; i < found.groups.size(); ++i) {
      std::uint64_t of_windows = 0;
      for (const event_window& each : found.windows) of_windows += each.lines_by_key[i];
      CHECK(of_windows == found.groups[i].of.lines);
    }
  }
}

namespace {

const group_table::shape approximate{
    .classes = classes, .matches = matches, .windows = seconds, .is_approximate = true};
constexpr std::size_t in_memory_approximately = 40'000;
constexpr std::size_t bytes_of_group = 160;  // at most

group_sum approximate_sum() { return {group_table(approximate), {.in_memory = in_memory_approximately}}; }

/// Through the journal of a job.
group_sum recorded(const group_sum& of) {
  group_sum made = approximate_sum();
  of.for_each_part([&](const group_table& part) {
    std::vector<std::size_t> places(part.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    gpuhist::pipeline::packer out;
    pack(out, part, places);
    const std::string bytes = out.take();
    gpuhist::pipeline::unpacker in(bytes);
    made.add(unpack_groups(in));
  });
  return made;
}

/// One sum of several, which are added in different orders. The first one is that of lines one after the other.
group_sum added(std::vector<group_sum> parts, unsigned order) {
  if (order % 2 == 0) std::ranges::reverse(parts);
  while (parts.size() > 1 && order >= 3) {  // pairs
    std::vector<group_sum> pairs;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      pairs.push_back(recorded(parts[i]));
      if (i + 1 < parts.size()) pairs.back().add(parts[i + 1]);
    }
    parts = std::move(pairs);
  }
  group_sum sum = approximate_sum();
  for (const group_sum& each : parts) sum.add(each);
  return sum;
}

}  // namespace

TEST_CASE("an approximate sum has bounds that hold for every key, in whatever order parts are added") {
  for (unsigned seed = 0; seed < 5; ++seed) {
    std::mt19937_64 numbers(seed);
    std::map<std::string, std::uint64_t> by_key;
    std::map<std::int64_t, std::uint64_t> by_window;
    std::vector<group_sum> parts;
    std::uint64_t all = 0;
    for (int part = 0; part < 7; ++part) {
      parts.push_back(approximate_sum());
      for (int batch = 0; batch < 20; ++batch) {
        group_table table(approximate);
        for (int i = 0; i < 150; ++i) {
          const double skewed = 1 / std::pow(1 - static_cast<double>(numbers() % 1'000'000) / 1e6, 1 + 0.3 * seed);
          const std::string key = "k" + std::to_string(static_cast<std::uint64_t>(skewed));
          const std::int64_t window = static_cast<std::int64_t>(numbers() % 3) * seconds.length;
          ++table.counts(table.place_of({.window = window, .key = key})).lines;
          ++by_key[key];
          ++by_window[window];
          ++all;
        }
        parts.back().add(table);
      }
    }
    for (unsigned order = 1; order <= 4; ++order) {
      CAPTURE(seed);
      CAPTURE(order);
      const group_sum sum = added(parts, order);
      CHECK(sum.bytes() <= in_memory_approximately);
      for (const std::size_t most : {std::size_t{20}, std::size_t{100'000}}) {
        unit_plan plan = plan_of(most);
        plan.lines->is_approximate = true;
        const group_result found = group_result_of(plan, sum);
        const std::uint64_t others_at_most = found.other_group_at_most.value();
        std::map<std::string, std::uint64_t> unreported = by_key;
        std::uint64_t lines_of_groups = found.other_groups->lines;
        for (const keyed_group& each : found.groups) {
          const std::uint64_t real = unreported.extract(each.key).mapped();
          CHECK(each.of.lines <= real);
          CHECK(real <= each.lines_at_most.value_or(each.of.lines));
          lines_of_groups += each.of.lines;
        }
        for (const auto& [key, lines] : unreported) CHECK(lines <= others_at_most);
        CHECK(lines_of_groups == all);
        CHECK(found.all.lines == all);
        CHECK(found.groups.front().of.lines == std::ranges::max(std::views::values(by_key)));
        CHECK(found.windows.size() == by_window.size());
        for (const event_window& each : found.windows) CHECK(each.of.lines == by_window.at(each.start));
        const double error = static_cast<double>(found.number_of_groups) - static_cast<double>(by_key.size());
        CHECK(std::abs(error) <= 4 * distinct_keys::standard_error * static_cast<double>(by_key.size()));
        // so many keys in three windows stay
        if (most > 20) CHECK(others_at_most * (in_memory_approximately / 4 * 3 / (3 * bytes_of_group)) <= all);
      }
    }
  }
}

TEST_CASE("an approximate sum without removed groups is exact, and one of too many windows has exact windows") {
  unit_plan plan = plan_of(10);
  plan.lines->is_approximate = true;
  group_sum few = approximate_sum();
  group_sum windows = approximate_sum();
  constexpr std::int64_t number_of_windows = 3000;
  for (std::int64_t i = 0; i < number_of_windows; ++i) {
    group_table table(approximate);
    table.counts(table.place_of({.window = i % 2 * seconds.length, .key = "k" + std::to_string(i % 40)})).lines = 1;
    few.add(table);
    table.counts(table.place_of({.window = i * seconds.length})).lines = 1;
    windows.add(table);
  }
  const group_result exact = group_result_of(plan, few);
  CHECK(exact.number_of_groups == 40);
  CHECK_FALSE(exact.number_error);
  CHECK_FALSE(exact.other_group_at_most);
  for (const keyed_group& each : exact.groups) CHECK_FALSE(each.lines_at_most);
  const group_result found = group_result_of(plan, windows);
  CHECK(found.windows.size() == number_of_windows);
  CHECK(found.without_key->lines == number_of_windows);
  CHECK(found.all.lines == 2 * number_of_windows);
}

TEST_CASE("the number of different keys is estimated with the error that is stated, and sums are exact") {
  for (const std::uint64_t number : {0U, 1U, 2U, 100U, 5000U, 20'000U, 41'000U, 60'000U, 300'000U}) {
    CAPTURE(number);
    distinct_keys whole;
    std::vector<distinct_keys> parts(3);
    for (std::uint64_t i = 0; i < number; ++i) {
      const std::string key = std::to_string(i * i);
      whole.note(key);
      parts[i % 3].note(key);
      parts[i % 2].note(key);
    }
    const double error = static_cast<double>(whole.number()) - static_cast<double>(number);
    CHECK(std::abs(error) <= 4 * distinct_keys::standard_error * static_cast<double>(number));
    distinct_keys sum = distinct_keys::of_bytes(parts[2].bytes());
    sum += parts[0];
    sum += parts[1];
    CHECK(sum.bytes() == whole.bytes());
  }
  CHECK_THROWS_AS(distinct_keys::of_bytes("x"), std::invalid_argument);
}

TEST_CASE("the length of windows is the first one with few enough of them, however lines are divided between tables") {
  const group_table::shape few{.classes = classes, .windows = {.length = 1'000'000'000, .most = 10}};
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 numbers(seed);
    const auto span = static_cast<std::int64_t>(std::uint64_t{1'000'000'000} << (numbers() % 24));
    group_sum spilled(group_table(few), {.in_memory = 1, .spilled_to = {}});
    group_table whole(few);
    std::map<std::int64_t, std::uint64_t> times;
    for (int part = 0; part < 6; ++part) {
      group_table table(few);
      for (int i = 0; i < 50; ++i) {
        const std::int64_t time = static_cast<std::int64_t>(numbers() % static_cast<std::uint64_t>(span)) - span / 3;
        ++times[time];
        ++table.counts(table.place_of({.window = time, .key = "a"})).lines;
      }
      table.settle();
      spilled.add(table);
      whole += table;
    }
    // the oracle: by the definition
    window_lengths expected = few.windows;
    std::map<std::int64_t, std::uint64_t> windows;
    for (;; expected.length = longer_window(expected)) {
      windows.clear();
      for (const auto& [time, lines] : times) {
        const std::int64_t rest = ((time % expected.length) + expected.length) % expected.length;
        windows[time - rest] += lines;
      }
      if (windows.size() <= 10) break;
    }
    CHECK(whole.windows() == expected);
    CHECK(whole.size() == windows.size());
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(whole.counts(i).lines == windows.at(whole.at(i).window));
    std::map<std::int64_t, std::uint64_t> found;
    spilled.for_each_part([&](const group_table& each) {
      for (std::size_t i = 0; i < each.size(); ++i) found[each.at(i).window] += each.counts(i).lines;
    });
    CHECK(found == windows);
  }
}

TEST_CASE("if first lines are kept, each first key has windows of its own length") {
  const group_table::shape of_logs{
      .classes = 1, .windows = {.length = 1'000'000'000, .most = 4}, .has_first_lines = true};
  group_sum spilled(group_table(of_logs), {.in_memory = 1, .spilled_to = {}});
  group_sum whole(group_table(of_logs), {});
  const std::vector<group_key> keys = {{.text = "name", .from = group_key::source::name},
                                       {.text = "field", .selector = lines::selector("field:1", std::nullopt)}};
  for (int part = 0; part < 3; ++part) {
    for (const std::int64_t step : {1, 60, 3600}) {
      group_table table(of_logs);
      key_reader reader(keys, "log of " + std::to_string(step));
      for (std::int64_t i = part * 20; i < (part + 1) * 20; ++i) {
        ++table.counts(table.place_of({.window = i * step * 1'000'000'000, .key = reader.read("a")})).lines;
        table.settle();
      }
      spilled.add(table);
      whole.add(table);
    }
  }
  for (const group_sum* each : {&spilled, &whole}) {
    std::map<std::string, std::map<std::int64_t, std::uint64_t>> found;
    std::map<std::string, std::int64_t> lengths;
    each->for_each_part([&](const group_table& part) {
      for (std::size_t i = 0; i < part.size(); ++i) {
        const std::string log = split_key(*part.at(i).key, 2).front();
        found[log][part.at(i).window] += part.counts(i).lines;
        lengths[log] = part.windows(log).length / 1'000'000'000;
      }
    });
    CHECK(lengths == std::map<std::string, std::int64_t>{{"log of 1", 15}, {"log of 60", 900}, {"log of 3600", 86400}});
    for (const auto& [log, windows] : found) {
      CHECK(windows.size() <= 4);
      std::uint64_t lines = 0;
      for (const auto& [start, number] : windows) lines += number;
      CHECK(lines == 60);
    }
  }
}

TEST_CASE("groups that were packed and read back have windows of the same length for each first key") {
  const group_table::shape of_logs{
      .classes = 1, .windows = {.length = 1'000'000'000, .most = 4}, .has_first_lines = true};
  group_table table(of_logs);
  const std::vector<group_key> keys = {{.text = "name", .from = group_key::source::name},
                                       {.text = "field", .selector = lines::selector("field:1", std::nullopt)}};
  for (const std::int64_t step : {1, 60, 3600}) {
    key_reader reader(keys, "log of " + std::to_string(step));
    for (std::int64_t i = 0; i < 60; ++i) {
      ++table.counts(table.place_of({.window = i * step * 1'000'000'000, .key = reader.read("a")})).lines;
      table.settle();
    }
  }
  std::vector<std::size_t> places(table.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  gpuhist::pipeline::packer out;
  pack(out, table, places);
  const std::string bytes = out.take();
  gpuhist::pipeline::unpacker in(bytes);
  const group_table read_back = unpack_groups(in);
  REQUIRE(read_back.size() == table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    CHECK(read_back.at(i) == table.at(i));
    const std::string first(first_key_of(*table.at(i).key));
    CHECK(read_back.windows(first) == table.windows(first));
  }
}

TEST_CASE("each length of a window divides the next one") {
  window_lengths windows{.length = 1'000'000'000};
  for (int i = 0; i < 20; ++i) {
    const std::int64_t longer = longer_window(windows);
    CHECK(longer > windows.length);
    CHECK(longer % windows.length == 0);
    windows.length = longer;
  }
}

TEST_CASE("a group keeps its first line by time, input and offset, also when it is spilled") {
  const group_table::shape with_lines{.classes = 1, .windows = {.length = 10}, .has_first_lines = true};
  std::mt19937_64 numbers(3);
  for (const std::size_t in_memory : {std::size_t{1}, ~std::size_t{0}}) {
    group_sum sum(group_table(with_lines), {.in_memory = in_memory, .spilled_to = {}});
    using order = std::tuple<std::int64_t, std::string, std::uint64_t>;
    std::map<std::pair<std::int64_t, std::string>, order> expected;
    for (int part = 0; part < 5; ++part) {
      group_table table(with_lines);
      for (int i = 0; i < 300; ++i) {
        const auto time = static_cast<std::int64_t>(numbers() % 40);
        const std::string key(1, static_cast<char>('a' + numbers() % 3));
        const std::string input = "log." + std::to_string(numbers() % 3);
        const std::uint64_t offset = numbers() % 1000;
        const order of(time, input, offset);
        const auto at = expected.try_emplace({time / 10 * 10, key}, of).first;
        at->second = std::min(at->second, of);
        const std::size_t place = table.place_of({.window = time, .key = key});
        table.note_first(place,
                         {.time = time, .place = {.offset = offset}, .input = input, .text = std::to_string(offset)});
      }
      sum.add(table);
    }
    std::size_t groups = 0;
    sum.for_each_part([&](const group_table& part) {
      for (std::size_t i = 0; i < part.size(); ++i, ++groups) {
        const first_line line = part.first_of(i);
        CHECK(order(line.time, line.input, line.place.offset) ==
              expected.at({part.at(i).window, std::string(*part.at(i).key)}));
        CHECK(line.text == std::to_string(line.place.offset));
      }
    });
    CHECK(groups == expected.size());
  }
}

TEST_CASE("two keys are joined in the order of their bytes, and split again") {
  const std::vector<std::string> parts = {
      "", "a", std::string(1, '\0'), std::string("a\0", 2), std::string("a\0b", 3), "b", "\xff"};
  std::map<std::pair<std::string, std::string>, std::string> joined;
  for (const std::string& first : parts) {
    for (const std::string& second : parts) {
      const std::vector<group_key> keys = {
          {.text = "name", .from = group_key::source::name},
          {.text = "field", .selector = lines::selector(R"(regex:(\C*))", std::nullopt)}};
      key_reader reader(keys, first);
      CHECK_FALSE(reader.is_constant());
      const std::string key(reader.read(second).value());
      CHECK(split_key(key, 2) == std::vector{first, second});
      joined[{first, second}] = key;
    }
  }
  CHECK(std::ranges::is_sorted(joined, {}, [](const auto& each) { return each.second; }));
}
