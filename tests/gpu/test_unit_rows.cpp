// Rows of units: counts are those of a simple loop, on every instruction set of this machine.
#include "gpu/host/unit_rows.hpp"

#include <doctest/doctest.h>
#include <hwy/highway.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>

namespace gpuhist::gpu::host {
namespace {

using set = std::bitset<256>;
using random = std::mt19937;

constexpr std::byte line_feed{'\n'};

// Makes Highway choose one instruction set until the end of the scope.
class only_target {
 public:
  explicit only_target(std::int64_t target) { choose(target); }
  only_target(const only_target&) = delete;
  only_target& operator=(const only_target&) = delete;
  ~only_target() { choose(0); }

 private:
  static void choose(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  }
};

void on_every_target(const std::function<void()>& check) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const only_target chosen(target);
    CAPTURE(hwy::TargetName(target));
    REQUIRE(units_instruction_set() == hwy::TargetName(target));
    check();
  }
}

// Memory before a page that cannot be accessed.
class guarded_memory {
 public:
  explicit guarded_memory(std::size_t size) : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    size_ = (size + page_ - 1) / page_ * page_ + page_;
    void* const memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    begin_ = static_cast<std::byte*>(memory);
    REQUIRE(::mprotect(begin_ + size_ - page_, page_, PROT_NONE) == 0);
  }
  guarded_memory(const guarded_memory&) = delete;
  guarded_memory& operator=(const guarded_memory&) = delete;
  ~guarded_memory() { ::munmap(begin_, size_); }

  // The copy ends `distance` bytes before the inaccessible page.
  std::span<const std::byte> copy(std::span<const std::byte> text, std::size_t distance) {
    std::byte* const to = begin_ + size_ - page_ - distance - text.size();
    std::ranges::copy(text, to);
    return {to, text.size()};
  }

 private:
  std::size_t page_;
  std::size_t size_;
  std::byte* begin_;
};

// The simple loop: what is expected.
struct unit_list {
  std::vector<std::uint32_t> ends;
  std::vector<std::vector<std::uint32_t>> rows;
};

std::vector<std::uint32_t> simple_row(std::span<const std::byte> text, bool in_word, const unit_columns& columns,
                                      std::byte delimiter) {
  std::vector<std::uint32_t> row(columns.sets.size() + (columns.word_separators ? 1 : 0));
  for (const std::byte each : text) {
    const auto value = std::to_integer<std::size_t>(each);
    for (std::size_t i = 0; i < columns.sets.size(); ++i) row[i] += columns.sets[i][value] ? 1 : 0;
    if (!columns.word_separators) continue;
    const bool separates = each == delimiter || (*columns.word_separators)[value];
    if (!separates && !in_word) ++row.back();
    in_word = !separates;
  }
  return row;
}

unit_list simple_units(std::span<const std::byte> text, const unit_columns& columns, std::byte delimiter) {
  unit_list found;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != delimiter) continue;
    found.ends.push_back(static_cast<std::uint32_t>(i + 1));
    found.rows.push_back(simple_row(text.subspan(begin, i + 1 - begin), false, columns, delimiter));
    begin = i + 1;
  }
  return found;
}

// Calls count_units with room for `room` units, again and again from the end of the last unit.
unit_list units_with_room(std::span<const std::byte> text, const prepared_units& prepared, std::size_t room) {
  constexpr std::uint32_t untouched = 0xdeadbeef;
  const std::size_t columns = prepared.columns();
  unit_list found;
  for (std::size_t begin = 0;;) {
    std::vector<std::uint32_t> ends(room + 1, untouched);
    std::vector<std::uint32_t> rows(room * columns + 1, untouched);
    const std::size_t units =
        count_units(text.subspan(begin), prepared, std::span(ends).first(room), std::span(rows).first(room * columns));
    REQUIRE(units <= room);
    if (ends.back() != untouched || rows.back() != untouched) FAIL("written after the end");
    for (std::size_t i = 0; i < units; ++i) {
      found.ends.push_back(static_cast<std::uint32_t>(begin) + ends[i]);
      found.rows.emplace_back(rows.data() + i * columns, rows.data() + (i + 1) * columns);
    }
    if (units < room) return found;
    begin += ends[room - 1];
  }
}

