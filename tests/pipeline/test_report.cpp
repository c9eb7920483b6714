// The report formats but JSON: the table that lists them, names that are safe to print, the escapes and families of
// Prometheus, the fields and headers of CSV, the lines that --stats prints for people, and the table, column by column.
// tests/cli shows that other parsers read the same from Prometheus and CSV. Their text functions: UTF-8 against an
// independent encoder, base64 and grouping by example.
#include "report/formats/report.hpp"
#include "report/formats/text.hpp"
#include "report/formats/text_table.hpp"

#include "tests/pipeline/report_samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <clocale>
#include <cstddef>
#include <cstdint>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace gpuhist::pipeline;
using namespace gpuhist::report;
using namespace gpuhist::test;
using gpuhist::report::base64;
using gpuhist::report::columns;
using gpuhist::report::cut_to;
using gpuhist::report::from_base64;
using gpuhist::report::grouped;
using gpuhist::report::is_utf8;
using gpuhist::report::utf8_sequence;

TEST_CASE("printed text is safe on a terminal, and harmless text is unchanged") {
  CHECK(printable("plain caf\xc3\xa9 \xe2\x82\xac \\ \"") == "plain caf\xc3\xa9 \xe2\x82\xac \\ \"");
  CHECK(printable("\x1b[31m\n\t\x7f") == "\\x1b[31m\\x0a\\x09\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\xc2\\x9b31m");  // CSI in one code point
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");
  CHECK(printable("a\xffz\xc3") == "a\\xffz\\xc3");
  CHECK(printable("gpj.\u202etxt") == "gpj.\\xe2\\x80\\xaetxt");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");
  CHECK(printable("") == "");
}

TEST_CASE("formats are found by name in their table") {
  std::vector<std::string_view> names;
  for (const report_format& each : report_formats()) {
    names.push_back(each.name);
    CHECK(find_report_format(each.name) == &each);
  }
  CHECK(names == std::vector<std::string_view>{"table", "json", "jsonl", "csv", "prometheus"});
  CHECK((find_report_format("table")->render == &gpuhist::report::render_table));
  CHECK((find_report_format("csv")->render == &gpuhist::report::render_csv));
  CHECK(find_report_format("xml") == nullptr);
  CHECK(find_report_format("") == nullptr);
}

TEST_CASE("labels are UTF-8 and escaped, whatever the name") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "a\"b\\c\nd", "abc");
  add_input(shown, "caf\xc3\xa9", "abc");
  add_input(shown, "caf\xe9\n", "abc");
  const std::string text = render_prometheus(shown, {});
  CHECK(is_utf8(text));
  CHECK(line_with(text, "gpuhist_input_bytes{index=\"0\"") ==
        R"(gpuhist_input_bytes{index="0",input="a\"b\\c\nd",format="raw"} 3)");
  CHECK(line_with(text, "gpuhist_input_bytes{index=\"1\"") ==
        "gpuhist_input_bytes{index=\"1\",input=\"caf\xc3\xa9\",format=\"raw\"} 3");
  CHECK(line_with(text, "gpuhist_input_bytes{index=\"2\"") ==
        R"(gpuhist_input_bytes{index="2",input="caf\\xe9\\x0a",format="raw"} 3)");
}

TEST_CASE("on a terminal no name moves the cursor") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "\x1b[2J", "abc");
  CHECK(render_prometheus(shown, {.terminal = true}).find('\x1b') == std::string::npos);
}

TEST_CASE("a family is announced once and its samples are adjacent") {
  run_report shown = empty_report({"letters", "classes"});
  add_input(shown, "same", "abc", "z", "damaged");
  add_input(shown, "same", "abc");
  change_input(shown, 1, [&](auto& input) { input.compressed_bytes = 2; });
  shown.skipped = {{.cause = "FIFO", .count = 3, .first = "a"}, {.cause = "socket", .count = 1, .first = "b"}};
  std::set<std::string> families;
  std::string family;
  for (const std::string& line : lines_of(render_prometheus(shown, {}))) {
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      CHECK(families.insert(family).second);
    } else if (line.starts_with("# TYPE ")) {
      CHECK(line == "# TYPE " + family + " gauge");
    } else {
      CHECK(line.substr(0, line.find_first_of(" {")) == family);
    }
  }
  CHECK(families.size() == 13);
}

