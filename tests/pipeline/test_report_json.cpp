// The JSON report: parsed back and held against the counts it was made of.
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/formats/run_id.hpp"
#include "pipeline/report/formats/text.hpp"

#include "tests/pipeline/report_samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace gpuhist::pipeline;
using namespace gpuhist::test;
using nlohmann::ordered_json;

namespace {

using keys = std::vector<std::string>;

ordered_json parsed(const report& what) {
  const std::string text = render_json(what, {});
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.back() == '\n');
  return ordered_json::parse(text);
}

std::vector<std::string> keys_of(const ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

}  // namespace

TEST_CASE("the JSON result says what was counted, scheme by scheme, in scheme order") {
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

TEST_CASE("byte counts are 256 numbers, kept only where asked for") {
  report what = report_of({"bytes"}, "aab\n");
  CHECK_FALSE(parsed(what).contains("byte_counts"));
  what.byte_counts = true;
  const ordered_json counts = parsed(what)["byte_counts"];
  CHECK(counts.size() == 256);
  for (std::size_t byte = 0; byte < 256; ++byte) {
    CHECK(counts[byte] == (byte == 'a' ? 2 : byte == 'b' || byte == '\n' ? 1 : 0));
  }
}

TEST_CASE("byte counts are kept of inputs and of what is unverified as well, but not of snapshots") {
  report what = empty_report({"bytes"});
  add_input(what, "one", "aab\n");
  add_input(what, "two", "a", "zz", "damaged");
  what.byte_counts = true;
  const ordered_json out = parsed(what);
  CHECK(out["inputs"][0]["byte_counts"]['a'] == 2);
  CHECK(out["inputs"][1]["byte_counts"]['a'] == 1);
  CHECK(out["inputs"][1]["unverified"]["byte_counts"]['z'] == 2);
  CHECK(out["unverified"]["byte_counts"]['z'] == 2);
  what.type = report::kind::snapshot;
  CHECK_FALSE(parsed(what).contains("byte_counts"));
  CHECK_FALSE(parsed(what)["provisional"].contains("byte_counts"));
}

TEST_CASE("JSON says where case was ignored, and only there") {
  report what = report_of({"letters"}, "abc");
  CHECK_FALSE(parsed(what).contains("ignore_case"));
  what.ignore_case = true;
  CHECK(parsed(what)["ignore_case"] == true);
  what.type = report::kind::snapshot;
  CHECK(parsed(what)["ignore_case"] == true);
}

TEST_CASE("what was not verified stands beside the totals, in the totals' form, and only where there is some") {
  report what = empty_report({"letters"});
  add_input(what, "good", "abc\n");
  add_input(what, "bad.zst", "a\n", "zz\n", "frame 2 is damaged at offset 17");
  change_input(what, 1, [&](auto& it) { it.compressed_bytes = 99; });
  const ordered_json out = parsed(what);
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
  report what = report_of({"letters"}, "abc");
  what.inputs.push_back({.name = "none",
                         .format = "unknown",
                         .compressed_bytes = {},
                         .complete = false,
                         .error = "No such file or directory",
                         .verified = {},
                         .unverified = {}});
  const ordered_json out = parsed(what);
  CHECK(out["inputs"][1]["bytes"] == 0);
  CHECK(out["inputs"][1]["lines"] == 0);
  CHECK(out["inputs"][1]["buckets"]["letters"]["other"] == 0);
  CHECK(line_with(render_table(what, {}), "INCOMPLETE") == "INCOMPLETE  none: No such file or directory");
}

TEST_CASE("names and errors that are not UTF-8 never throw, and names are carried losslessly") {
  report what = empty_report({"letters"});
  add_input(what, "caf\xe9\n\x1b[31m", "abc", "", "bad byte \xff\xfe in \xed\xa0\x80");
  add_input(what, "caf\xc3\xa9", "abc");
  what.stats = some_stats();
  what.stats->engine_reason = "\xff";
  what.stats->counting.device = "\x80";
  what.stats->limited_by = "\xc3";
  const ordered_json out = parsed(what);
  CHECK(out["inputs"][0]["name"] == "caf\xef\xbf\xbd\n\x1b[31m");
  CHECK(out["inputs"][0]["name_base64"] == base64("caf\xe9\n\x1b[31m"));
  CHECK(is_utf8(out["inputs"][0]["error"].get<std::string>()));
  CHECK(out["inputs"][1]["name"] == "caf\xc3\xa9");
  CHECK_FALSE(out["inputs"][1].contains("name_base64"));
  what.type = report::kind::snapshot;
  CHECK(parsed(what)["inputs"][0]["name_base64"] == base64("caf\xe9\n\x1b[31m"));
  for (int byte = 0; byte < 256; ++byte) {
    change_input(what, 0, [&](auto& it) { it.name = static_cast<char>(byte); });
    change_input(what, 0, [&](auto& it) { it.error = static_cast<char>(byte); });
    CHECK_NOTHROW(render_json(what, {}));
    CHECK_NOTHROW(render_table(what, {}));
  }
}

TEST_CASE("a snapshot says of each input which prefix it counts") {
  report what = empty_report({"letters"});
  add_input(what, "a", "ab\n", "cc");
  add_input(what, "b", "", "");
  what.type = report::kind::snapshot;
  what.elapsed_seconds = 1.5;
  const ordered_json out = parsed(what);
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
  what.unverified = {};
  CHECK(parsed(what)["provisional"]["bytes"] == 0);  // always there
}

TEST_CASE("lines of JSON name the run where it has a name, and JSON of one line never does") {
  report what = empty_report({"letters"});
  add_input(what, "a", "ab\n", "cc");
  add_input(what, "b", "", "");
  const render_target target{.run = "0123456789abcdef"};
  for (const auto kind : {report::kind::result, report::kind::snapshot}) {
    what.type = kind;
    for (const std::string& line : lines_of(render_jsonl(what, target))) {
      const ordered_json out = ordered_json::parse(line);
      CHECK(out["run"] == "0123456789abcdef");
      CHECK(keys_of(out)[2] == "run");
    }
    for (const std::string& line : lines_of(render_jsonl(what, {}))) {
      CHECK_FALSE(ordered_json::parse(line).contains("run"));
    }
    CHECK_FALSE(ordered_json::parse(render_json(what, target)).contains("run"));
  }
}

TEST_CASE("names of runs are 16 hexadecimal digits, and different") {
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = make_run_id();
    CHECK(name.size() == 16);
    CHECK(name.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(names.insert(name).second);
  }
}

TEST_CASE("the JSON statistics hold every stage and what limited the run") {
  report what = report_of({"letters"}, "abc");
  what.stats = some_stats();
  ordered_json stats = parsed(what)["stats"];
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
  what.stats->counting.timeline = {4, 3, 2, 1};
  stats = parsed(what)["stats"];
  CHECK(stats["engine"]["timeline"].dump() ==
        R"({"span_seconds":4.0,"copy_busy_seconds":3.0,"kernel_busy_seconds":2.0,"overlap_seconds":1.0})");
}
