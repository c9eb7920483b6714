// The text of kept units: whatever pieces it arrives in, and wherever it is held, it is given once and in order.
#include "report/units/kept_text.hpp"

#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::report::units {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Takes all that is ready.
std::string taken(kept_text& from) {
  std::string all;
  for (auto next = from.next(); !next.empty(); next = from.next()) {
    all.append(reinterpret_cast<const char*>(next.data()), next.size());
  }
  return all;
}

filtering in(const test::temporary_folder& folder, std::size_t in_memory) {
  return {.in_memory = in_memory, .spilled_to = {.path = folder / "", .content = "units"}};
}

}  // namespace

TEST_CASE("text of an open unit is given once it is closed and kept, before the units that follow it") {
  const test::temporary_folder folder;
  for (const std::size_t in_memory : {1U, 3U, 1000U}) {
    CAPTURE(in_memory);
    kept_text kept(in(folder, in_memory));
    CHECK(taken(kept).empty());
    kept.add_open(bytes_of("ab"));
    kept.add_open(bytes_of(""));
    CHECK(taken(kept).empty());
    kept.add_open(bytes_of("cde\n"));
    kept.close(true);
    kept.add(bytes_of("second\n"));
    kept.add(bytes_of("third\n"));
    kept.add_open(bytes_of("fourth"));
    CHECK(taken(kept) == "abcde\nsecond\nthird\n");
    CHECK(taken(kept).empty());
    kept.close(false);
    kept.add(bytes_of("fifth\n"));
    CHECK(taken(kept) == "fifth\n");
  }
}

TEST_CASE("any sequence of pieces and verdicts gives the kept units in order, whatever is held in memory") {
  const test::temporary_folder folder;
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](unsigned bound) { return static_cast<std::size_t>(random() % bound); };
    kept_text kept(in(folder, 1 + below(5000)));
    std::string expected;
    std::string found;
    for (unsigned round = 0; round < 200; ++round) {
      std::string unit;
      for (std::size_t piece = below(4); piece > 0; --piece) {
        const std::string text(below(3000), static_cast<char>('a' + below(26)));
        kept.add_open(bytes_of(text));
        unit += text;
        found += taken(kept);
        CHECK((found == expected));
      }
      const bool is_kept = below(2) == 0;
      kept.close(is_kept);
      if (is_kept) expected += unit;
      const std::string complete(below(100), static_cast<char>('A' + below(26)));
      kept.add(bytes_of(complete));
      expected += complete;
      found += taken(kept);
    }
    CHECK((found == expected));
  }
}

TEST_CASE("a long unit is given in pieces of at most 1 MiB") {
  const test::temporary_folder folder;
  kept_text kept(in(folder, std::size_t{1} << 16U));
  std::string whole;
  for (char each = 'a'; each <= 'z'; ++each) {
    const std::string piece(100'003, each);
    kept.add_open(bytes_of(piece));
    whole += piece;
  }
  kept.close(true);
  std::string found;
  for (auto next = kept.next(); !next.empty(); next = kept.next()) {
    CHECK(next.size() <= std::size_t{1} << 20U);
    found.append(reinterpret_cast<const char*>(next.data()), next.size());
  }
  CHECK((found == whole));
}

TEST_CASE("a spilled unit has no bytes of a longer unit that was spilled before it") {
  const test::temporary_folder folder;
  kept_text kept(in(folder, 10));
  for (const std::size_t length : {1000U, 50U, 999U, 11U}) {
    CAPTURE(length);
    for (const bool is_kept : {true, false, true}) {
      const std::string unit(length, is_kept ? 'k' : 'd');
      for (const char each : unit) kept.add_open(bytes_of({&each, 1}));
      kept.close(is_kept);
      CHECK(taken(kept) == (is_kept ? unit : ""));
    }
  }
}

TEST_CASE("a unit that must be spilled to a missing folder is an error that names the folder and what is spilled") {
  const test::temporary_folder folder;
  kept_text kept({.in_memory = 4, .spilled_to = {.path = folder / "missing", .content = "units"}});
  kept.add_open(bytes_of("1234"));
  const std::string expected = "units need a temporary file in " + (folder / "missing") +
                               ": No such file or directory; make room there, or give another --temporary-folder";
  CHECK_THROWS_WITH_AS(kept.add_open(bytes_of("5")), expected.c_str(), pipeline::spill_error);
}

TEST_CASE("without a folder a long unit is held in memory") {
  kept_text kept({.in_memory = 4, .spilled_to = {.path = ""}});
  kept.add_open(bytes_of("12345"));
  kept.add_open(bytes_of("6789"));
  kept.close(true);
  CHECK(taken(kept) == "123456789");
}

}  // namespace gpuhist::report::units
