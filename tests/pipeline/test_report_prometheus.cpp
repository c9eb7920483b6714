// The Prometheus report: escapes, families, what a snapshot says. That a parser takes it is shown in tests/cli.
#include "pipeline/report/formats/text.hpp"

#include "tests/pipeline/report_samples.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace gpuhist::pipeline;
using namespace gpuhist::test;

TEST_CASE("labels are UTF-8 and escaped, whatever the name") {
  report what = empty_report({"letters"});
  add_input(what, "a\"b\\c\nd", "abc");
  add_input(what, "caf\xc3\xa9", "abc");
  add_input(what, "caf\xe9\n", "abc");
  const std::string text = render_prometheus(what, {});
  CHECK(is_utf8(text));
  CHECK(line_with(text, "gpuhist_input_bytes{index=\"0\"") ==
        R"(gpuhist_input_bytes{index="0",input="a\"b\\c\nd",format="raw"} 3)");
  CHECK(line_with(text, "gpuhist_input_bytes{index=\"1\"") ==
        "gpuhist_input_bytes{index=\"1\",input=\"caf\xc3\xa9\",format=\"raw\"} 3");
  CHECK(line_with(text, "gpuhist_input_bytes{index=\"2\"") ==
        R"(gpuhist_input_bytes{index="2",input="caf\\xe9\\x0a",format="raw"} 3)");
}

TEST_CASE("on a terminal no name moves the cursor") {
  report what = empty_report({"letters"});
  add_input(what, "\x1b[2J", "abc");
  CHECK(render_prometheus(what, {.terminal = true}).find('\x1b') == std::string::npos);
}

TEST_CASE("a family is announced once and its samples stand together") {
  report what = empty_report({"letters", "classes"});
  add_input(what, "same", "abc", "z", "damaged");
  add_input(what, "same", "abc");
  change_input(what, 1, [&](auto& it) { it.compressed_bytes = 2; });
  what.skipped = {{.cause = "FIFO", .count = 3, .first = "a"}, {.cause = "socket", .count = 1, .first = "b"}};
  std::set<std::string> families;
  std::string family;
  for (const std::string& line : lines_of(render_prometheus(what, {}))) {
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

TEST_CASE("what was skipped in trees is a family with the cause as its label, where anything was") {
  report what = report_of({"letters"}, "abc");
  CHECK(render_prometheus(what, {}).find("skipped") == std::string::npos);
  what.skipped = {{.cause = "", .count = 7, .first = ""}, {.cause = "FIFO", .count = 3, .first = "a"}};
  const std::string text = render_prometheus(what, {});
  CHECK(line_with(text, "gpuhist_skipped_names{cause=\"FIFO\"") == "gpuhist_skipped_names{cause=\"FIFO\"} 3");
  CHECK(line_with(text, "gpuhist_skipped_names{cause=\"unknown\"") == "gpuhist_skipped_names{cause=\"unknown\"} 7");
}

TEST_CASE("a run that is not over is not complete, and what waits for its verdict is unverified") {
  report what = empty_report({"letters"});
  add_input(what, "a", "abc", "zz");
  CHECK(line_with(render_prometheus(what, {}), "gpuhist_complete") == "gpuhist_complete 1");
  what.type = report::kind::snapshot;
  const std::string text = render_prometheus(what, {});
  CHECK(line_with(text, "gpuhist_complete") == "gpuhist_complete 0");
  CHECK(line_with(text, "gpuhist_bytes") == "gpuhist_bytes 3");
  CHECK(line_with(text, "gpuhist_unverified_bytes") == "gpuhist_unverified_bytes 2");
}
