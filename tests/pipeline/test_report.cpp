// Reports: JSON is parsed back and held against the counts it was made of, tables are measured column by column.
#include "pipeline/report.hpp"

#include "pipeline/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

using gpuhist::config::find_scheme;
using gpuhist::gpu::tally;
using nlohmann::ordered_json;
using namespace gpuhist::pipeline;

namespace {

tally count(const report& over, std::string_view text) {
  tally made(over.partition.classes);
  for (const char c : text) ++made.counts[over.partition.class_of[static_cast<unsigned char>(c)]];
  return made;
}

report empty_report(const std::vector<std::string>& schemes) {
  report made;
  std::vector<gpuhist::config::scheme> found;
  for (const std::string& each : schemes) found.push_back(find_scheme(each));
  made.partition = coarsest_partition(found);
  for (const auto& each : found) made.schemes.push_back(view_through(each, made.partition));
  made.verified = tally(made.partition.classes);
  made.unverified = tally(made.partition.classes);
  made.complete = true;
  return made;
}

void add_input(report& to, const std::string& name, std::string_view verified, std::string_view unverified = "",
               const std::string& error = "") {
  input_report input;
  input.name = name;
  input.format = "raw";
  input.complete = error.empty();
  input.error = error;
  input.verified = count(to, verified);
  input.unverified = count(to, unverified);
  to.verified += input.verified;
  to.unverified += input.unverified;
  to.complete = to.complete && input.complete;
  to.inputs.push_back(std::move(input));
}

report report_of(const std::vector<std::string>& schemes, std::string_view text) {
  report made = empty_report(schemes);
  add_input(made, "input", text);
  return made;
}

run_stats some_stats() {
  run_stats stats;
  stats.engine = "host";
  stats.engine_reason = "no CUDA device";
  stats.counting.kernel = "ranges/AVX3";
  stats.counting.workers = 2;
  stats.stages = {{"read", 1000, 0.5, 0.25, 1}, {"count", 1000, 0.75, 0.125, 2}};
  stats.limited_by = "read: busy 50 % of the time";
  stats.seconds = 1.0;
  stats.threads = 2;
  stats.slots = 16;
  stats.slot_bytes = 262144;
  stats.chunks = 4;
  stats.bytes = 1000;
  return stats;
}

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

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The one line that begins with this.
std::string line_with(const std::string& text, const std::string& start) {
  std::string found;
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with(start)) continue;
    CHECK(found.empty());
    found = line;
  }
  return found;
}

using keys = std::vector<std::string>;

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

TEST_CASE("what was not verified stands beside the totals, in the totals' form, and only where there is some") {
  report what = empty_report({"letters"});
  add_input(what, "good", "abc\n");
  add_input(what, "bad.zst", "a\n", "zz\n", "frame 2 is damaged at offset 17");
  what.inputs[1].compressed_bytes = 99;
  const ordered_json out = parsed(what);
  CHECK(out["complete"] == false);
  CHECK(out["bytes"] == 6);
  CHECK(out["lines"] == 2);
  CHECK(
      out["unverified"].dump() ==
      R"({"bytes":3,"lines":1,"buckets":{"letters":{"a-d":0,"e-h":0,"i-l":0,"m-p":0,"q-t":0,"u-x":0,"y-z":2,"other":1}}})");
  CHECK_FALSE(out["inputs"][0].contains("unverified"));
  CHECK_FALSE(out["inputs"][0].contains("error"));
  CHECK_FALSE(out["inputs"][0].contains("compressed_bytes"));
  CHECK(out["inputs"][1]["unverified"] == out["unverified"]);
  CHECK(out["inputs"][1]["error"] == "frame 2 is damaged at offset 17");
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
  what.what = report::kind::snapshot;
  CHECK(parsed(what)["inputs"][0]["name_base64"] == base64("caf\xe9\n\x1b[31m"));
  for (int byte = 0; byte < 256; ++byte) {
    what.inputs[0].name = static_cast<char>(byte);
    what.inputs[0].error = static_cast<char>(byte);
    CHECK_NOTHROW(render_json(what, {}));
    CHECK_NOTHROW(render_table(what, {}));
  }
}

TEST_CASE("a snapshot says of each input which prefix it counts") {
  report what = empty_report({"letters"});
  add_input(what, "a", "ab\n", "cc");
  add_input(what, "b", "", "");
  what.what = report::kind::snapshot;
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
        R"([{"name":"read","bytes":1000,"busy_seconds":0.5,"waiting_seconds":0.25,"workers":1},)"
        R"({"name":"count","bytes":1000,"busy_seconds":0.75,"waiting_seconds":0.125,"workers":2}])");
  CHECK(stats["limited_by"] == "read: busy 50 % of the time");
  what.stats->counting.timeline = {4, 3, 2, 1};
  stats = parsed(what)["stats"];
  CHECK(stats["engine"]["timeline"].dump() ==
        R"({"span_seconds":4.0,"copy_busy_seconds":3.0,"kernel_busy_seconds":2.0,"overlap_seconds":1.0})");
}

