// The kernels that measure units, compared with a simple loop, on a device.
#include "gpu/cuda/units/unit_kernels.hpp"
#include "tests/support/device_arrays.hpp"
#include "tests/support/unit_strings.hpp"
#include "tests/support/unit_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>

using namespace gpuhist::test;
using namespace gpuhist::gpu::cuda::units;

namespace {

constexpr std::byte line_feed{'\n'};

int multiprocessors() {
  int found = 0;
  require(cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, 0));
  return found;
}

void measure_on_device(const unit_launch& host) {
  const std::size_t row_words = std::size_t{host.row_room} * host.counters / 2;
  const device_array<std::uint8_t> text(host.text, host.text_room);
  const device_array<gpuhist::gpu::extent> extents(host.extents, host.extent_count);
  const device_array<std::uint32_t> classes(host.classes, 256);
  const device_array<std::uint32_t> tile_pieces(tiles_in(host.text_room) + 1);
  const device_array<std::uint32_t> extent_pieces(host.extent_count + 1);
  device_array<std::uint32_t> rows(row_words);
  rows.clear();
  unit_launch device = host;
  device.text = text.data();
  device.extents = extents.data();
  device.classes = classes.data();
  device.tile_pieces = tile_pieces.data();
  device.extent_pieces = extent_pieces.data();
  device.rows = rows.data();
  const device_array<searched_strings> strings(host.strings, host.strings != nullptr ? 1 : 0);
  if (host.strings != nullptr) device.strings = strings.data();
  device.multiprocessors = multiprocessors();
  const device_array<std::uint32_t> tile_rows(tiles_in(host.text_room) + 1);
  const device_array<std::uint32_t> extent_rows(host.extent_count + 1);
  device_array<std::uint32_t> returned(row_words);
  returned.clear();
  device.selection.tile_rows = tile_rows.data();
  device.selection.extent_rows = extent_rows.data();
  device.selection.rows = returned.data();
  require(launch_units(device, nullptr));
  require(cudaDeviceSynchronize());
  if (host.selects_rows()) {
    extent_rows.copy_to(host.selection.extent_rows, (host.extent_count + 1) * sizeof(std::uint32_t));
    returned.copy_to(host.selection.rows, row_words * sizeof(std::uint32_t));
  }
  extent_pieces.copy_to(host.extent_pieces, (host.extent_count + 1) * sizeof(std::uint32_t));
  rows.copy_to(host.rows, row_words * sizeof(std::uint32_t));
}

// `row_room`: enough for all pieces.
void check(const unit_text& text, const piece_classes& classes, std::byte delimiter,
           std::uint32_t row_room = ~std::uint32_t{0}) {
  CAPTURE(text.room());
  CAPTURE(text.extents().size());
  CAPTURE(classes.classes);
  const measured_pieces found = measure_pieces(text, classes, delimiter, measure_on_device, row_room);
  CHECK(differences(found, text, classes, delimiter) == "");
}

void check_random_texts(std::mt19937& random, std::size_t rounds, const text_shape& shape) {
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto delimiter = static_cast<std::byte>(random());
    auto classes = random_classes(random, 1 + round % piece_classes::max_classes, delimiter);
    if (random() % 2 == 0) classes.condition = random_condition(random, classes);
    check(random_text(random, {.extents = random() % (shape.extents + 1), .longest = shape.longest}, delimiter),
          classes, delimiter);
  }
}

void check_random_strings(std::mt19937& random, std::size_t rounds, const text_shape& shape) {
  for (std::size_t round = 0; round < rounds; ++round) {
    const string_list strings = random_strings(random, 1 + random() % searched_strings::max_strings,
                                               random() % 4 == 0 ? searched_strings::max_bytes : 12);
    unit_text text;
    for (std::size_t left = random() % (shape.extents + 1); left > 0; --left) {
      const std::string lines = random_lines(random, strings, random() % (shape.longest + 1), 1 + random() % 300);
      text.add(std::as_bytes(std::span(lines)));
    }
    const piece_classes classes = classes_with(strings);
    const measured_pieces found = measure_pieces(text, classes, classes.delimiter, measure_on_device);
    CAPTURE(round);
    REQUIRE(string_differences(found, text, classes, strings) == "");
  }
}

}  // namespace

TEST_CASE("the device finds strings in the lines in which a simple search finds them") {
  if (no_device()) return;
  std::mt19937 random(6);  // NOLINT(*-msc51-cpp)
  check_random_strings(random, 300, {.extents = 8, .longest = 3000});
  check_random_strings(random, 60, {.extents = 8, .longest = 100'000});
  check_random_strings(random, 5, {.extents = 2000, .longest = 3000});
}

TEST_CASE("the device finds strings in texts with more tiles than it has warps") {
  if (no_device()) return;
  std::mt19937 random(7);  // NOLINT(*-msc51-cpp)
  check_random_strings(random, 2, {.extents = 3, .longest = 120'000'000});
}

TEST_CASE("the device measures texts of any length as a simple loop does") {
  if (no_device()) return;
  std::mt19937 random(1);  // NOLINT(*-msc51-cpp): the same texts on every run
  for (std::size_t size = 0; size <= 2100; ++size) {
    unit_text text;
    text.add(random_bytes(random, size, size % 60, line_feed));
    check(text, random_classes(random, 1 + size % piece_classes::max_classes, line_feed), line_feed);
  }
}

TEST_CASE("the device measures random texts in random extents as a simple loop does") {
  if (no_device()) return;
  std::mt19937 random(2);  // NOLINT(*-msc51-cpp)
  check_random_texts(random, 300, {.extents = 8, .longest = 60'000});
  check_random_texts(random, 10, {.extents = 2000, .longest = 3000});
}

TEST_CASE("the device measures texts with more tiles than it has warps") {
  if (no_device()) return;
  std::mt19937 random(3);  // NOLINT(*-msc51-cpp)
  constexpr std::uint32_t row_room = 4'000'000;
  unit_text text;
  for (unsigned i = 0; i < 3; ++i) text.add(random_bytes(random, 50'000'000 + i, 100 + 100 * i, line_feed));
  for (const std::size_t classes : {4U, 8U, 16U}) {
    auto made = random_classes(random, classes, line_feed);
    check(text, made, line_feed, row_room);
    made.condition = random_condition(random, made);
    check(text, made, line_feed, row_room);
  }
}

TEST_CASE("a sanitized sample of texts: the kernels stay in their memory") {
  if (no_device()) return;
  std::mt19937 random(4);  // NOLINT(*-msc51-cpp)
  check_random_texts(random, 32, {.extents = 6, .longest = 40'000});
  check_random_strings(random, 24, {.extents = 6, .longest = 40'000});
}

TEST_CASE("the device writes nothing after the room for rows") {
  if (no_device()) return;
  std::mt19937 random(5);  // NOLINT(*-msc51-cpp)
  const auto classes = random_classes(random, 8, line_feed);
  const unit_text text = random_text(random, {.extents = 5, .longest = 30'000}, line_feed);
  const measured_pieces all = measure_pieces(text, classes, line_feed, measure_on_device);
  for (const std::uint32_t room : {0U, 1U, 7U}) {
    const measured_pieces some = measure_pieces(text, classes, line_feed, measure_on_device, room);
    CHECK(some.extent_pieces == all.extent_pieces);
    CHECK(std::ranges::equal(some.rows, std::span(all.rows).first(room * classes.words_of_row())));
  }
}