void check_units(std::span<const std::byte> text, const unit_columns& columns, std::byte delimiter, std::size_t room) {
  const unit_list expected = simple_units(text, columns, delimiter);
  const unit_list found = units_with_room(text, prepared_units(columns, delimiter), room);
  CAPTURE(text.size());
  CAPTURE(columns.sets.size());
  CAPTURE(columns.word_separators.has_value());
  CAPTURE(room);
  if (found.ends != expected.ends) FAIL_CHECK("ends of units are wrong");
  if (found.rows != expected.rows) FAIL_CHECK("rows of units are wrong");
}

// A delimiter about every `distance` bytes; 0: none.
std::vector<std::byte> random_text(random& generator, std::size_t size, std::size_t distance, std::byte delimiter) {
  std::vector<std::byte> text(size);
  for (std::byte& each : text) {
    each = static_cast<std::byte>(generator());
    if (generator() % 4 == 0) each = std::byte{' '};  // words
    if (each == delimiter) each ^= std::byte{1};
    if (distance != 0 && generator() % distance == 0) each = delimiter;
  }
  return text;
}

set random_set(random& generator) {
  set values;
  switch (generator() % 8) {
    case 0:
      return values;
    case 1:
      return ~values;
    case 2:
      return values.set(generator() % 256);
    default:
      break;
  }
  const std::size_t share = 1 + generator() % 8;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = generator() % share == 0;
  return values;
}

unit_columns random_columns(random& generator, std::size_t sets, bool words) {
  unit_columns columns;
  for (std::size_t i = 0; i < sets; ++i) columns.sets.push_back(random_set(generator));
  if (words) columns.word_separators = random_set(generator).set(' ');
  return columns;
}

// 0 to 16 sets, with and without words.
void for_all_widths(random& generator, const std::function<void(const unit_columns&)>& check) {
  for (std::size_t sets = 0; sets <= max_unit_sets; ++sets) {
    for (const bool words : {false, true}) check(random_columns(generator, sets, words));
  }
}

constexpr std::size_t distances[] = {0, 1, 2, 5, 30, 150};

TEST_CASE("each byte value belongs to exactly the columns whose sets contain it") {
  std::vector<std::byte> text(512);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = i % 2 == 0 ? static_cast<std::byte>(i / 2) : line_feed;
  on_every_target([&] {
    random generator(1);  // NOLINT(*-msc51-cpp): the same texts on every run
    for_all_widths(generator, [&](const unit_columns& columns) { check_units(text, columns, line_feed, 600); });
  });
}

TEST_CASE("units of texts of any length, next to memory that cannot be read, have the rows of a simple loop") {
  guarded_memory memory(1 << 16);
  on_every_target([&] {
    random generator(2);  // NOLINT(*-msc51-cpp)
    for (std::size_t size = 0; size <= 300; ++size) {
      for (const std::size_t distance : distances) {
        const auto delimiter = static_cast<std::byte>(generator());
        const auto text = random_text(generator, size, distance, delimiter);
        const auto columns = random_columns(generator, generator() % (max_unit_sets + 1), generator() % 2 == 0);
        check_units(memory.copy(text, 0), columns, delimiter, size + generator() % 80);
      }
    }
  });
}

TEST_CASE("the alignment of a text does not matter") {
  guarded_memory memory(1 << 16);
  on_every_target([&] {
    random generator(3);  // NOLINT(*-msc51-cpp)
    for (std::size_t alignment = 0; alignment < 64; ++alignment) {
      const auto text = random_text(generator, 200 + generator() % 200, 20, line_feed);
      check_units(memory.copy(text, alignment), random_columns(generator, 1 + alignment % 6, alignment % 2 == 0),
                  line_feed, 400);
    }
  });
}

TEST_CASE("units that span many blocks and parts of a large text have the rows of a simple loop") {
  on_every_target([&] {
    random generator(4);  // NOLINT(*-msc51-cpp)
    for (const std::size_t distance : {1U, 3U, 12U, 100U, 1000U, 20000U}) {
      for_all_widths(generator, [&](const unit_columns& columns) {
        const auto text = random_text(generator, 20000 + generator() % 20000, distance, line_feed);
        check_units(text, columns, line_feed, text.size());
      });
    }
  });
}

