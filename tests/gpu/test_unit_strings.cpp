// Strings in lines, as the kernels of devices search them: on the host, with one lane, and with lanes that are threads.
#include "gpu/cuda/kernels_on_host.hpp"
#include "tests/gpu/thread_lanes.hpp"
#include "tests/support/campaign.hpp"
#include "tests/support/unit_strings.hpp"
#include "tests/support/unit_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace gpuhist::gpu::cuda::units;
using namespace gpuhist::test;

namespace {

unit_text text_of(const std::vector<std::string>& extents) {
  unit_text text;
  for (const std::string& each : extents) text.add(std::as_bytes(std::span(each)));
  return text;
}

std::string differences_of(const unit_text& text, const string_list& strings,
                           const measure_function& measure = measure_on_host) {
  const piece_classes classes = classes_with(strings);
  return string_differences(measure_pieces(text, classes, classes.delimiter, measure), text, classes, strings);
}

void check_random_texts(std::mt19937& random, std::size_t rounds, std::size_t longest,
                        const measure_function& measure) {
  for (std::size_t round = 0; round < rounds; ++round) {
    const string_list strings = random_strings(random, 1 + random() % searched_strings::max_strings,
                                               random() % 4 == 0 ? searched_strings::max_bytes : 12);
    std::vector<std::string> extents(random() % 5);
    for (std::string& each : extents)
      each = random_lines(random, strings, random() % (longest + 1), 1 + random() % 300);
    CAPTURE(round);
    REQUIRE(differences_of(text_of(extents), strings, measure) == "");
  }
}

bool is_searched(const string_list& strings) { return searched_strings::make(strings, std::byte{'\n'}).has_value(); }

TEST_CASE("a string at each place around the ends of lanes and tiles is found in its line") {
  for (const std::string_view string : {"x", "ab", "connection reset", "0123456789abcdefghijklmnopqrstuvwxyz"}) {
    for (const std::size_t end : {std::size_t{32}, std::size_t{64}, std::size_t{tile_bytes}}) {
      for (std::size_t at = end - std::min(end, string.size() + 2); at < end + 3; ++at) {
        std::string line(2 * tile_bytes, '.');
        line.replace(at, string.size(), string);
        CAPTURE(string);
        CAPTURE(at);
        REQUIRE(differences_of(text_of({line, line + "\n" + line}), {{.text = std::string(string)}}) == "");
      }
    }
  }
}

TEST_CASE("a string does not match across a line feed, the end of an extent, or bytes between extents") {
  const string_list strings = {{.text = "abcd"}};
  CHECK(differences_of(text_of({"ab\ncd\n", "xxab", "cdxx\n"}), strings) == "");
  unit_text text;
  const std::string begin = "ab";
  text.add(std::as_bytes(std::span(begin)));
  text.add_gap(32, std::byte{'d'});
  text.add(std::as_bytes(std::span(begin)));
  CHECK(differences_of(text, strings) == "");
}

TEST_CASE("letters in either case, U+017F and U+212A match a string that ignores case, as in RE2") {
  const string_list strings = {{.text = "kiSs", .ignores_case = true}, {.text = "kiSs"}};
  for (const std::string_view text : {"kiss", "KISS", "kiSs", "\xe2\x84\xaaiss", "ki\xc5\xbfs", "kis\xc5\xbf",
                                      "\xe2\x84\xaai\xc5\xbf\xc5\xbf", "ki\xc5s", "\x84\xaaiss", "kisS", "k\x09ss"}) {
    CAPTURE(text);
    CHECK(differences_of(text_of({std::string(text), "..." + std::string(text) + "...\n"}), strings) == "");
  }
}

TEST_CASE("lines with the same strings have one row in a tile if there are not more kinds than lanes") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += i % 2 == 0 ? "an ERROR\n" : "a warning\n";
  const piece_classes classes = classes_with({{.text = "ERROR"}, {.text = "warning"}});
  const unit_text extents = text_of({text});
  const measured_pieces found = measure_pieces(extents, classes, classes.delimiter, measure_with_threads<2>);
  const piece_rows rows(found.rows, classes);
  // an edge of 6 bytes, the first line, two kinds of lines, an edge
  REQUIRE(rows.size() == 7);
  CHECK(rows.omitted_units(3) == 50);
  CHECK(rows.strings(3) == 2);
  CHECK(rows.omitted_units(4) == 49);
  CHECK(rows.strings(4) == 1);
}

TEST_CASE("a set is searched if it has up to 16 strings of up to 255 bytes with a window") {
  CHECK(is_searched(string_list(16, {.text = "x"})));
  CHECK_FALSE(is_searched(string_list(17, {.text = "x"})));
  CHECK_FALSE(is_searched({}));
  CHECK_FALSE(is_searched({{.text = ""}}));
  CHECK(is_searched({{.text = std::string(255, 'x')}}));
  CHECK_FALSE(is_searched({{.text = std::string(256, 'x')}}));
  CHECK_FALSE(is_searched({{.text = "two\nlines"}}));
  CHECK(is_searched({{.text = "sks"}}));
  CHECK_FALSE(is_searched({{.text = "sKs", .ignores_case = true}}));
  CHECK(is_searched({{.text = "sKs!", .ignores_case = true}}));
  CHECK_FALSE(is_searched({{.text = std::string(128, 's') + "x", .ignores_case = true}}));
}

TEST_CASE("nothing is written after the room for rows") {
  std::mt19937 random(4);  // NOLINT(*-msc51-cpp): the same texts on every run
  const string_list strings = random_strings(random, 5, 30);
  const unit_text text = text_of({random_lines(random, strings, 30'000, 50), random_lines(random, strings, 99, 9)});
  const piece_classes classes = classes_with(strings);
  for (const std::uint32_t room : {0U, 1U, 2U, 7U, 100U, 500U}) {
    // of exactly this size: the sanitizer detects more
    const measured_pieces some = measure_pieces(text, classes, classes.delimiter, measure_on_host, room);
    CHECK(some.rows.size() <= room * classes.words_of_row());
  }
}

TEST_CASE("string fuzz: random strings in random texts are found in the lines in which a simple search finds them") {
  std::mt19937 random(fuzz_seed(5));
  check_random_texts(random, fuzz_runs(1500), 3000, measure_on_host);
  check_random_texts(random, fuzz_runs(150), 50'000, measure_on_host);
}

TEST_CASE("any number of lanes finds the same strings") {
  std::mt19937 random(6);  // NOLINT(*-msc51-cpp)
  check_random_texts(random, 32, 400, measure_with_threads<2>);
  check_random_texts(random, 20, 4000, measure_with_threads<32>);
}

}  // namespace
