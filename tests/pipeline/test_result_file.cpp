// Results read back: they are what was written, sums of several are those of one run, and damage of any kind is told
// with file and line and never counted.
#include "pipeline/report/formats/result_file.hpp"

#include "tests/pipeline/report_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <random>

using namespace gpuhist::pipeline;
using namespace gpuhist::test;
using nlohmann::ordered_json;

namespace {

report sample(const std::string& name, std::string_view text) {
  report what = empty_report({"bytes"});
  what.byte_counts = true;
  add_input(what, name, text);
  add_input(what, "bad \xff\n", "ab", "zz\n", "frame 2 is damaged");
  change_input(what, 1, [&](auto& it) {
    it.compressed_bytes = 77;
    it.lost_ranges = {
        {.compressed_begin = 1, .compressed_end = 20, .text_offset = 3, .unverified_bytes = 4, .cause = "x\n"}};
    it.number_of_lost_ranges = 9;
  });
  what.skipped = {{.cause = "FIFO", .count = 3, .first = ""}, {.cause = "symbolic link", .count = 5, .first = ""}};
  return what;
}

struct reading {
  std::size_t results = 0;
  std::vector<std::string> faults;
  report sum;
};

reading read(const std::string& path, letter_case wanted = letter_case::exact) {
  result_sum sum(wanted);
  sum.add_file(path);
  return {sum.results(), sum.errors(), sum.take()};
}

/// Reads a file of that content; the faults without the file's name.
reading read_text(const std::string& text, letter_case wanted = letter_case::exact) {
  const temporary_folder here;
  const std::string path = here.file("r", text);
  reading got = read(path, wanted);
  for (std::string& each : got.faults) {
    CHECK(each.starts_with(path + ":"));
    each.erase(0, path.size() + 1);
  }
  return got;
}

/// What a report says through schemes, and nothing of how it was counted.
std::string said(report what) {
  const auto schemes = gpuhist::config::make_schemes({"classes", "utf8"}, false);
  what.schemes.clear();
  for (const auto& each : schemes) what.schemes.push_back(view_through(each, what.partition));
  what.byte_counts = false;
  return render_json(what, {});
}

}  // namespace

TEST_CASE("a result is read back as it was, from JSON and from lines, names and unverified counts included") {
  const report what = sample("caf\xe9 \"x\"", "Hello,\nworld \xc3\xa9\n");
  for (const renderer render : {gpuhist::pipeline::render_json, gpuhist::pipeline::render_jsonl}) {
    const reading got = read_text(rendered(render, what));
    CHECK(got.faults.empty());
    CHECK(got.results == 1);
    CHECK(said(got.sum) == said(what));
  }
}

TEST_CASE("several results are added, in one file or in many, and snapshots are passed over") {
  const report one = sample("1", "abc\n");
  const report two = sample("2", "xyz");
  report snapshot = one;
  snapshot.type = report::kind::snapshot;
  report both = one;
  both.verified += two.verified;
  both.unverified += two.unverified;
  for (const input_report& each : two.inputs) both.inputs.push_back(each);
  for (skipped_names& each : both.skipped) each.count *= 2;
  const reading got = read_text(render_json(snapshot, {}) + render_jsonl(one, {}) + "\n" + render_json(snapshot, {}) +
                                render_json(two, {}));
  CHECK(got.faults.empty());
  CHECK(got.results == 2);
  CHECK(said(got.sum) == said(both));
}

TEST_CASE("the kind of an input's failure is read back, and is unknown where a result does not say it") {
  const report what = sample("1", "abc\n");
  const auto kinds = [](const std::string& text) {
    std::vector<failure_kind> all;
    for (const input_report& each : read_text(text).sum.inputs) all.push_back(each.error_kind);
    return all;
  };
  using found = std::vector<failure_kind>;
  ordered_json document = ordered_json::parse(render_json(what, {}));
  CHECK(kinds(document.dump()) == found{failure_kind::none, failure_kind::damaged});
  document["inputs"][1]["error_kind"] = "of a later version";
  CHECK(kinds(document.dump()) == found{failure_kind::none, failure_kind::unknown});
  document["inputs"][1].erase("error_kind");
  CHECK(kinds(document.dump()) == found{failure_kind::none, failure_kind::unknown});
}

