// The JSON report: parsed, and compared with the counts that it was made from.
#include "report/formats/report.hpp"
#include "report/formats/text.hpp"

#include "tests/pipeline/report_samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace gpuhist::report;
using namespace gpuhist::test;
using nlohmann::ordered_json;

namespace {

using keys = std::vector<std::string>;

ordered_json parsed(const run_report& shown) {
  const std::string text = render_json(shown, {});
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.back() == '\n');
  return ordered_json::parse(text);
}

std::vector<std::string> keys_of(const ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

std::string line_of(const units::unit_renderer& form, const units::unit_record& found) {
  std::string line = form.beginning_of(*found.input);
  form.add_place(found.place, line);
  form.add_end(found, line);
  return line;
}

}  // namespace

TEST_CASE("the JSON result has the counts of each scheme, in the order of the schemes") {
  const ordered_json out = parsed(report_of({"letters", "classes"}, "abc xyz\nABC 12\n\xff"));
  CHECK(keys_of(out) == keys{"kind", "schema", "complete", "bytes", "lines", "buckets", "inputs"});
  CHECK(out["kind"] == "result");
  CHECK(out["schema"] == "gpuhist.result/1");
  CHECK(out["complete"] == true);
  CHECK(out["bytes"] == 16);
  CHECK(out["lines"] == 2);
  CHECK(keys_of(out["buckets"]) == keys{"letters", "classes"});
  CHECK(out["buckets"]["letters"].dump() == R"({"a-d":3,"e-h":0,"i-l":0,"m-p":0,"q-t":0,"u-x":1,"y-z":2,"other":10})");
  CHECK(out["buckets"]["classes"].dump() ==
        R"({"upper":3,"lower":6,"digit":2,"space":4,"punctuation":0,"control":0,"non-ascii":1})");
  CHECK(out["inputs"].size() == 1);
  CHECK(keys_of(out["inputs"][0]) == keys{"name", "format", "bytes", "complete", "lines", "buckets"});
  CHECK(out["inputs"][0]["buckets"] == out["buckets"]);
}

TEST_CASE("the buckets of every scheme add up to the bytes") {
  std::mt19937 random(7);
  std::string text(10000, '\0');
  for (char& c : text) c = static_cast<char>(random());
  const ordered_json out = parsed(report_of({"letters", "classes", "bytes"}, text));
  for (const auto& scheme : out["buckets"]) {
    std::uint64_t sum = 0;
    for (const auto& each : scheme) sum += each.get<std::uint64_t>();
    CHECK(sum == text.size());
  }
  CHECK(out["lines"] == std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("byte counts are 256 numbers, and are written only on request") {
  run_report shown = report_of({"bytes"}, "aab\n");
  CHECK_FALSE(parsed(shown).contains("byte_counts"));
  shown.byte_counts = true;
  const ordered_json counts = parsed(shown)["byte_counts"];
  CHECK(counts.size() == 256);
  for (std::size_t byte = 0; byte < 256; ++byte) {
    CHECK(counts[byte] == (byte == 'a' ? 2 : byte == 'b' || byte == '\n' ? 1 : 0));
  }
}

TEST_CASE("byte counts are also written for inputs and for unverified bytes, but not for snapshots") {
  run_report shown = empty_report({"bytes"});
  add_input(shown, "one", "aab\n");
  add_input(shown, "two", "a", "zz", "damaged");
  shown.byte_counts = true;
  const ordered_json out = parsed(shown);
  CHECK(out["inputs"][0]["byte_counts"]['a'] == 2);
  CHECK(out["inputs"][1]["byte_counts"]['a'] == 1);
  CHECK(out["inputs"][1]["unverified"]["byte_counts"]['z'] == 2);
  CHECK(out["unverified"]["byte_counts"]['z'] == 2);
  shown.type = run_report::kind::snapshot;
  CHECK_FALSE(parsed(shown).contains("byte_counts"));
  CHECK_FALSE(parsed(shown)["provisional"].contains("byte_counts"));
}

TEST_CASE("JSON reports ignored case only if it was ignored") {
  run_report shown = report_of({"letters"}, "abc");
  CHECK_FALSE(parsed(shown).contains("ignore_case"));
  shown.ignore_case = true;
  CHECK(parsed(shown)["ignore_case"] == true);
  shown.type = run_report::kind::snapshot;
  CHECK(parsed(shown)["ignore_case"] == true);
}

TEST_CASE("unverified bytes are beside the totals, in the same form, and only if there are any") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "good", "abc\n");
  add_input(shown, "bad.zst", "a\n", "zz\n", "frame 2 is damaged at offset 17");
  change_input(shown, 1, [&](auto& input) { input.compressed_bytes = 99; });
  const ordered_json out = parsed(shown);
  CHECK(out["complete"] == false);
  CHECK(out["bytes"] == 6);
  CHECK(out["lines"] == 2);
  CHECK(
      out["unverified"].dump() ==
      R"({"bytes":3,"lines":1,"buckets":{"letters":{"a-d":0,"e-h":0,"i-l":0,"m-p":0,"q-t":0,"u-x":0,"y-z":2,"other":1}}})");
  CHECK_FALSE(out["inputs"][0].contains("unverified"));
  CHECK_FALSE(out["inputs"][0].contains("error"));
  CHECK_FALSE(out["inputs"][0].contains("error_kind"));
  CHECK_FALSE(out["inputs"][0].contains("compressed_bytes"));
  CHECK(out["inputs"][1]["unverified"] == out["unverified"]);
  CHECK(out["inputs"][1]["error"] == "frame 2 is damaged at offset 17");
  CHECK(out["inputs"][1]["error_kind"] == "damaged");
  CHECK(out["inputs"][1]["compressed_bytes"] == 99);
  CHECK(out["inputs"][1]["complete"] == false);
}

