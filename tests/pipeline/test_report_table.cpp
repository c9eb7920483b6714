// The report as a table, checked column by column.
#include "report/formats/report.hpp"
#include "report/formats/text.hpp"

#include "tests/pipeline/report_samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <regex>
#include <string>
#include <vector>

using namespace gpuhist::pipeline;
using namespace gpuhist::test;

namespace {

using keys = std::vector<std::string>;

}  // namespace

TEST_CASE("no line of a table is wider than the target, bars fill it up to 60 columns, and no number is cut") {
  report shown = empty_report({"letters", "classes", "bytes"});
  add_input(shown, "short", "abc 123\n\xff");
  add_input(shown, std::string(300, 'x') + "/end", std::string(20000, 'e'));
  for (auto& each : shown.verified.counts) each *= 1'000'000'007;
  const std::size_t without_bars = columns("punctuation  20,000,000,140,000  99.96 %  ");
  for (const unsigned width : {40U, 48U, 80U, 200U}) {
    for (const bool unicode : {true, false}) {
      const std::string table = render_table(shown, {.unicode = unicode, .width = width});
      std::size_t widest = 0;
      for (const std::string& line : lines_of(table)) {
        CAPTURE(line);
        CHECK(columns(line) <= width);
        CHECK_FALSE(line.ends_with(' '));
        if (!line.ends_with(".46 %")) widest = std::max(widest, columns(line));
      }
      CHECK(table.find("20,000,000,140,000") != std::string::npos);
      CHECK((table.find('#') != std::string::npos) == (!unicode && width > 40));
      CHECK((table.find("\u2588") != std::string::npos) == (unicode && width > 40));
      if (width > 40 && width < 200) CHECK(widest == width);
      if (width == 200) CHECK(line_with(table, "e-h").size() > without_bars);
    }
  }
}

TEST_CASE("a bar is never wider than 60 columns") {
  const report shown = report_of({"letters"}, "abc");
  const std::string line = line_with(render_table(shown, {.unicode = false, .width = 200}), "a-d");
  CHECK(std::count(line.begin(), line.end(), '#') == 60);
}

TEST_CASE("escape sequences are written only if colours are on, and take no columns") {
  report shown = empty_report({"letters", "classes"});
  add_input(shown, "good", "abc\n");
  add_input(shown, "bad", "a", "zz\n", "damaged");
  const std::regex escapes("\x1b\\[[0-9;]*m");
  for (const report::kind kind : {report::kind::result, report::kind::snapshot}) {
    shown.type = kind;
    for (const unsigned width : {20U, 40U, 80U}) {
      const std::string plain = render_table(shown, {.width = width});
      const std::string colored = render_table(shown, {.width = width, .color = true});
      CHECK(plain.find('\x1b') == std::string::npos);
      CHECK(colored.find('\x1b') != std::string::npos);
      CHECK(std::regex_replace(colored, escapes, "") == plain);
    }
  }
  shown.type = report::kind::result;
  CHECK(render_table(shown, {.color = true}).find("\x1b[1;31mINCOMPLETE\x1b[0m  bad: damaged") != std::string::npos);
}

TEST_CASE("a table without room drops the bars first and then the shares, never the numbers") {
  report shown = report_of({"classes"}, "a");
  for (auto& each : shown.verified.counts) each *= 18'446'744'073'709'551'615U;
  const std::string table = render_table(shown, {true, 40});
  CHECK(line_with(table, "lower") == "lower        18,446,744,073,709,551,615");
  CHECK(table.find('%') == std::string::npos);
  CHECK(line_with(render_table(shown, {true, 49}), "lower") == "lower        18,446,744,073,709,551,615  100.00 %");
}

TEST_CASE("a row shows the bucket, the count, its share of all bytes and a bar scaled to the largest") {
  const std::string text = std::string(3000, 'a') + std::string(1500, 'e') + std::string(1500, 'i') + "z";
  const std::string table = render_table(report_of({"letters"}, text), {false, 46});
  // 6 + 2 + 5 + 2 + 7 + 2 columns leave 22 for the bar
  CHECK(line_with(table, "bucket") == "bucket  count    share");
  CHECK(line_with(table, "a-d") == "a-d     3,000  49.99 %  ######################");
  CHECK(line_with(table, "e-h") == "e-h     1,500  25.00 %  ###########");
  CHECK(line_with(table, "y-z") == "y-z         1   0.02 %  #");
  CHECK(line_with(table, "q-t") == "q-t         0   0.00 %");
  CHECK(line_with(table, "bytes") == "bytes   6,001");
  CHECK(line_with(table, "lines") == "lines       0");
}

