// The Prometheus report: escapes, families, snapshots. tests/cli shows that a parser accepts it.
#include "report/formats/text.hpp"

#include "tests/pipeline/report_samples.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace gpuhist::pipeline;
using namespace gpuhist::test;

TEST_CASE("labels are UTF-8 and escaped, whatever the name") {
  report shown = empty_report({"letters"});
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
  report shown = empty_report({"letters"});
  add_input(shown, "\x1b[2J", "abc");
  CHECK(render_prometheus(shown, {.terminal = true}).find('\x1b') == std::string::npos);
}

TEST_CASE("a family is announced once and its samples are adjacent") {
  report shown = empty_report({"letters", "classes"});
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
  report shown = report_of({"letters"}, "abc");
  CHECK(render_prometheus(shown, {}).find("skipped") == std::string::npos);
  shown.skipped = {{.cause = "", .count = 7, .first = ""}, {.cause = "FIFO", .count = 3, .first = "a"}};
  const std::string text = render_prometheus(shown, {});
  CHECK(line_with(text, "gpuhist_skipped_names{cause=\"FIFO\"") == "gpuhist_skipped_names{cause=\"FIFO\"} 3");
  CHECK(line_with(text, "gpuhist_skipped_names{cause=\"unknown\"") == "gpuhist_skipped_names{cause=\"unknown\"} 7");
}

TEST_CASE("a run in progress is not complete, and bytes without a verdict are unverified") {
  report shown = empty_report({"letters"});
  add_input(shown, "a", "abc", "zz");
  CHECK(line_with(render_prometheus(shown, {}), "gpuhist_complete") == "gpuhist_complete 1");
  shown.type = report::kind::snapshot;
  const std::string text = render_prometheus(shown, {});
  CHECK(line_with(text, "gpuhist_complete") == "gpuhist_complete 0");
  CHECK(line_with(text, "gpuhist_bytes") == "gpuhist_bytes 3");
  CHECK(line_with(text, "gpuhist_unverified_bytes") == "gpuhist_unverified_bytes 2");
}
