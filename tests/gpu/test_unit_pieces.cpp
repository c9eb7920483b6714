// The pieces of units, as the kernels of devices count them: on the host, with one lane, and with lanes that are
// threads.
#include "gpu/cuda/kernels_on_host.hpp"
#include "gpu/host/unit_rows.hpp"
#include "tests/gpu/thread_lanes.hpp"
#include "tests/support/campaign.hpp"
#include "tests/support/unit_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bitset>
#include <random>
#include <string>
#include <vector>

using namespace gpuhist::gpu;
using namespace gpuhist::gpu::cuda::units;
using namespace gpuhist::test;

namespace {

using random_engine = std::mt19937;

constexpr std::byte line_feed{'\n'};

void check(const unit_text& text, const piece_classes& classes, std::byte delimiter,
           const measure_function& measure = measure_on_host) {
  const measured_pieces found = measure_pieces(text, classes, delimiter, measure);
  CAPTURE(text.room());
  CAPTURE(text.extents().size());
  CAPTURE(classes.classes);
  CHECK(differences(found, text, classes, delimiter).empty());
}

// Texts in which pieces end at every kind of place.
void check_random_texts(random_engine& random, std::size_t rounds, std::size_t longest,
                        const measure_function& measure) {
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto delimiter = static_cast<std::byte>(random());
    auto classes = random_classes(random, 1 + round % piece_classes::max_classes, delimiter);
    if (random() % 2 == 0) classes.condition = random_condition(random, classes);
    check(random_text(random, {.extents = random() % 6, .longest = longest}, delimiter), classes, delimiter, measure);
  }
}

TEST_CASE("pieces of texts of any length have the counts of a simple loop") {
  random_engine random(1);  // NOLINT(*-msc51-cpp): the same texts on every run
  for (std::size_t size = 0; size <= 300; ++size) {
    for (const std::size_t distance : {0U, 1U, 2U, 7U, 40U}) {
      unit_text text;
      text.add(random_bytes(random, size, distance, line_feed));
      check(text, random_classes(random, 1 + size % piece_classes::max_classes, line_feed), line_feed);
    }
  }
}

TEST_CASE("a delimiter at each place around the end of a tile ends a piece") {
  random_engine random(2);  // NOLINT(*-msc51-cpp)
  const auto classes = random_classes(random, 5, line_feed);
  const auto filled = random_bytes(random, 2 * tile_bytes + 100, 0, line_feed);
  for (std::size_t place = tile_bytes - 70; place < tile_bytes + 70; ++place) {
    for (const std::size_t second : {place, place + 1, place + 2, place + 33, filled.size() - 1}) {
      auto bytes = filled;
      bytes[place] = bytes[second] = line_feed;
      unit_text text;
      text.add(bytes);
      check(text, classes, line_feed);
    }
  }
}

TEST_CASE("extents that are empty, end with a tile, or lie in one tile have pieces of their own") {
  random_engine random(3);  // NOLINT(*-msc51-cpp)
  const auto classes = random_classes(random, 9, line_feed);
  const std::size_t sizes[] = {0, 1, 32, tile_bytes - 64, 0, 31, 0, tile_bytes, 0, 2 * tile_bytes, 0, 5, 0};
  for (std::size_t first = 0; first < std::size(sizes); ++first) {
    for (const std::size_t distance : {0U, 1U, 50U, 5000U}) {
      unit_text text;
      for (std::size_t i = first; i < std::size(sizes); ++i)
        text.add(random_bytes(random, sizes[i], distance, line_feed));
      check(text, classes, line_feed);
    }
  }
  check(unit_text(), classes, line_feed);
}