TEST_CASE("units are found with room for a few at a time, and nothing is written after the room") {
  on_every_target([&] {
    random generator(5);  // NOLINT(*-msc51-cpp)
    for (const std::size_t room : {1U, 2U, 3U, 4U, 5U, 7U, 63U, 64U, 65U, 68U, 130U}) {
      for (const std::size_t distance : {1U, 4U, 40U, 300U}) {
        const auto text = random_text(generator, 3000, distance, line_feed);
        check_units(text, random_columns(generator, generator() % 7, generator() % 2 == 0), line_feed, room);
      }
    }
  });
}

TEST_CASE("without room no unit is written") {
  const std::vector<std::byte> text(100, line_feed);
  const prepared_units prepared({.sets = {set().set('\n')}, .word_separators = {}}, line_feed);
  on_every_target([&] { CHECK(count_units(text, prepared, {}, {}) == 0); });
}

TEST_CASE("the delimiter is counted in its unit, and separates words") {
  const std::string text = "a \n\nbc d\nrest";
  const prepared_units prepared({.sets = {set().set('\n'), ~set()}, .word_separators = set().set(' ')}, line_feed);
  on_every_target([&] {
    std::vector<std::uint32_t> ends(20);
    std::vector<std::uint32_t> rows(60);
    REQUIRE(count_units(std::as_bytes(std::span(text)), prepared, ends, rows) == 3);
    ends.resize(3);
    rows.resize(9);
    CHECK(ends == std::vector<std::uint32_t>{3, 4, 9});
    CHECK(rows == std::vector<std::uint32_t>{1, 3, 1, 1, 1, 0, 1, 5, 2});
  });
}

TEST_CASE("a part of a unit, next to memory that cannot be read, has the row of a simple loop") {
  guarded_memory memory(1 << 16);
  on_every_target([&] {
    random generator(6);  // NOLINT(*-msc51-cpp)
    for_all_widths(generator, [&](const unit_columns& columns) {
      const prepared_units prepared(columns, line_feed);
      for (std::size_t size = 0; size <= 300; size += 1 + generator() % 5) {
        const auto text = memory.copy(random_text(generator, size, 50, line_feed), generator() % 14);
        const bool in_word = generator() % 2 == 0;
        std::vector<std::uint32_t> row(prepared.columns() + 1, 77);
        count_within_unit(text, in_word, prepared, row.data());
        auto expected = simple_row(text, in_word, columns, line_feed);
        expected.push_back(77);
        CAPTURE(size);
        if (row != expected) FAIL_CHECK("the row of a part is wrong");
      }
    });
  });
}

TEST_CASE("the rows of the parts of a unit add up to the row of the unit") {
  on_every_target([&] {
    random generator(7);  // NOLINT(*-msc51-cpp)
    for (std::size_t cut = 0; cut <= 200; ++cut) {
      const auto text = random_text(generator, 200, 0, line_feed);
      const auto columns = random_columns(generator, 3, true);
      const prepared_units prepared(columns, line_feed);
      const auto first = std::span<const std::byte>(text).first(cut);
      const bool in_word = cut != 0 && !(*columns.word_separators)[std::to_integer<std::size_t>(first.back())];
      std::vector<std::uint32_t> row(4);
      std::vector<std::uint32_t> more(4);
      count_within_unit(first, false, prepared, row.data());
      count_within_unit(std::span(text).subspan(cut), in_word, prepared, more.data());
      std::ranges::transform(row, more, row.begin(), std::plus());
      if (row != simple_row(text, false, columns, line_feed)) FAIL_CHECK("the sum of the rows is wrong");
    }
  });
}

TEST_CASE("more than 16 sets are rejected") {
  unit_columns columns{.sets = std::vector<set>(max_unit_sets), .word_separators = set()};
  CHECK(prepared_units(columns, line_feed).columns() == max_unit_sets + 1);
  columns.sets.emplace_back();
  CHECK_THROWS_AS(prepared_units(columns, line_feed), std::invalid_argument);
}

}  // namespace
}  // namespace gpuhist::gpu::host