TEST_CASE("names that were skipped in trees are a family with the cause as its label, if there are any") {
  run_report shown = report_of({"letters"}, "abc");
  CHECK(render_prometheus(shown, {}).find("skipped") == std::string::npos);
  shown.skipped = {{.cause = "", .count = 7, .first = ""}, {.cause = "FIFO", .count = 3, .first = "a"}};
  const std::string text = render_prometheus(shown, {});
  CHECK(line_with(text, "gpuhist_skipped_names{cause=\"FIFO\"") == "gpuhist_skipped_names{cause=\"FIFO\"} 3");
  CHECK(line_with(text, "gpuhist_skipped_names{cause=\"unknown\"") == "gpuhist_skipped_names{cause=\"unknown\"} 7");
}

TEST_CASE("a run in progress is not complete, and bytes without a verdict are unverified") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "a", "abc", "zz");
  CHECK(line_with(render_prometheus(shown, {}), "gpuhist_complete") == "gpuhist_complete 1");
  shown.type = run_report::kind::snapshot;
  const std::string text = render_prometheus(shown, {});
  CHECK(line_with(text, "gpuhist_complete") == "gpuhist_complete 0");
  CHECK(line_with(text, "gpuhist_bytes") == "gpuhist_bytes 3");
  CHECK(line_with(text, "gpuhist_unverified_bytes") == "gpuhist_unverified_bytes 2");
}

namespace {

constexpr const char* header = "kind,input,scheme,bucket,count,share";

}  // namespace

TEST_CASE("a header comes first if the report is the first text of its file") {
  const run_report shown = report_of({"letters"}, "abc");
  CHECK(lines_of(render_csv(shown, {})).front() == header);
  CHECK(render_csv(shown, {}) == std::string(header) + "\n" + render_csv(shown, {.first = false}));
}

TEST_CASE("shares are of the bytes of the row's own part, in their shortest form, and absent if there are no bytes") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "a", "aaa", "zzzz", "damaged");
  add_input(shown, "b", "");
  shown.verified = count(shown, "aab zz");  // as if there were other inputs
  const std::string text = render_csv(shown, {});
  CHECK(line_with(text, "total,,letters,a-d") == "total,,letters,a-d,3,0.5");
  CHECK(line_with(text, "total,,letters,y-z") == "total,,letters,y-z,2,0.3333333333333333");
  CHECK(line_with(text, "total,,letters,e-h") == "total,,letters,e-h,0,0");
  CHECK(line_with(text, "input,a,letters,a-d") == "input,a,letters,a-d,3,1");
  CHECK(line_with(text, "input,b,letters,a-d") == "input,b,letters,a-d,0,");
  CHECK(line_with(text, "unverified,,letters,y-z") == "unverified,,letters,y-z,4,1");
  CHECK(line_with(text, "unverified,a,,bytes") == "unverified,a,,bytes,4,");
  CHECK(line_with(text, "input,a,,complete") == "input,a,,complete,0,");
  CHECK(line_with(text, "input,b,,complete") == "input,b,,complete,1,");
  CHECK(line_with(text, "total,,,complete") == "total,,,complete,0,");
  CHECK(line_with(text, "unverified,b").empty());
}

TEST_CASE("names keep their bytes in files, quoted where CSV needs it, and do not move the cursor on a terminal") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "a,\"b\"\n\x1b[2J\xff", "abc");
  CHECK(render_csv(shown, {}).find("\ninput,\"a,\"\"b\"\"\n\x1b[2J\xff\",,bytes,3,\n") != std::string::npos);
  CHECK(render_csv(shown, {.terminal = true}).find("\ninput,\"a,\"\"b\"\"\\x0a\\x1b[2J\\xff\",,bytes,3,\n") !=
        std::string::npos);
}