TEST_CASE("units for which a condition does not hold are omitted, except those at the begin of a tile or an extent") {
  random_engine random(8);  // NOLINT(*-msc51-cpp)
  for (unsigned round = 0; round < 300; ++round) {
    CAPTURE(round);
    auto classes = random_classes(random, 2 + round % 14, line_feed);
    classes.condition = random_condition(random, classes);
    check(random_text(random, {.extents = random() % 5, .longest = 50'000}, line_feed), classes, line_feed);
  }
}

TEST_CASE("a condition that never holds leaves two rows of a tile, and one of the units between them") {
  random_engine random(9);  // NOLINT(*-msc51-cpp)
  auto classes = random_classes(random, 5, line_feed);
  using operation = condition_step::operation;
  classes.condition = {
      .steps = {{.what = operation::bytes}, {.what = operation::constant, .constant = 0}, {.what = operation::less}},
      .size = 3};
  unit_text text;
  std::vector<std::byte> lines(3 * tile_bytes, std::byte{'x'});
  for (std::size_t at = 99; at < lines.size(); at += 100) lines[at] = line_feed;
  text.add(lines);
  const measured_pieces found = measure_pieces(text, classes, line_feed, measure_on_host);
  const piece_rows rows(found.rows, classes);
  REQUIRE(rows.size() == 9);
  CHECK(differences(found, text, classes, line_feed).empty());
  CHECK(rows.omitted_units(1) == 162);
  CHECK(rows.omitted_bytes(1) == 16'200);
}

TEST_CASE("an extent whose rows have room returns them, also if those of the next one in the same tile have none") {
  random_engine random(10);  // NOLINT(*-msc51-cpp)
  auto classes = random_classes(random, 5, line_feed);
  classes.condition = random_condition(random, classes);
  unit_text text;
  text.add(random_bytes(random, 4000, 30, line_feed));
  text.add(random_bytes(random, 4000, 30, line_feed));
  auto all = classes;
  all.condition.size = 0;
  const std::uint32_t room = measure_pieces(text, all, line_feed, measure_on_host).extent_pieces.at(1);
  const measured_pieces whole = measure_pieces(text, classes, line_feed, measure_on_host);
  const measured_pieces first = measure_pieces(text, classes, line_feed, measure_on_host, room);
  REQUIRE(first.extent_pieces == std::vector<std::uint32_t>{0, whole.extent_pieces.at(1), whole.extent_pieces.at(1)});
  CHECK(std::ranges::equal(first.rows, std::span(whole.rows).first(first.rows.size())));
}

TEST_CASE("bytes between extents are not counted") {
  random_engine random(4);  // NOLINT(*-msc51-cpp)
  unit_text text;
  for (std::size_t i = 0; i < 20; ++i) {
    text.add(random_bytes(random, random() % 3000, 100, line_feed));
    text.add_gap(32 * (random() % 4), line_feed);
  }
  check(text, random_classes(random, 16, line_feed), line_feed);
}

TEST_CASE("unit fuzz: random texts in random extents have the pieces of a simple loop") {
  random_engine random(fuzz_seed(5));
  check_random_texts(random, fuzz_runs(400), 40'000, measure_on_host);
}

// A step of all lanes takes long where there are fewer cores, so these texts are short.
TEST_CASE("any number of lanes gives the same pieces") {
  random_engine random(6);  // NOLINT(*-msc51-cpp)
  check_random_texts(random, 32, 300, measure_with_threads<2>);
  check_random_texts(random, 20, 4000, measure_with_threads<32>);
}

TEST_CASE("joined pieces are the units of the text, also of units that cross extents and tiles") {
  random_engine random(7);  // NOLINT(*-msc51-cpp)
  for (const std::size_t distance : {1U, 20U, 200U, 100'000U}) {
    unit_text text;
    std::vector<std::byte> all;
    for (std::size_t i = 0; i < 8; ++i) {
      const auto bytes = random_bytes(random, random() % 70'000, distance, line_feed);
      text.add(bytes);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    all.push_back(line_feed);
    text.add({&all.back(), 1});
    const auto classes = random_classes(random, 12, line_feed);
    host::unit_columns columns{.sets = std::vector<std::bitset<256>>(classes.classes), .word_separators = {}};
    for (std::size_t value = 0; value < 256; ++value) columns.sets[classes.class_of[value]].set(value);
    const host::prepared_units prepared(columns, line_feed);
    std::vector<std::uint32_t> ends(all.size());
    std::vector<std::uint32_t> rows(all.size() * classes.classes);
    const std::size_t units = host::count_units(all, prepared, ends, rows);

    const measured_pieces found = measure_pieces(text, classes, line_feed, measure_on_host);
    const piece_rows pieces(found.rows, classes);
    std::vector<std::uint32_t> unit(classes.classes);
    std::uint32_t end = 0;
    std::size_t number = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      pieces.add_counts(i, std::span(unit));
      end += pieces.bytes(i);
      if (!pieces.ends_unit(i)) continue;
      REQUIRE(number < units);
      const std::span expected = std::span(rows).subspan(number * classes.classes, classes.classes);
      if (end != ends[number] || !std::ranges::equal(unit, expected)) FAIL("a unit is wrong");
      std::ranges::fill(unit, 0U);
      ++number;
    }
    CHECK(number == units);
  }
}

TEST_CASE("nothing is written after the room for rows, and the pieces of extents are counted in any case") {
  random_engine random(8);  // NOLINT(*-msc51-cpp)
  const auto classes = random_classes(random, 8, line_feed);
  const unit_text text = random_text(random, {.extents = 5, .longest = 30'000}, line_feed);
  const measured_pieces all = measure_pieces(text, classes, line_feed, measure_on_host);
  const std::size_t words = classes.words_of_row();
  for (const std::uint32_t room : {0U, 1U, 7U, static_cast<std::uint32_t>(all.rows.size() / words) - 1}) {
    const measured_pieces some = measure_pieces(text, classes, line_feed, measure_on_host, room);
    CHECK(some.extent_pieces == all.extent_pieces);
    REQUIRE(some.rows.size() == room * words);  // of exactly this size: the sanitizer detects more
    CHECK(std::ranges::equal(some.rows, std::span(all.rows).first(some.rows.size())));
  }
}

TEST_CASE("classes are those of the partition, without the delimiter") {
  partition vowels{.class_of = {}, .classes = 2};
  for (const char each : std::string("aeiou")) vowels.class_of[static_cast<unsigned char>(each)] = 1;
  const auto made = piece_classes::make(vowels, line_feed);
  REQUIRE(made);
  CHECK(made->classes == 3);
  CHECK(made->counters == 4);
  CHECK(made->class_of['\n'] == 0);
  CHECK(made->class_of['a'] == made->class_of['u']);
  CHECK(made->class_of['a'] != made->class_of['b']);
}

TEST_CASE("a row has as few numbers as suffice, and more than 16 classes have none") {
  const auto counters_for = [](unsigned classes) {
    partition made{.class_of = {}, .classes = static_cast<std::uint16_t>(classes)};
    for (unsigned value = 0; value < 256; ++value) made.class_of[value] = static_cast<std::uint8_t>(value % classes);
    const auto found = piece_classes::make(made, line_feed);
    return found ? found->counters : 0;
  };
  CHECK(counters_for(1) == 4);
  CHECK(counters_for(4) == 4);
  CHECK(counters_for(5) == 8);
  CHECK(counters_for(8) == 8);
  CHECK(counters_for(9) == 16);
  CHECK(counters_for(15) == 16);
  CHECK(counters_for(16) == 0);
  CHECK(!piece_classes::make(partition::identity(), line_feed));
}

}  // namespace
