// The CSV report: quoted fields, shares, headers. tests/cli shows that other parsers read the same from it.
#include "tests/pipeline/report_samples.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::pipeline;
using namespace gpuhist::test;

namespace {

constexpr const char* header = "kind,input,scheme,bucket,count,share";

}  // namespace

TEST_CASE("a header comes first if the report is the first text of its file") {
  const report shown = report_of({"letters"}, "abc");
  CHECK(lines_of(render_csv(shown, {})).front() == header);
  CHECK(render_csv(shown, {}) == std::string(header) + "\n" + render_csv(shown, {.first = false}));
}

TEST_CASE("shares are of the bytes of the row's own part, in their shortest form, and absent if there are no bytes") {
  report shown = empty_report({"letters"});
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
  report shown = empty_report({"letters"});
  add_input(shown, "a,\"b\"\n\x1b[2J\xff", "abc");
  CHECK(render_csv(shown, {}).find("\ninput,\"a,\"\"b\"\"\n\x1b[2J\xff\",,bytes,3,\n") != std::string::npos);
  CHECK(render_csv(shown, {.terminal = true}).find("\ninput,\"a,\"\"b\"\"\\x0a\\x1b[2J\\xff\",,bytes,3,\n") !=
        std::string::npos);
}

TEST_CASE("each special character of CSV is quoted, also if it is the only one") {
  for (const std::string special : {",", "\n", "\r", "\""}) {
    report shown = empty_report({"letters"});
    add_input(shown, "a" + special, "abc");
    const std::string written = special == "\"" ? "\"\"" : special;
    CHECK(render_csv(shown, {}).find("\ninput,\"a" + written + "\",,bytes,3,\n") != std::string::npos);
  }
}

TEST_CASE("the error of an incomplete input has a row of its own after the sizes, with as many fields as all rows") {
  report shown = empty_report({"letters"});
  add_input(shown, "good", "abc");
  add_input(shown, "b,d", "abc", "", "frame 2: \"x\", and\n\x1b[2J");
  const std::string text = render_csv(shown, {});
  CHECK(text.find("\ninput,\"b,d\",,complete,0,\nerror,\"b,d\",,\"frame 2: \"\"x\"\", and\n\x1b[2J\",1,\ninput,") !=
        std::string::npos);
  CHECK(render_csv(shown, {.terminal = true}).find("\x1b") == std::string::npos);
  CHECK(line_with(text, "error,good").empty());
}

TEST_CASE("names that were skipped in trees have one row per cause") {
  report shown = report_of({"letters"}, "abc");
  CHECK(line_with(render_csv(shown, {}), "skipped").empty());
  shown.skipped = {{.cause = "", .count = 7, .first = ""}, {.cause = "FIFO", .count = 3, .first = "a"}};
  CHECK(line_with(render_csv(shown, {}), "skipped,,,FIFO") == "skipped,,,FIFO,3,");
  CHECK(line_with(render_csv(shown, {}), "skipped,,,unknown") == "skipped,,,unknown,7,");
}

TEST_CASE("a snapshot has rows of its own kinds") {
  report shown = empty_report({"letters"});
  add_input(shown, "a", "ab\n", "cc");
  shown.type = report::kind::snapshot;
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