TEST_CASE("each special character of CSV is quoted, also if it is the only one") {
  for (const std::string special : {",", "\n", "\r", "\""}) {
    run_report shown = empty_report({"letters"});
    add_input(shown, "a" + special, "abc");
    const std::string written = special == "\"" ? "\"\"" : special;
    CHECK(render_csv(shown, {}).find("\ninput,\"a" + written + "\",,bytes,3,\n") != std::string::npos);
  }
}

TEST_CASE("the error of an incomplete input has a row of its own after the sizes, with as many fields as all rows") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "good", "abc");
  add_input(shown, "b,d", "abc", "", "frame 2: \"x\", and\n\x1b[2J");
  const std::string text = render_csv(shown, {});
  CHECK(text.find("\ninput,\"b,d\",,complete,0,\nerror,\"b,d\",,\"frame 2: \"\"x\"\", and\n\x1b[2J\",1,\ninput,") !=
        std::string::npos);
  CHECK(render_csv(shown, {.terminal = true}).find("\x1b") == std::string::npos);
  CHECK(line_with(text, "error,good").empty());
}

TEST_CASE("names that were skipped in trees have one row per cause") {
  run_report shown = report_of({"letters"}, "abc");
  CHECK(line_with(render_csv(shown, {}), "skipped").empty());
  shown.skipped = {{.cause = "", .count = 7, .first = ""}, {.cause = "FIFO", .count = 3, .first = "a"}};
  CHECK(line_with(render_csv(shown, {}), "skipped,,,FIFO") == "skipped,,,FIFO,3,");
  CHECK(line_with(render_csv(shown, {}), "skipped,,,unknown") == "skipped,,,unknown,7,");
}

TEST_CASE("a snapshot has rows of its own kinds") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "a", "ab\n", "cc");
  shown.type = run_report::kind::snapshot;
  shown.elapsed_seconds = 1.25;
  const std::string text = render_csv(shown, {});
  CHECK(line_with(text, "snapshot,,,elapsed_milliseconds") == "snapshot,,,elapsed_milliseconds,1250,");
  CHECK(line_with(text, "snapshot,,,bytes") == "snapshot,,,bytes,3,");
  CHECK(line_with(text, "snapshot,,letters,a-d") == "snapshot,,letters,a-d,2,0.6666666666666666");
  CHECK(line_with(text, "provisional,,letters,a-d") == "provisional,,letters,a-d,2,1");
  CHECK(line_with(text, "snapshot,a") == "snapshot,a,,bytes,3,");
  CHECK(line_with(text, "provisional,a") == "provisional,a,,bytes,2,");
  CHECK(line_with(text, "total").empty());
}

TEST_CASE("the statistics for people have one line per stage and end with what limited the run and what would help") {
  run_stats stats = some_stats();
  const std::string text = render_stats(stats, {});
  CHECK(line_with(text, "engine") == "engine      host (no CUDA device)");
  CHECK(line_with(text, "kernel") == "kernel      ranges/AVX3, 2 threads, ready after 0.000 s");
  CHECK(line_with(text, "partition") == "partition   8 classes of the 256 byte values for letters, classes");
  CHECK(line_with(text, "text") == "text        1,000 bytes in 1.000 s = 0.00 GB/s");
  CHECK(line_with(text, "chunks") == "chunks      4 chunks through 16 slots of 256 KiB, 2 threads");
  CHECK(line_with(text, "decompress") == "decompress  not compressed");
  CHECK(line_with(text, "memory") == "memory      14 MiB at most, of a limit of 1 GiB");
  CHECK(line_with(text, "stage") == "stage  bytes  busy s  waiting s  workers    busy  GB/s busy");
  CHECK(line_with(text, "read") == "read   1,000   0.500      0.250        1  50.0 %       0.00");
  CHECK(line_with(text, "count") == "count  1,000   0.750      0.125        2  37.5 %       0.00");
  CHECK(line_with(text, "device").empty());
  const std::vector<std::string> lines = lines_of(text);
  CHECK(lines[lines.size() - 2] == "limited by: read: busy 50 % of the time");
  CHECK(lines.back() == "would help: giving files by name");
  stats.counting.timeline = {4, 3, 2, 1};
  stats.counted_classes = 256;
  CHECK(line_with(render_stats(stats, {}), "device") ==
        "device      4.000 s: copies busy 3.000 s, kernels busy 2.000 s, both at once 1.000 s");
  CHECK(line_with(render_stats(stats, {}), "partition").ends_with("for letters, classes, folded from 256"));
  CHECK_NOTHROW(render_stats(run_stats{}, {}));
}