TEST_CASE("no line of a table's buckets is wider than the target, and no number is ever cut") {
  report what = empty_report({"letters", "classes", "bytes"});
  add_input(what, "short", "abc 123\n\xff");
  add_input(what, std::string(300, 'x') + "/end", std::string(20000, 'e'));
  for (auto& each : what.verified.counts) each *= 1'000'000'007;
  for (const unsigned width : {40U, 80U, 200U}) {
    for (const bool unicode : {true, false}) {
      const std::string table = render_table(what, {unicode, width});
      std::size_t widest = 0;
      for (const std::string& line : lines_of(table)) {
        CAPTURE(line);
        CHECK(columns(line) <= width);
        CHECK_FALSE(line.ends_with(' '));
        widest = std::max(widest, columns(line));
      }
      CHECK(table.find("20,000,000,140,000") != std::string::npos);
      if (width == 40) continue;  // too narrow for bars
      CHECK(widest == width);     // the largest one fills it
      CHECK((table.find('#') != std::string::npos) == !unicode);
      CHECK((table.find("\u2588") != std::string::npos) == unicode);
    }
  }
}

TEST_CASE("where a table has no room the bars go first and then the shares, never the numbers") {
  report what = report_of({"classes"}, "a");
  for (auto& each : what.verified.counts) each *= 18'446'744'073'709'551'615U;
  const std::string table = render_table(what, {true, 40});
  CHECK(line_with(table, "lower") == "lower        18,446,744,073,709,551,615");
  CHECK(table.find('%') == std::string::npos);
  CHECK(line_with(render_table(what, {true, 49}), "lower") == "lower        18,446,744,073,709,551,615  100.00 %");
}

TEST_CASE("a row shows the bucket, the count, its share of all bytes and a bar scaled to the largest") {
  const std::string text = std::string(3000, 'a') + std::string(1500, 'e') + std::string(1500, 'i') + "z";
  const std::string table = render_table(report_of({"letters"}, text), {false, 46});
  // 6 + 2 + 5 + 2 + 8 + 2 columns leave 21 for the bar
  CHECK(line_with(table, "bucket") == "bucket  count     share");
  CHECK(line_with(table, "a-d") == "a-d     3,000   49.99 %  #####################");
  CHECK(line_with(table, "e-h") == "e-h     1,500   25.00 %  ###########");
  CHECK(line_with(table, "y-z") == "y-z         1    0.02 %  #");
  CHECK(line_with(table, "q-t") == "q-t         0    0.00 %");
  CHECK(line_with(table, "bytes") == "bytes       6,001");
  CHECK(line_with(table, "lines") == "lines       0");
}

TEST_CASE("bars of block characters are exact to an eighth of a column") {
  const std::string table =
      render_table(report_of({"letters"}, std::string(32, 'a') + std::string(17, 'e') + "i"), {true, 29});
  // 4 columns for the bar, 32 eighths
  CHECK(line_with(table, "a-d").ends_with("%  \u2588\u2588\u2588\u2588"));
  CHECK(line_with(table, "e-h").ends_with("%  \u2588\u2588\u258f"));
  CHECK(line_with(table, "i-l").ends_with("%  \u258f"));
}

TEST_CASE("of nothing every share is zero, and nothing is divided by it") {
  const std::string table = render_table(report_of({"classes"}, ""), {});
  for (const char* name : {"upper", "lower", "digit", "space", "punctuation", "control", "non-ascii"}) {
    CHECK(line_with(table, name).ends_with("0    0.00 %"));
  }
  CHECK(table.find("nan") == std::string::npos);
  CHECK(line_with(table, "bytes") == "bytes       0");
  CHECK_NOTHROW(render_table(report{}, {}));
}

TEST_CASE("of 256 byte values only those that occur are shown, with their character") {
  const std::string table = render_table(report_of({"bytes"}, std::string("A\n\t\r \0\x7f\xff", 8)), {});
  std::vector<std::string> names;
  for (const std::string& line : lines_of(table)) {
    if (line.starts_with("0x")) names.push_back(std::regex_replace(line, std::regex(" +1 +12.50 %.*"), ""));
  }
  CHECK(names == keys{"0x00", "0x09 \\t", "0x0a \\n", "0x0d \\r", "0x20 ' '", "0x41 A", "0x7f", "0xff"});
}