TEST_CASE("the sum is complete only if all results are") {
  report good = report_of({"bytes"}, "abc");
  CHECK(read_text(render_json(good, {}) + render_json(good, {})).sum.complete);
  report bad = good;
  bad.complete = false;
  CHECK_FALSE(read_text(render_json(good, {}) + render_json(bad, {})).sum.complete);
}

TEST_CASE("without byte counts those by the scheme bytes serve, unless they fold case and case matters") {
  report what = report_of({"bytes"}, "aAb\n");
  const reading got = read_text(render_json(what, {}));
  CHECK(got.sum.verified == what.verified);
  what.ignore_case = true;
  for (const renderer render : {gpuhist::pipeline::render_json, gpuhist::pipeline::render_jsonl}) {
    CHECK(read_text(rendered(render, what)).faults ==
          std::vector<std::string>(1, render == gpuhist::pipeline::render_json
                                          ? "1: counted with --ignore-case, and no byte counts were kept; give "
                                            "--ignore-case, or count again with --byte-counts"
                                          : "1: input \"input\": counted with --ignore-case, and no byte counts were "
                                            "kept; give --ignore-case, or count again with --byte-counts"));
    CHECK(read_text(rendered(render, what), letter_case::ignored).faults.empty());
  }
  CHECK(read_text(render_json(report_of({"letters"}, "abc"), {})).faults ==
        std::vector<std::string>{"1: no byte counts were kept; count again with --byte-counts"});
}

TEST_CASE("damage is told with its line, and the other results are read all the same") {
  const std::string good = render_json(sample("1", "abc\n"), {});
  const auto damaged = [&](const std::function<void(ordered_json&)>& damage) {
    ordered_json document = ordered_json::parse(good);
    damage(document);
    return document.dump();
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"kind\":",
       "not valid JSON at byte 9 of the line; every line must be a whole document, as gpuhist writes them"},
      {"[]", "not a JSON object; results are written by gpuhist --byte-counts --format json"},
      {"{}", "\"schema\" is missing"},
      {damaged([](auto& d) { d["schema"] = "gpuhist.result/2"; }),
       "the schema is \"gpuhist.result/2\"; this program reads \"gpuhist.result/1\""},
      {damaged([](auto& d) { d["kind"] = "other"; }), "the kind is \"other\"; results are of kind \"result\""},
      {damaged([](auto& d) { d.erase("bytes"); }), "\"bytes\" is missing"},
      {damaged([](auto& d) { d["bytes"] = 5; }), "the counts do not add up: their sum is 6, but \"bytes\" is 5"},
      {damaged([](auto& d) { d["lines"] = 3; }), "\"lines\" is 3, but 1 line feeds were counted"},
      {damaged([](auto& d) { d["byte_counts"].erase(255); }), "\"byte_counts\" is not a list of 256 numbers"},
      {damaged([](auto& d) { d["byte_counts"][7] = -1; }), "\"byte_counts\" is not a whole number from 0 to 2^64 - 1"},
      {damaged([](auto& d) { d["byte_counts"][7] = 0.5; }), "\"byte_counts\" is not a whole number from 0 to 2^64 - 1"},
      {damaged([](auto& d) { d["byte_counts"][7] = "0"; }), "\"byte_counts\" is not a whole number from 0 to 2^64 - 1"},
      {damaged([](auto& d) { d["byte_counts"][7] = ~std::uint64_t{0}; }),
       "the counts do not add up: their sum exceeds 2^64 - 1"},
      {damaged([](auto& d) { d["complete"] = 1; }), "\"complete\" is neither true nor false"},
      {damaged([](auto& d) { d["inputs"].erase(0); }), "the totals are not the sums of the inputs"},
      {damaged([](auto& d) { d.erase("inputs"); }), "\"inputs\" is not a list"},
      {damaged([](auto& d) { d["input_count"] = 2; }),
       "\"input_count\" is 2, but there are 0 lines of inputs before it"},
      {damaged([](auto& d) { d["inputs"][0]["name"] = 7; }), "\"name\" is not a string"},
      {damaged([](auto& d) { d["inputs"][0]["name_base64"] = "?"; }), "\"name_base64\" is not base64"},
      {damaged([](auto& d) {
         d["inputs"][0].erase("byte_counts");
         d["inputs"][0].erase("buckets");
       }),
       "input \"1\": no byte counts were kept; count again with --byte-counts"},
      {damaged([](auto& d) { d["inputs"][1]["lost"][0].erase("error"); }),
       "input \"bad \\xff\\x0a\": \"error\" is missing"},
      {damaged([](auto& d) { d["skipped"] = 9; }), "\"skipped\" is not the sum of its causes"},
      {damaged([](auto& d) { d["skipped_by_cause"] = 9; }), "\"skipped_by_cause\" is not an object"},
      {damaged([](auto& d) { d["bytes"] = 5, d["inputs"][0]["name"] = 7; }),
       "the counts do not add up: their sum is 6, but \"bytes\" is 5"},
      {damaged([](auto& d) { d["kind"] = "snapshot", d["inputs"][0]["name"] = 7; }), ""},
      {good.substr(0, good.size() - 3),
       "not valid JSON at byte " + std::to_string(good.size() - 2) +
           " of the line; every line must be a whole document, as gpuhist writes them"},
      {R"({"bytes":1e999})",
       "not valid JSON at byte 14 of the line; every line must be a whole document, as gpuhist writes them"},
      {damaged([](auto& d) { d["unverified"] = 1; }), "\"unverified\" is not an object"},
      {damaged([](auto& d) { d["unverified"]["bytes"] = 1; }),
       "the counts do not add up: their sum is 3, but \"bytes\" is 1"},
  };
  report twice = read_text(good + good).sum;
  twice.complete = false;
  for (const auto& [line, message] : cases) {
    CAPTURE(line);
    const reading got = read_text(good + line + "\n" + good);
    CHECK(got.faults == (message.empty() ? std::vector<std::string>{} : std::vector<std::string>{"2: " + message}));
    CHECK(got.results == 2);
    CHECK(said(got.sum) == said(twice));
    CHECK(got.sum.verified.bytes() == 12);
    CHECK(got.sum.inputs.size() == 4);
  }
}