TEST_CASE("every manner of reading has a line with the number of its inputs") {
  const std::string text = render_stats(some_stats(), {});
  CHECK(line_with(text, "inputs") == "inputs      2 inputs: pread in ranges of 256 KiB by 2 threads");
  CHECK(
      text.find("\n            1 input: pipe of 1 MiB, straight into the slots\n            up to 6 reads at once\n") !=
      std::string::npos);
}

TEST_CASE("the slots over time are one line: blocks or digits, and the shares of the phases") {
  CHECK(line_with(render_stats(some_stats(), {.unicode = true}), "slots") ==
        "slots       \u2581\u2585\u2588\u2583  free 63 %, filling 13 %, counting 25 %");
  CHECK(line_with(render_stats(some_stats(), {.unicode = false}), "slots") ==
        "slots       0593  free 63 %, filling 13 %, counting 25 %");
  run_stats longer = some_stats();
  longer.slots_over_time.in_use.assign(64, 0.5);
  for (const unsigned width : {60U, 80U, 100U, 200U}) {
    const std::string line = line_with(render_stats(longer, {.unicode = true, .width = width}), "slots");
    CHECK(columns(line) <= std::max(width, 63U));
    CHECK(columns(line) > width / 2);
  }
}

TEST_CASE("a sparkline has one column per share, or the mean of neighbours if there are more shares than columns") {
  const std::vector<double> shares = {0, 0.001, 0.5, 0.999, 1, 2, -1};
  CHECK(sparkline(shares, 7, false) == "0159990");
  CHECK(sparkline(shares, 100, false) == "0159990");
  CHECK(sparkline(shares, 7, true) == "\u2581\u2582\u2585\u2588\u2588\u2588\u2581");
  CHECK(sparkline(std::vector<double>{0, 1, 1, 1, 0}, 3, false) == "590");
  CHECK(sparkline(std::vector<double>(64, 1.0), 20, false) == std::string(16, '9'));
  CHECK(sparkline({}, 5, true).empty());
  CHECK(sparkline(shares, 0, true).empty());
}

TEST_CASE("the table of stages drops columns if the width is insufficient, but never the busy share") {
  for (const unsigned width : {24U, 30U, 40U, 60U, 80U}) {
    for (const std::string& line : lines_of(render_stats(some_stats(), {.width = width}))) {
      if (line.starts_with("read ")) CHECK((columns(line) <= width && line.find("50.0 %") != std::string::npos));
    }
  }
}

namespace {

using keys = std::vector<std::string>;

}  // namespace

TEST_CASE("no line of a table is wider than the target, bars fill it up to 60 columns, and no number is cut") {
  run_report shown = empty_report({"letters", "classes", "bytes"});
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
  const run_report shown = report_of({"letters"}, "abc");
  const std::string line = line_with(render_table(shown, {.unicode = false, .width = 200}), "a-d");
  CHECK(std::count(line.begin(), line.end(), '#') == 60);
}

