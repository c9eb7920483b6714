// Sizes and durations: every good form, every kind of bad form, and the rounded sizes for people. Suggestions: only
// similar names are suggested.
#include "config/option_table.hpp"
#include "config/size.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include "tests/support/usage_errors.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using gpuhist::config::edit_distance;
using gpuhist::config::format_size;
using gpuhist::config::likely_name;
using gpuhist::config::nearest_name;
using gpuhist::config::parse_duration;
using gpuhist::config::parse_size;
using gpuhist::config::quote;
using gpuhist::config::usage_error;
using gpuhist::test::usage_error_of;

TEST_CASE("a size is a number of bytes with an optional unit in any case") {
  const std::vector<std::pair<std::string, std::uint64_t>> good = {
      {"0", 0},
      {"65536", 65536},
      {"17B", 17},
      {"64K", 65536},
      {"64k", 65536},
      {"64KiB", 65536},
      {"64kib", 65536},
      {"64KB", 64000},
      {"16MiB", 16777216},
      {"16m", 16777216},
      {"3mB", 3000000},
      {"1GB", 1000000000},
      {"1GiB", 1073741824},
      {"2T", 2199023255552},
      {"1tb", 1000000000000},
      {"9223372036854775808", std::uint64_t{1} << 63U},
      {"8388608T", std::uint64_t{1} << 63U},
  };
  for (const auto& [text, bytes] : good) {
    CAPTURE(text);
    CHECK(parse_size(text) == bytes);
  }
}

TEST_CASE("text that is not a size is refused, and the message shows the good forms") {
  for (const char* text :
       {"", " ", "K", "-1", "+1", "64 K", "64Q", "1.5G", "0x10", "1e3", "64KK", "10s", "K64", "1GiB "}) {
    CAPTURE(text);
    const std::string message = usage_error_of([&] { parse_size(text); });
    CHECK(message == "\"" + std::string(text) + "\" is not a size; good forms are 65536, 64K (= 64KiB), 16MiB, 1GB");
  }
}

TEST_CASE("a size above 2^63 is refused as too large and never wraps") {
  for (const char* text : {"9223372036854775809", "18446744073709551616", "8388609T", "99999999999999999999999K"}) {
    CAPTURE(text);
    CHECK(usage_error_of([&] { parse_size(text); }).find("is more than 2^63 bytes") != std::string::npos);
  }
}

TEST_CASE("a duration is a number with a unit of time") {
  const std::vector<std::pair<std::string, std::chrono::milliseconds>> good = {
      {"0s", 0ms}, {"500ms", 500ms}, {"10s", 10s},          {"5m", 5min},
      {"1h", 1h},  {"2d", 48h},      {"876000h", 876'000h}, {"3153600000000ms", 876'000h}};
  for (const auto& [text, time] : good) {
    CAPTURE(text);
    CHECK(parse_duration(text) == time);
  }
}

TEST_CASE("text that is not a duration is refused, and the message shows the good forms") {
  for (const char* text : {"", "10", "s", "-1s", "1.5s", "10 s", "10S", "10M", "64MiB", "1w", "10sec"}) {
    CAPTURE(text);
    const std::string message = usage_error_of([&] { parse_duration(text); });
    CHECK(message == "\"" + std::string(text) + "\" is not a duration; good forms are 500ms, 10s, 5m, 1h");
  }
}

TEST_CASE("a duration above the longest one is refused, and the message names the longest one") {
  for (const char* text : {"3153600000001ms", "3153600001s", "52560001m", "876001h", "9223372036854775807ms",
                           "9223372036854775808ms", "18446744073709551616ms", "99999999999999999999h"}) {
    CAPTURE(text);
    CHECK(usage_error_of([&] { parse_duration(text); }) ==
          "\"" + std::string(text) + "\" is longer than the longest duration, 876000h (100 years)");
  }
}

TEST_CASE("both clocks can represent the current time plus the longest duration") {
  const auto fits = [](auto now) {
    const auto room = decltype(now)::max() - now;
    CHECK(gpuhist::config::longest_duration < room / 2);  // an interval after the next one, too
  };
  fits(std::chrono::steady_clock::now());
  fits(std::chrono::system_clock::now());
}

TEST_CASE("sizes for people have at most one decimal and the largest unit that fits") {
  const std::vector<std::pair<std::uint64_t, std::string>> shown = {
      {0, "0 bytes"},
      {1, "1 byte"},
      {17, "17 bytes"},
      {1023, "1023 bytes"},
      {1024, "1 KiB"},
      {1536, "1.5 KiB"},
      {(1U << 20U) - 1, "1 MiB"},
      {4U << 20U, "4 MiB"},
      {(std::uint64_t{3} << 30U) / 2, "1.5 GiB"},
      {std::uint64_t{1} << 63U, "8 EiB"},
      {~std::uint64_t{0}, "16 EiB"},
  };
  for (const auto& [bytes, text] : shown) CHECK(format_size(bytes) == text);
}

TEST_CASE("the edit distance counts insertions, removals, replacements and swaps; the first letter counts twice") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 4);
  CHECK(edit_distance("letters", "leters") == 1);
  CHECK(edit_distance("flaw", "lawn") == 2);
  CHECK(edit_distance("lettres", "letters") == 1);
  CHECK(edit_distance("tpo", "top") == 1);
  CHECK(edit_distance("match", "watch") == 2);
}

