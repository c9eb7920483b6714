// The common parts of the report formats: the table that lists them, and names that are safe to print.
#include "report/formats/report.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

using namespace gpuhist::pipeline;

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
  CHECK((find_report_format("table")->render == &render_table));
  CHECK((find_report_format("csv")->render == &render_csv));
  CHECK(find_report_format("xml") == nullptr);
  CHECK(find_report_format("") == nullptr);
}