TEST_CASE("bars of block characters are exact to an eighth of a column") {
  const std::string table =
      render_table(report_of({"letters"}, std::string(32, 'a') + std::string(17, 'e') + "i"), {true, 28});
  // 4 columns for the bar, 32 eighths
  CHECK(line_with(table, "a-d").ends_with("%  \u2588\u2588\u2588\u2588"));
  CHECK(line_with(table, "e-h").ends_with("%  \u2588\u2588\u258f"));
  CHECK(line_with(table, "i-l").ends_with("%  \u258f"));
}

TEST_CASE("without bytes every share is zero, and nothing is divided by zero") {
  const std::string table = render_table(report_of({"classes"}, ""), {});
  for (const char* name : {"upper", "lower", "digit", "space", "punctuation", "control", "non-ascii"}) {
    CHECK(line_with(table, name).ends_with("0  0.00 %"));
  }
  CHECK(table.find("nan") == std::string::npos);
  CHECK(line_with(table, "bytes") == "bytes            0");
  CHECK_NOTHROW(render_table(report{}, {}));
}

TEST_CASE("of the 256 byte values only those that occur are shown, with their character") {
  const std::string table = render_table(report_of({"bytes"}, std::string("A\n\t\r \0\x7f\xff", 8)), {});
  std::vector<std::string> names;
  for (const std::string& line : lines_of(table)) {
    if (line.starts_with("0x")) names.push_back(std::regex_replace(line, std::regex(" +1 +12.50 %.*"), ""));
  }
  CHECK(names == keys{"0x00", "0x09 \\t", "0x0a \\n", "0x0d \\r", "0x20 ' '", "0x41 A", "0x7f", "0xff"});
}

TEST_CASE("schemes have headings if there are several") {
  const std::string both = render_table(report_of({"letters", "classes"}, "a"), {});
  CHECK(line_with(both, "letters") == "letters");
  CHECK(line_with(both, "classes") == "classes");
  CHECK(line_with(render_table(report_of({"letters"}, "a"), {}), "letters").empty());
}

TEST_CASE("several inputs have a row each, and every incomplete one is named with its error") {
  report shown = empty_report({"letters"});
  add_input(shown, "one.log", "abc\n");
  add_input(shown, "evil\x1b[2J\nname\xff", "a", "zz\n", "damaged\nat 17");
  const std::string table = render_table(shown, {});
  CHECK(line_with(table, "one.log") == "one.log                      4      1  80.00 %   a-d 75.0 %  ok");
  CHECK(line_with(table, "evil") == "evil\\x1b[2J\\x0aname\\xff      1      0  20.00 %  a-d 100.0 %  INCOMPLETE");
  CHECK(line_with(table, "INCOMPLETE") == "INCOMPLETE  evil\\x1b[2J\\x0aname\\xff: damaged\\x0aat 17");
  CHECK(line_with(table, "unverified") == "unverified      3 (1 line)");
  CHECK(line_with(table, "bytes") == "bytes           5");
}

TEST_CASE("a cause that the run printed on standard error is not repeated in the table") {
  report what = empty_report({"letters"});
  add_input(what, "one.log", "abc\n", "", "damaged at 17");
  const render_target printed{.parts = {.causes = false}};
  CHECK(line_with(render_table(what, printed), "INCOMPLETE") == "INCOMPLETE  one.log");
  change_input(what, 0, [](auto& input) { input.error.clear(); });
  CHECK(line_with(render_table(what, printed), "INCOMPLETE") == "INCOMPLETE  one.log: not counted to its end");
}