TEST_CASE("an input that could not be opened has no counts and does no harm") {
  run_report shown = report_of({"letters"}, "abc");
  shown.inputs.push_back({.name = "none",
                          .format = "unknown",
                          .compressed_bytes = {},
                          .complete = false,
                          .error = "No such file or directory",
                          .verified = {},
                          .unverified = {}});
  const ordered_json out = parsed(shown);
  CHECK(out["inputs"][1]["bytes"] == 0);
  CHECK(out["inputs"][1]["lines"] == 0);
  CHECK(out["inputs"][1]["buckets"]["letters"]["other"] == 0);
  CHECK(line_with(render_table(shown, {}), "INCOMPLETE") == "INCOMPLETE  none: No such file or directory");
}

TEST_CASE("names and errors that are not UTF-8 never throw, and names are written without loss") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "caf\xe9\n\x1b[31m", "abc", "", "bad byte \xff\xfe in \xed\xa0\x80");
  add_input(shown, "caf\xc3\xa9", "abc");
  shown.stats = some_stats();
  shown.stats->engine_reason = "\xff";
  shown.stats->counting.device = "\x80";
  shown.stats->limited_by = "\xc3";
  const ordered_json out = parsed(shown);
  CHECK(out["inputs"][0]["name"] == "caf\xef\xbf\xbd\n\x1b[31m");
  CHECK(out["inputs"][0]["name_base64"] == base64("caf\xe9\n\x1b[31m"));
  CHECK(is_utf8(out["inputs"][0]["error"].get<std::string>()));
  CHECK(out["inputs"][1]["name"] == "caf\xc3\xa9");
  CHECK_FALSE(out["inputs"][1].contains("name_base64"));
  shown.type = run_report::kind::snapshot;
  CHECK(parsed(shown)["inputs"][0]["name_base64"] == base64("caf\xe9\n\x1b[31m"));
  for (int byte = 0; byte < 256; ++byte) {
    change_input(shown, 0, [&](auto& input) { input.name = static_cast<char>(byte); });
    change_input(shown, 0, [&](auto& input) { input.error = static_cast<char>(byte); });
    CHECK_NOTHROW(render_json(shown, {}));
    CHECK_NOTHROW(render_table(shown, {}));
  }
}

TEST_CASE("a snapshot reports for each input which prefix it counts") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "a", "ab\n", "cc");
  add_input(shown, "b", "", "");
  shown.type = run_report::kind::snapshot;
  shown.elapsed_seconds = 1.5;
  const ordered_json out = parsed(shown);
  CHECK(keys_of(out) ==
        keys{"kind", "schema", "elapsed_seconds", "bytes", "lines", "buckets", "provisional", "inputs"});
  CHECK(out["kind"] == "snapshot");
  CHECK(out["elapsed_seconds"] == 1.5);
  CHECK(out["bytes"] == 3);
  CHECK(out["provisional"]["bytes"] == 2);
  CHECK(out["provisional"]["lines"] == 0);
  CHECK(out["provisional"]["buckets"]["letters"]["a-d"] == 2);
  CHECK(out["inputs"][0].dump() == R"({"name":"a","format":"raw","prefix_bytes":5,"bytes":3,"provisional_bytes":2})");
  CHECK(out["inputs"][1].dump() == R"({"name":"b","format":"raw","prefix_bytes":0,"bytes":0,"provisional_bytes":0})");
  shown.unverified = {};
  CHECK(parsed(shown)["provisional"]["bytes"] == 0);  // always present
}

TEST_CASE("lines of JSON name the run if it has a name, and JSON of one line never does") {
  run_report shown = empty_report({"letters"});
  add_input(shown, "a", "ab\n", "cc");
  add_input(shown, "b", "", "");
  const render_target target{.run = "0123456789abcdef"};
  for (const auto kind : {run_report::kind::result, run_report::kind::snapshot}) {
    shown.type = kind;
    for (const std::string& line : lines_of(render_jsonl(shown, target))) {
      const ordered_json out = ordered_json::parse(line);
      CHECK(out["run"] == "0123456789abcdef");
      CHECK(keys_of(out)[2] == "run");
    }
    for (const std::string& line : lines_of(render_jsonl(shown, {}))) {
      CHECK_FALSE(ordered_json::parse(line).contains("run"));
    }
    CHECK_FALSE(ordered_json::parse(render_json(shown, target)).contains("run"));
  }
}