TEST_CASE("escape sequences are written only if colours are on, and take no columns") {
  run_report shown = empty_report({"letters", "classes"});
  add_input(shown, "good", "abc\n");
  add_input(shown, "bad", "a", "zz\n", "damaged");
  const std::regex escapes("\x1b\\[[0-9;]*m");
  for (const run_report::kind kind : {run_report::kind::result, run_report::kind::snapshot}) {
    shown.type = kind;
    for (const unsigned width : {20U, 40U, 80U}) {
      const std::string plain = render_table(shown, {.width = width});
      const std::string colored = render_table(shown, {.width = width, .color = true});
      CHECK(plain.find('\x1b') == std::string::npos);
      CHECK(colored.find('\x1b') != std::string::npos);
      CHECK(std::regex_replace(colored, escapes, "") == plain);
    }
  }
  shown.type = run_report::kind::result;
  CHECK(render_table(shown, {.color = true}).find("\x1b[1;31mINCOMPLETE\x1b[0m  bad: damaged") != std::string::npos);
}

TEST_CASE("a table without room drops the bars first and then the shares, never the numbers") {
  run_report shown = report_of({"classes"}, "a");
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
  CHECK_NOTHROW(render_table(run_report{}, {}));
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
  run_report shown = empty_report({"letters"});
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
  run_report what = empty_report({"letters"});
  add_input(what, "one.log", "abc\n", "", "damaged at 17");
  const render_target printed{.sections = {.causes = false}};
  CHECK(line_with(render_table(what, printed), "INCOMPLETE") == "INCOMPLETE  one.log");
  change_input(what, 0, [](auto& input) { input.error.clear(); });
  CHECK(line_with(render_table(what, printed), "INCOMPLETE") == "INCOMPLETE  one.log: not counted to its end");
}

TEST_CASE("the totals come last, followed only by incomplete inputs") {
  run_report shown = empty_report({"letters", "classes"});
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
  run_report shown = report_of({"letters"}, std::string(1000, 'a'));
  CHECK(line_with(render_table(shown, {}), "skipped").empty());
  shown.skipped = {{.cause = "FIFO", .count = 1, .first = "a"},
                   {.cause = "symbolic link", .count = 12345, .first = "b"}};
  const std::string table = render_table(shown, {});
  CHECK(line_with(table, "bytes") == "bytes     1,000");
  CHECK(line_with(table, "skipped") == "skipped  12,346 (FIFO: 1, symbolic link: 12,345)");
  CHECK(lines_of(table).back().starts_with("skipped"));
}

TEST_CASE("a complete run has no column for completeness, and a report of totals only has no rows for inputs") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "one", "abc\n");
  add_input(shown, "two", "z");
  CHECK(line_with(render_table(shown, {}), "one") == "one        4      1  80.00 %   a-d 75.0 %");
  const render_target totals{.sections = {.inputs = false}};
  CHECK(line_with(render_table(shown, totals), "one").empty());
  CHECK(line_with(render_table(shown, totals), "bytes") == "bytes       5");
}

TEST_CASE("if inputs have no room their columns are dropped one by one, then their names lose their beginnings") {
  run_report shown = empty_report({"letters"});
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
  run_report shown = report_of({"letters"}, "abc");
  shown.complete = false;
  CHECK(line_with(render_table(shown, {}), "INCOMPLETE") == "INCOMPLETE  not everything was counted");
  change_input(shown, 0, [&](auto& input) { input.complete = false; });
  CHECK(line_with(render_table(shown, {}), "INCOMPLETE") == "INCOMPLETE  input: not counted to its end");
}

TEST_CASE("a snapshot table begins with its time and length, and includes bytes not yet verified") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "one", std::string(1234555, 'a'), std::string(12, 'e'));
  shown.type = run_report::kind::snapshot;
  shown.elapsed_seconds = 3.04;
  shown.complete = false;
  const std::string table = render_table(shown, {});
  CHECK(lines_of(table).front() == "snapshot 3.0 s: 1,234,567 bytes, 12 of them not yet verified");
  CHECK(line_with(table, "e-h").starts_with("e-h            12    0.00 %"));
  CHECK(line_with(table, "bytes") == "bytes   1,234,567");
  CHECK(table.find("INCOMPLETE") == std::string::npos);
}