TEST_CASE("the totals come last, followed only by incomplete inputs") {
  report shown = empty_report({"letters", "classes"});
  add_input(shown, "one", "abc\n");
  add_input(shown, "two", "a", "z", "damaged");
  const std::vector<std::string> lines = lines_of(render_table(shown, {}));
  const std::size_t last = lines.size() - 1;
  CHECK(lines[last] == "INCOMPLETE  two: damaged");
  CHECK(lines[last - 1].starts_with("unverified "));
  CHECK(lines[last - 2].starts_with("lines "));
  CHECK(lines[last - 3].starts_with("bytes "));
  CHECK(lines[last - 5].starts_with("two "));
}

TEST_CASE("names that were skipped in trees are one line below the totals, in their columns") {
  report shown = report_of({"letters"}, std::string(1000, 'a'));
  CHECK(line_with(render_table(shown, {}), "skipped").empty());
  shown.skipped = {{.cause = "FIFO", .count = 1, .first = "a"},
                   {.cause = "symbolic link", .count = 12345, .first = "b"}};
  const std::string table = render_table(shown, {});
  CHECK(line_with(table, "bytes") == "bytes     1,000");
  CHECK(line_with(table, "skipped") == "skipped  12,346 (FIFO: 1, symbolic link: 12,345)");
  CHECK(lines_of(table).back().starts_with("skipped"));
}

TEST_CASE("a complete run has no column for completeness, and a report of totals only has no rows for inputs") {
  report shown = empty_report({"letters"});
  add_input(shown, "one", "abc\n");
  add_input(shown, "two", "z");
  CHECK(line_with(render_table(shown, {}), "one") == "one        4      1  80.00 %   a-d 75.0 %");
  const render_target totals{.parts = {.inputs = false}};
  CHECK(line_with(render_table(shown, totals), "one").empty());
  CHECK(line_with(render_table(shown, totals), "bytes") == "bytes       5");
}

TEST_CASE("if inputs have no room their columns are dropped one by one, then their names lose their beginnings") {
  report shown = empty_report({"letters"});
  add_input(shown, "a/long/path/to/one.log", "abc\n");
  add_input(shown, "two", "z");
  const auto line = [&](unsigned width) { return lines_of(render_table(shown, {.width = width}))[11]; };
  CHECK(line(80) == "a/long/path/to/one.log      4      1  80.00 %   a-d 75.0 %");
  CHECK(line(56) == "...g/path/to/one.log      4      1  80.00 %   a-d 75.0 %");
  CHECK(line(40) == "...ath/to/one.log      4      1  80.00 %");
  CHECK(line(30) == "...th/to/one.log      4      1");
  CHECK(line(16) == "...ne.log      4");
  CHECK(line(5) == "...e.log      4");
}

TEST_CASE("a complete run of one input shows no inputs, errors or unverified bytes") {
  const std::string table = render_table(report_of({"letters"}, "abc\n"), {});
  CHECK(table.find("INCOMPLETE") == std::string::npos);
  CHECK(table.find("unverified") == std::string::npos);
  CHECK(table.find("input") == std::string::npos);
}

TEST_CASE("a run that ended early is marked as incomplete even if no input failed") {
  report shown = report_of({"letters"}, "abc");
  shown.complete = false;
  CHECK(line_with(render_table(shown, {}), "INCOMPLETE") == "INCOMPLETE  not everything was counted");
  change_input(shown, 0, [&](auto& input) { input.complete = false; });
  CHECK(line_with(render_table(shown, {}), "INCOMPLETE") == "INCOMPLETE  input: not counted to its end");
}

TEST_CASE("a snapshot table begins with its time and length, and includes bytes not yet verified") {
  report shown = empty_report({"letters"});
  add_input(shown, "one", std::string(1234555, 'a'), std::string(12, 'e'));
  shown.type = report::kind::snapshot;
  shown.elapsed_seconds = 3.04;
  shown.complete = false;
  const std::string table = render_table(shown, {});
  CHECK(lines_of(table).front() == "snapshot 3.0 s: 1,234,567 bytes, 12 of them not yet verified");
  CHECK(line_with(table, "e-h").starts_with("e-h            12    0.00 %"));
  CHECK(line_with(table, "bytes") == "bytes   1,234,567");
  CHECK(table.find("INCOMPLETE") == std::string::npos);
}