TEST_CASE("schemes have headings where there are several") {
  const std::string both = render_table(report_of({"letters", "classes"}, "a"), {});
  CHECK(line_with(both, "letters") == "letters");
  CHECK(line_with(both, "classes") == "classes");
  CHECK(line_with(render_table(report_of({"letters"}, "a"), {}), "letters").empty());
}

TEST_CASE("several inputs have a row each, and every incomplete one is named with its error") {
  report what = empty_report({"letters"});
  add_input(what, "one.log", "abc\n");
  add_input(what, "evil\x1b[2J\nname\xff", "a", "zz\n", "damaged\nat 17");
  const std::string table = render_table(what, {});
  CHECK(line_with(table, "one.log") == "one.log                      4      1  ok");
  CHECK(line_with(table, "evil") == "evil\\x1b[2J\\x0aname\\xff      1      0  INCOMPLETE");
  CHECK(line_with(table, "INCOMPLETE") == "INCOMPLETE  evil\\x1b[2J\\x0aname\\xff: damaged\\x0aat 17");
  CHECK(line_with(table, "unverified") == "unverified  3 (1 line)");
  CHECK(line_with(table, "bytes") == "bytes       5");
}

TEST_CASE("a complete run of one input is not burdened with inputs, faults or unverified bytes") {
  const std::string table = render_table(report_of({"letters"}, "abc\n"), {});
  CHECK(table.find("INCOMPLETE") == std::string::npos);
  CHECK(table.find("unverified") == std::string::npos);
  CHECK(table.find("input") == std::string::npos);
}

TEST_CASE("a run that was ended early says so even where no input failed") {
  report what = report_of({"letters"}, "abc");
  what.complete = false;
  CHECK(line_with(render_table(what, {}), "INCOMPLETE") == "INCOMPLETE  not everything was counted");
  what.inputs[0].complete = false;
  CHECK(line_with(render_table(what, {}), "INCOMPLETE") == "INCOMPLETE  input: not counted to its end");
}

TEST_CASE("a snapshot table begins with its time and length, and counts what is provisional, too") {
  report what = empty_report({"letters"});
  add_input(what, "one", std::string(1234555, 'a'), std::string(12, 'e'));
  what.what = report::kind::snapshot;
  what.elapsed_seconds = 3.04;
  what.complete = false;
  const std::string table = render_table(what, {});
  CHECK(lines_of(table).front() == "snapshot 3.0 s: 1,234,567 bytes (12 provisional)");
  CHECK(line_with(table, "e-h").starts_with("e-h            12    0.00 %"));
  CHECK(line_with(table, "bytes") == "bytes       1,234,567");
  CHECK(table.find("INCOMPLETE") == std::string::npos);
}

TEST_CASE("the statistics for people have a line a stage and end with what limited the run") {
  run_stats stats = some_stats();
  const std::string text = render_stats(stats, {});
  CHECK(line_with(text, "engine") == "engine      host (no CUDA device)");
  CHECK(line_with(text, "kernel") == "kernel      ranges/AVX3, 2 threads, ready after 0.000 s");
  CHECK(line_with(text, "chunks") == "chunks      4 chunks through 16 slots of 256 KiB, 2 threads");
  CHECK(line_with(text, "stage") == "stage  bytes   busy s  waiting s  workers    busy");
  CHECK(line_with(text, "read") == "read   1,000    0.500      0.250        1   50.0 %");
  CHECK(line_with(text, "count") == "count  1,000    0.750      0.125        2   37.5 %");
  CHECK(line_with(text, "device").empty());
  CHECK(lines_of(text).back() == "limited by: read: busy 50 % of the time");
  stats.counting.timeline = {4, 3, 2, 1};
  CHECK(line_with(render_stats(stats, {}), "device") ==
        "device      4.000 s: copies busy 3.000 s, kernels busy 2.000 s, both at once 1.000 s");
  CHECK_NOTHROW(render_stats(run_stats{}, {}));
}

TEST_CASE("what is printed is safe on a terminal, and what is harmless is left alone") {
  CHECK(printable("plain caf\xc3\xa9 \xe2\x82\xac \\ \"") == "plain caf\xc3\xa9 \xe2\x82\xac \\ \"");
  CHECK(printable("\x1b[31m\n\t\x7f") == "\\x1b[31m\\x0a\\x09\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\xc2\\x9b31m");  // CSI in one code point
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");
  CHECK(printable("a\xffz\xc3") == "a\\xffz\\xc3");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");
  CHECK(printable("") == "");
}

TEST_CASE("the table of formats is found by name") {
  CHECK(report_formats().size() == 2);
  for (const report_format& each : report_formats()) CHECK(find_report_format(each.name) == &each);
  CHECK((find_report_format("table")->render == &render_table));
  CHECK((find_report_format("json")->render == &render_json));
  CHECK(find_report_format("xml") == nullptr);
  CHECK(find_report_format("") == nullptr);
}