TEST_CASE("names of runs are 16 hexadecimal digits, and each is different") {
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = make_run_id();
    CHECK(name.size() == 16);
    CHECK(name.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(names.insert(name).second);
  }
}

TEST_CASE("the JSON statistics contain every stage and the limit of the run") {
  run_report shown = report_of({"letters"}, "abc");
  shown.stats = some_stats();
  ordered_json stats = parsed(shown)["stats"];
  CHECK(stats["seconds"] == 1.0);
  CHECK(stats["engine"]["name"] == "host");
  CHECK(stats["engine"]["reason"] == "no CUDA device");
  CHECK(stats["engine"]["kernel"] == "ranges/AVX3");
  CHECK_FALSE(stats["engine"].contains("device"));
  CHECK_FALSE(stats["engine"].contains("timeline"));
  CHECK(stats["stages"].dump() ==
        R"([{"name":"read","bytes":1000,"busy_seconds":0.5,"waiting_seconds":0.25,"workers":1,"busy_share":0.5},)"
        R"({"name":"count","bytes":1000,"busy_seconds":0.75,"waiting_seconds":0.125,"workers":2,"busy_share":0.375}])");
  CHECK(stats["partition"].dump() == R"({"classes":8,"counted_classes":8,"schemes":["letters","classes"]})");
  CHECK(stats["reading"]["inputs"] == 3);
  CHECK(stats["reading"]["manners"][1].dump() == R"({"how":"pipe of 1 MiB, straight into the slots","inputs":1})");
  CHECK(stats["slots_over_time"].dump() ==
        R"({"waiting_seconds":0.0,"free_share":0.625,"filling_share":0.125,"counting_share":0.25,)"
        R"("none_free_share":0.125,"step_seconds":0.25,"in_use":[0.0,0.5,1.0,0.25]})");
  CHECK(stats["memory"].dump() == R"({"peak_bytes":14680064,"limit_bytes":1073741824})");
  CHECK(stats["decompression"] == "not compressed");
  CHECK(stats["limited_by"] == "read: busy 50 % of the time");
  CHECK(stats["would_help"] == "giving files by name");
  shown.stats->counting.timeline = {4, 3, 2, 1};
  stats = parsed(shown)["stats"];
  CHECK(stats["engine"]["timeline"].dump() ==
        R"({"span_seconds":4.0,"copy_busy_seconds":3.0,"kernel_busy_seconds":2.0,"overlap_seconds":1.0})");
}

TEST_CASE("a line of a unit has its fields, whatever bytes its name has: as nlohmann::json writes them") {
  run_report frame = report_of({"letters", "classes"}, "");
  const std::string text = "abc 12\n";
  for (const std::string& name : {std::string("a.log"), std::string("\"quoted\" \\ \t\x7f\x01"),
                                  std::string("\xff\xc3"), std::string("\xc3\xa4\xe2\x82\xac"), std::string()}) {
    for (const bool has_more : {false, true}) {
      CAPTURE(name);
      frame.ignore_case = has_more;
      frame.byte_counts = has_more;
      units::unit_record found{
          .input = std::make_shared<const std::string>(name),
          .place = {.number = 7, .line = 8, .offset = 9'000'000'000, .bytes = text.size()},
          .verified = true,
          .counts = count(frame, text),
          .values = {{.name = "digit", .value = 0.1}, {.name = "words", .value = 2.0}, {.name = "jsd", .value = {}}}};
      ordered_json expected = {{"kind", "unit"}, {"schema", "gpuhist.result/1"}, {"run", "1f"}, {"name", name}};
      if (!is_utf8(name)) expected["name_base64"] = base64(name);
      expected.update({{"unit", 7}, {"line", 8}, {"offset", 9'000'000'000}, {"verified", true}});
      expected["values"] = {{"digit", 0.1}, {"words", 2}, {"jsd", nullptr}};
      if (has_more) expected["ignore_case"] = true;
      expected["bytes"] = text.size();
      const ordered_json counts = parsed(report_of({"letters", "classes"}, text));
      expected["lines"] = counts["lines"];
      expected["buckets"] = counts["buckets"];
      ordered_json line = ordered_json::parse(line_of(*unit_json_lines(frame, "1f"), found));
      if (has_more) {
        CHECK(line["byte_counts"].size() == 256);
        line.erase("byte_counts");
      }
      CHECK(line.dump() ==
            ordered_json::parse(expected.dump(-1, ' ', false, ordered_json::error_handler_t::replace)).dump());
    }
  }
}