TEST_CASE("lines of inputs count with their result or not at all") {
  const report what = sample("1", "abc\n");
  const std::string text = render_jsonl(what, {});
  const std::vector<std::string> lines = lines_of(text);
  REQUIRE(lines.size() == 3);
  CHECK(read_text(lines[0] + "\n" + lines[1]).faults ==
        std::vector<std::string>{" ends with 2 lines of inputs, without their result"});
  CHECK(read_text(lines[0] + "\n" + lines[2]).faults ==
        std::vector<std::string>{"2: \"input_count\" is 2, but there are 1 lines of inputs before it"});
  const reading got = read_text(lines[0] + "\n" + lines[1].substr(0, 50) + "\n" + lines[2] + "\n" + text);
  CHECK(got.faults.size() == 1);
  CHECK(got.faults.front().starts_with("2: not valid JSON"));
  CHECK(got.results == 1);
  CHECK(got.sum.inputs.size() == 2);
}

TEST_CASE("what comes behind damage is read as if the damage were not there, in either format") {
  const report what = sample("1", "abc\n");
  const std::string text = render_json(what, {});
  const std::string lines = render_jsonl(what, {});
  std::string damaged = text;
  damaged.replace(damaged.find("\"bytes\":6"), 9, "\"bytes\":7");
  for (const std::string& bad : {damaged, text.substr(0, text.size() / 2) + "\n", lines.substr(0, 100) + "\n"}) {
    for (const std::string& good : {text, text + lines}) {
      const reading got = read_text(lines + bad + good);
      CHECK(got.faults.size() == 1);
      CHECK(got.faults.front().starts_with(lines.empty() ? "1: " : "4: "));
      report expected = read_text(lines + good).sum;
      expected.complete = false;
      CHECK(said(got.sum) == said(expected));
    }
  }
  CHECK(read_text(damaged + lines).results == 1);
}