TEST_CASE("a name is suggested up to two edits away, the nearest one first") {
  constexpr std::array<std::string_view, 3> names = {"letters", "bytes", "classes"};
  CHECK(nearest_name("leters", names) == "letters");
  CHECK(nearest_name("lettres", names) == "letters");
  CHECK(nearest_name("byte", names) == "bytes");
  CHECK_FALSE(nearest_name("ltrs", names));
  CHECK_FALSE(nearest_name("", names));
  CHECK_FALSE(nearest_name(std::string(1 << 20, 'x'), names));
  constexpr std::array<std::string_view, 2> two = {"abxx", "abcx"};
  CHECK(nearest_name("abcd", two) == "abcx");
}

TEST_CASE("a name is suggested for its first three or more letters, if it is the only one") {
  constexpr std::array<std::string_view, 3> names = {"snapshot-every", "memory-limit", "memory-size"};
  CHECK(likely_name("snapshot", names) == "snapshot-every");
  CHECK(likely_name("memory-limt", names) == "memory-limit");
  CHECK_FALSE(likely_name("memory", names));
  CHECK(likely_name("sna", names) == "snapshot-every");
  CHECK_FALSE(likely_name("sn", names));
  constexpr std::array<std::string_view, 2> near = {"sort", "output"};
  CHECK(likely_name("out", near) == "output");  // although "sort" is nearer
  const std::vector<std::string_view> common{"sort", "output-dir", "output", "outline"};
  CHECK(likely_name("outp", common) == "output");
  CHECK_FALSE(likely_name("out", common));  // "outline" does not begin with "output"
}

TEST_CASE("a misspelled option is recognised, and a word that is none is not taken for one") {
  std::vector<std::string_view> names;
  for (const gpuhist::config::option_row& row : gpuhist::config::option_table()) names.push_back(row.key());
  struct misspelling {
    std::string_view typed;
    std::string_view meant;
  };
  constexpr std::array misspellings = {
      misspelling{"lable", "label"},
      misspelling{"sotr", "sort"},
      misspelling{"stpe", "step"},
      misspelling{"tpo", "top"},
      misspelling{"wach", "watch"},
      misspelling{"wehre", "where"},
      misspelling{"mesures", "measures"},
      misspelling{"colums", "columns"},
      misspelling{"bukcets", "buckets"},
      misspelling{"fomat", "format"},
      misspelling{"ouput", "output"},
      misspelling{"thred", "threads"},
      misspelling{"engin", "engine"},
      misspelling{"quite", "quiet"},
      misspelling{"recrusive", "recursive"},
      misspelling{"verison", "version"},
      misspelling{"folow", "follow"},
      misspelling{"chunksize", "chunk-size"},
      misspelling{"skip-damge", "skip-damage"},
      misspelling{"alter-if", "alert-if"},
      misspelling{"slot", "slots"},
      misspelling{"widnow", "window"},
      misspelling{"nuckets", "buckets"},
      misspelling{"pars", "pairs"},
      misspelling{"drop_if", "drop-if"},
      misspelling{"byte-count", "byte-counts"},
      misspelling{"utf-8", "utf8"},
  };
  for (const misspelling& each : misspellings) {
    CAPTURE(each.typed);
    CHECK(likely_name(each.typed, names) == each.meant);
  }
  constexpr std::array<std::string_view, 30> others = {
      "plot",  "plots", "grep",  "table", "head",  "tail",   "list",   "query",   "search", "color",
      "chart", "print", "plain", "start", "stack", "slice",  "lines",  "words",   "test",   "date",
      "graph", "jobs",  "limit", "width", "depth", "delete", "sample", "summary", "http",   "select"};
  for (const std::string_view each : others) {
    CAPTURE(each);
    CHECK_FALSE(likely_name(each, names));
  }
}

TEST_CASE("two short names without a common letter are not similar") {
  constexpr std::array<std::string_view, 1> names = {"gz"};
  CHECK_FALSE(nearest_name("ab", names));
}

TEST_CASE("a quotation stays on one line") {
  CHECK(quote("a\nb\x1b[31m\x7f") == "\"a\\x0ab\\x1b[31m\\x7f\"");
  CHECK(quote("\xc3\xa4") == "\"\xc3\xa4\"");
  CHECK(quote("a\xc2\x9b"
              "31m\xc2\x80") == "\"a\\xc2\\x9b31m\\xc2\\x80\"");            // C1: CSI, padding
  CHECK(quote("\xc2\xa0") == "\"\xc2\xa0\"");                               // the first behind them
  CHECK(quote("caf\xe9 \x9b\xe2\x82") == "\"caf\\xe9 \\x9b\\xe2\\x82\"");   // Latin-1; cut off
  CHECK(quote("\xed\xa0\x80\xc0\xaf") == "\"\\xed\\xa0\\x80\\xc0\\xaf\"");  // a surrogate; overlong
  CHECK(quote("x\xe2\x80\xae"
              "cod.exe") == "\"x\\xe2\\x80\\xaecod.exe\"");  // right to left from here
}
