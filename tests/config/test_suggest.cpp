// Suggestions: only similar names are suggested.
#include "config/option_table.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

using gpuhist::config::edit_distance;
using gpuhist::config::likely_name;
using gpuhist::config::nearest_name;
using gpuhist::config::quote;

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
      "plot",  "plots", "grep",  "table", "head",  "tail",   "list",   "match",   "search", "color",
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