TEST_CASE("fields may stand in any order: case that was folded is known of behind the inputs, too") {
  report what = report_of({"bytes"}, "aAb\n");
  add_input(what, "second", "B", "a", "damaged");
  const auto sorted = [&] {
    return nlohmann::json::parse(render_json(what, {})).dump() + "\n";
  };  // kind is behind inputs
  REQUIRE(sorted().find("\"inputs\"") < sorted().find("\"kind\""));
  CHECK(said(read_text(sorted()).sum) == said(read_text(render_json(what, {})).sum));
  what.ignore_case = true;
  std::string text = sorted();
  text.erase(text.find("\"ignore_case\":true,"), 19);
  text.insert(text.rfind('}'), ",\"ignore_case\":true");
  CHECK(read_text(text).faults == read_text(render_json(what, {})).faults);
  CHECK(read_text(text, letter_case::ignored).faults.empty());
  what.byte_counts = true;
  nlohmann::json document = nlohmann::json::parse(render_json(what, {}));
  document["inputs"][1]["unverified"].erase("byte_counts");  // of one input only the scheme is left, in part
  for (const std::string& written : {document.dump(), document.dump().insert(1, "\"inputs\":[1,{}],")}) {
    CHECK(
        read_text(written).faults ==
        std::vector<std::string>{"1: input \"second\": counted with --ignore-case, and no byte counts were kept; give "
                                 "--ignore-case, or count again with --byte-counts"});
    CHECK(read_text(written, letter_case::ignored).sum.inputs.size() == 2);
  }
}

TEST_CASE("very many inputs are read from one line without being held, and from lines as well") {
  report what = sample("0", "abc\n");
  for (int i = 1; i < 3000; ++i) add_input(what, std::to_string(i) + std::string(400, 'x'), "x" + std::to_string(i));
  for (const renderer render : {gpuhist::pipeline::render_json, gpuhist::pipeline::render_jsonl}) {
    const reading got = read_text(rendered(render, what));
    CHECK(got.faults.empty());
    CHECK(said(got.sum) == said(what));
  }
}

TEST_CASE("no cut and no flipped character of a result passes for another result") {
  const report what = sample("1", "abc\n");
  const std::string good = render_json(what, {});
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::string text = good;
    if (round % 2 == 0) {
      text.resize(random() % (good.size() - 2));
    } else {
      text[random() % (good.size() - 1)] = static_cast<char>('0' + random() % 10);
    }
    const reading got = read_text(text);
    const bool same_counts = got.sum.verified == what.verified && got.sum.unverified == what.unverified;
    CHECK((got.results == 0 ? !got.faults.empty() : same_counts));
  }
}

TEST_CASE("a file without results and an absent file have one error each") {
  const temporary_folder here;
  const std::string remedy = "; give a file that was written by gpuhist --byte-counts --format json";
  CHECK(read_text("").faults == std::vector<std::string>{" not a result of gpuhist (it is empty)" + remedy});
  for (const char* const content : {"a line\nof text\n",
                                    "\x7f"
                                    "ELF\n\n\xff",
                                    "{}\n[]\n", "{\"schema\":\"else\"}\n{"}) {
    CHECK(read_text(content).faults == std::vector<std::string>{" not a result of gpuhist" + remedy});
  }
  report snapshot = sample("1", "abc\n");
  snapshot.type = report::kind::snapshot;
  CHECK(read_text(render_json(snapshot, {})).faults ==
        std::vector<std::string>{" contains no result, only lines of other kinds" + remedy});
  CHECK(read(here / "none").faults == std::vector<std::string>{(here / "none") + ": No such file or directory"});
  CHECK(read(here / "").faults ==
        std::vector<std::string>{(here / "") + ": not a result of gpuhist (it is a directory)" + remedy});
}

TEST_CASE("a torn result names its line, and of many damaged lines ten are reported and the others counted") {
  const std::string good = render_json(sample("1", "abc\n"), {});
  const reading torn = read_text(good.substr(0, good.size() / 2));
  REQUIRE(torn.faults.size() == 1);
  CHECK(torn.faults.front().starts_with("1: not valid JSON"));
  std::string damaged;
  for (int i = 0; i < 12; ++i) damaged += "{}\n";
  const reading got = read_text(good + damaged + good);
  CHECK(got.results == 2);
  REQUIRE(got.faults.size() == 11);
  CHECK(got.faults[0].starts_with("2: "));
  CHECK(got.faults[9].starts_with("11: "));
  CHECK(got.faults[10] == " damage in 2 more lines");
}