namespace {

std::string encoded(std::uint32_t point, std::size_t length) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | (point >> shift & 0x3f)); };
  if (length == 1) return {static_cast<char>(point)};
  if (length == 2) return {static_cast<char>(0xc0 | point >> 6), tail(0)};
  if (length == 3) return {static_cast<char>(0xe0 | point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0)};
}

std::size_t length_of(std::uint32_t point) { return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4; }

}  // namespace

TEST_CASE("every code point is UTF-8 only in its shortest form, and surrogates are not UTF-8") {
  std::size_t wrong = 0;
  for (std::uint32_t point = 0; point < 0x200000; ++point) {
    const bool exists = point < 0x110000 && (point < 0xd800 || point > 0xdfff);
    for (std::size_t length = length_of(point); length <= 4; ++length) {
      const bool right = exists && length == length_of(point);
      if (utf8_sequence(encoded(point, length)) != (right ? length : 0)) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a sequence that is truncated, or continued by another byte, is not UTF-8") {
  for (const std::string sequence : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    CHECK(is_utf8("a" + sequence + "b"));
    for (std::size_t length = 1; length < sequence.size(); ++length) {
      CHECK_FALSE(is_utf8(sequence.substr(0, length)));
      CHECK_FALSE(is_utf8(sequence.substr(0, length) + "xyz"));
    }
  }
  CHECK_FALSE(is_utf8("\x80"));
  CHECK_FALSE(is_utf8("\xff"));
  CHECK(is_utf8(""));
}

TEST_CASE("base64 gives the test vectors of RFC 4648") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foob") == "Zm9vYg==");
  CHECK(base64("fooba") == "Zm9vYmE=");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xff\xfe\xfd") == "//79");
}

TEST_CASE("numbers are grouped by thousands") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(123456) == "123,456");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(grouped(UINT64_MAX) == "18,446,744,073,709,551,615");
}

TEST_CASE("a text that is too wide keeps its end") {
  CHECK(cut_to("path/to/file", 12) == "path/to/file");
  CHECK(cut_to("path/to/file", 11) == ".../to/file");
  CHECK(cut_to("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4", 4) == "...\xc3\xa4");
  CHECK(columns("\xc3\xa4\xe2\x82\xac!") == 3);
}

TEST_CASE("in a UTF-8 locale wide characters take two columns and combining ones none; elsewhere each takes one") {
  const std::string wide = "\u691c\u7d22";  // two ideographs
  const std::string combining = "e\u0301";  // e with a combining acute accent
  const std::string emoji = "\U0001f600";
  CHECK(columns("plain") == 5);
  const std::string before = std::setlocale(LC_CTYPE, nullptr);
  REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr);
  CHECK(columns(wide) == 4);
  CHECK(columns(combining) == 1);
  CHECK(columns(emoji) == 2);
  CHECK(columns("\u00e4\u20ac!") == 3);
  CHECK(columns("\u0378") == 1);  // not assigned
  CHECK(cut_to(wide + wide, 7) == "..." + wide);
  CHECK(cut_to(wide + wide, 6) == "...\u7d22");
  CHECK(cut_to("a" + combining + combining + combining, 4) == "a" + combining + combining + combining);
  CHECK(cut_to("ab" + combining + combining + combining, 4) == "..." + combining);
  std::setlocale(LC_CTYPE, "C");
  CHECK(columns(wide) == 2);
  CHECK(columns(combining) == 2);
  std::setlocale(LC_CTYPE, before.c_str());
}

TEST_CASE("base64 is decoded, and text that it never produces is refused") {
  std::string raw;
  for (int i = 0; i < 300; ++i) {
    CHECK(from_base64(base64(raw)) == raw);
    raw += static_cast<char>(i * 37);
  }
  for (const char* const wrong :
       {"A", "AA", "AAA", "AA=", "AB==", "AAB=", "A===", "====", "AA==AA==", "A A=", "AAA\n"}) {
    CHECK_FALSE(from_base64(wrong));
  }
}
