// Results that are read back: they equal what was written, sums of several equal those of one run, and damage of any
// kind is reported with file and line and never counted.
#include "report/formats/result_file.hpp"

#include "report/formats/report_groups.hpp"
#include "report/units/group_addition.hpp"
#include "tests/pipeline/report_samples.hpp"
#include "tests/support/campaign.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <random>

using namespace gpuhist::pipeline;
using namespace gpuhist::report;
using namespace gpuhist::test;
using nlohmann::ordered_json;

namespace {

run_report sample(const std::string& name, std::string_view text) {
  run_report written = empty_report({"bytes"});
  written.byte_counts = true;
  add_input(written, name, text);
  add_input(written, "bad \xff\n", "ab", "zz\n", "frame 2 is damaged");
  change_input(written, 1, [&](auto& input) {
    input.compressed_bytes = 77;
    input.lost_ranges = {{.compressed_begin = 1,
                          .compressed_end = 20,
                          .text_offset = 3,
                          .unverified_bytes = 4,
                          .cause = "x\n",
                          .kind = failure_kind::refused}};
    input.number_of_lost_ranges = 9;
  });
  written.skipped = {{.cause = "FIFO", .count = 3, .first = ""}, {.cause = "symbolic link", .count = 5, .first = ""}};
  return written;
}

struct read_result {
  std::size_t results = 0;
  std::vector<std::string> faults;
  run_report sum;
};

read_result read(const std::string& path, letter_case wanted = letter_case::exact) {
  result_sum sum(wanted);
  sum.add_file(path);
  return {sum.results(), sum.errors(), sum.take()};
}

/// Reads a file with this content. The errors are returned without the file's name.
read_result read_text(const std::string& text, letter_case wanted = letter_case::exact) {
  const temporary_folder folder;
  const std::string path = folder.file("r", text);
  read_result read_back = read(path, wanted);
  for (std::string& each : read_back.faults) {
    CHECK(each.starts_with(path + ":"));
    each.erase(0, path.size() + 1);
  }
  return read_back;
}

/// The counts of a report by schemes, without how they were counted.
std::string comparable(run_report written) {
  const auto schemes = gpuhist::config::make_schemes({"classes", "utf8"}, false);
  written.schemes.clear();
  for (const auto& each : schemes) written.schemes.push_back(view_through(each, written.partition));
  written.byte_counts = false;
  return render_json(written, {});
}

}  // namespace

TEST_CASE("a result is read back unchanged, from JSON and from lines, including names and unverified counts") {
  const run_report written = sample("caf\xe9 \"x\"", "Hello,\nworld \xc3\xa9\n");
  for (const renderer render : {gpuhist::report::render_json, gpuhist::report::render_jsonl}) {
    const read_result read_back = read_text(rendered(render, written));
    CHECK(read_back.faults.empty());
    CHECK(read_back.results == 1);
    CHECK(comparable(read_back.sum) == comparable(written));
  }
}

TEST_CASE("several results are added, in one file or in many, and snapshots are skipped") {
  const run_report first = sample("1", "abc\n");
  const run_report second = sample("2", "xyz");
  run_report snapshot = first;
  snapshot.type = run_report::kind::snapshot;
  run_report both = first;
  both.verified += second.verified;
  both.unverified += second.unverified;
  for (const input_report& each : second.inputs) both.inputs.push_back(each);
  for (skipped_names& each : both.skipped) each.count *= 2;
  const read_result read_back = read_text(render_json(snapshot, {}) + render_jsonl(first, {}) + "\n" +
                                          render_json(snapshot, {}) + render_json(second, {}));
  CHECK(read_back.faults.empty());
  CHECK(read_back.results == 2);
  CHECK(comparable(read_back.sum) == comparable(both));
}

TEST_CASE("the kind of an input's failure is read back, and is unknown if a result does not contain it") {
  const run_report written = sample("1", "abc\n");
  const auto kinds = [](const std::string& text) {
    std::vector<failure_kind> all;
    for (const input_report& each : read_text(text).sum.inputs) all.push_back(each.error_kind);
    return all;
  };
  using found = std::vector<failure_kind>;
  ordered_json document = ordered_json::parse(render_json(written, {}));
  CHECK(kinds(document.dump()) == found{failure_kind::none, failure_kind::damaged});
  document["inputs"][1]["error_kind"] = "of a later version";
  CHECK(kinds(document.dump()) == found{failure_kind::none, failure_kind::unknown});
  document["inputs"][1].erase("error_kind");
  CHECK(kinds(document.dump()) == found{failure_kind::none, failure_kind::unknown});
}

TEST_CASE("the sum is complete only if all results are") {
  run_report good = report_of({"bytes"}, "abc");
  CHECK(read_text(render_json(good, {}) + render_json(good, {})).sum.complete);
  run_report bad = good;
  bad.complete = false;
  CHECK_FALSE(read_text(render_json(good, {}) + render_json(bad, {})).sum.complete);
}

TEST_CASE("without byte counts the scheme `bytes` is used, unless it folds case and case matters") {
  run_report written = report_of({"bytes"}, "aAb\n");
  const read_result read_back = read_text(render_json(written, {}));
  CHECK(read_back.sum.verified == written.verified);
  written.ignore_case = true;
  for (const renderer render : {gpuhist::report::render_json, gpuhist::report::render_jsonl}) {
    CHECK(read_text(rendered(render, written)).faults ==
          std::vector<std::string>(1, render == gpuhist::report::render_json
                                          ? "1: counted with --ignore-case, and no byte counts were kept; give "
                                            "--ignore-case, or count again with --byte-counts"
                                          : "1: input \"input\": counted with --ignore-case, and no byte counts were "
                                            "kept; give --ignore-case, or count again with --byte-counts"));
    CHECK(read_text(rendered(render, written), letter_case::ignored).faults.empty());
  }
  CHECK(read_text(render_json(report_of({"letters"}, "abc"), {})).faults ==
        std::vector<std::string>{"1: no byte counts were kept; count again with --byte-counts"});
}

TEST_CASE("damage is reported with its line, and the other results are still read") {
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
  run_report twice = read_text(good + good).sum;
  twice.complete = false;
  for (const auto& [line, message] : cases) {
    CAPTURE(line);
    const read_result read_back = read_text(good + line + "\n" + good);
    CHECK(read_back.faults ==
          (message.empty() ? std::vector<std::string>{} : std::vector<std::string>{"2: " + message}));
    CHECK(read_back.results == 2);
    CHECK(comparable(read_back.sum) == comparable(twice));
    CHECK(read_back.sum.verified.bytes() == 12);
    CHECK(read_back.sum.inputs.size() == 4);
  }
}

TEST_CASE("lines of inputs count with their result or not at all") {
  const run_report written = sample("1", "abc\n");
  const std::string text = render_jsonl(written, {});
  const std::vector<std::string> lines = lines_of(text);
  REQUIRE(lines.size() == 3);
  CHECK(read_text(lines[0] + "\n" + lines[1]).faults ==
        std::vector<std::string>{" ends with 2 lines of inputs, without their result"});
  CHECK(read_text(lines[0] + "\n" + lines[2]).faults ==
        std::vector<std::string>{"2: \"input_count\" is 2, but there is 1 line of inputs before it"});
  const read_result read_back = read_text(lines[0] + "\n" + lines[1].substr(0, 50) + "\n" + lines[2] + "\n" + text);
  CHECK(read_back.faults.size() == 1);
  CHECK(read_back.faults.front().starts_with("2: not valid JSON"));
  CHECK(read_back.results == 1);
  CHECK(read_back.sum.inputs.size() == 2);
}

TEST_CASE("text after damage is read as if the damage were not there, in either format") {
  const run_report written = sample("1", "abc\n");
  const std::string text = render_json(written, {});
  const std::string lines = render_jsonl(written, {});
  std::string damaged = text;
  damaged.replace(damaged.find("\"bytes\":6"), 9, "\"bytes\":7");
  for (const std::string& bad : {damaged, text.substr(0, text.size() / 2) + "\n", lines.substr(0, 100) + "\n"}) {
    for (const std::string& good : {text, text + lines}) {
      const read_result read_back = read_text(lines + bad + good);
      CHECK(read_back.faults.size() == 1);
      CHECK(read_back.faults.front().starts_with(lines.empty() ? "1: " : "4: "));
      run_report expected = read_text(lines + good).sum;
      expected.complete = false;
      CHECK(comparable(read_back.sum) == comparable(expected));
    }
  }
  CHECK(read_text(damaged + lines).results == 1);
}

TEST_CASE("fields may be in any order: folded case is recognized even after the inputs") {
  run_report written = report_of({"bytes"}, "aAb\n");
  add_input(written, "second", "B", "a", "damaged");
  const auto sorted = [&] {
    return nlohmann::json::parse(render_json(written, {})).dump() + "\n";
  };  // kind comes after inputs
  REQUIRE(sorted().find("\"inputs\"") < sorted().find("\"kind\""));
  CHECK(comparable(read_text(sorted()).sum) == comparable(read_text(render_json(written, {})).sum));
  written.ignore_case = true;
  std::string text = sorted();
  text.erase(text.find("\"ignore_case\":true,"), 19);
  text.insert(text.rfind('}'), ",\"ignore_case\":true");
  CHECK(read_text(text).faults == read_text(render_json(written, {})).faults);
  CHECK(read_text(text, letter_case::ignored).faults.empty());
  written.byte_counts = true;
  nlohmann::json document = nlohmann::json::parse(render_json(written, {}));
  document["inputs"][1]["unverified"].erase(
      "byte_counts");  // the unverified part of one input has only the scheme left
  for (const std::string& written : {document.dump(), document.dump().insert(1, "\"inputs\":[1,{}],")}) {
    CHECK(
        read_text(written).faults ==
        std::vector<std::string>{"1: input \"second\": counted with --ignore-case, and no byte counts were kept; give "
                                 "--ignore-case, or count again with --byte-counts"});
    CHECK(read_text(written, letter_case::ignored).sum.inputs.size() == 2);
  }
}

TEST_CASE("very many inputs are read from one line without being held in memory, and also from separate lines") {
  run_report written = sample("0", "abc\n");
  const int inputs = gpuhist::test::unless_sampled(3000, 300);
  for (int i = 1; i < inputs; ++i)
    add_input(written, std::to_string(i) + std::string(400, 'x'), "x" + std::to_string(i));
  for (const renderer render : {gpuhist::report::render_json, gpuhist::report::render_jsonl}) {
    const read_result read_back = read_text(rendered(render, written));
    CHECK(read_back.faults.empty());
    CHECK(comparable(read_back.sum) == comparable(written));
  }
}

TEST_CASE("no truncated result and none with a changed character is taken for another result") {
  const run_report written = sample("1", "abc\n");
  const std::string good = render_json(written, {});
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::string text = good;
    if (round % 2 == 0) {
      text.resize(random() % (good.size() - 2));
    } else {
      text[random() % (good.size() - 1)] = static_cast<char>('0' + random() % 10);
    }
    const read_result read_back = read_text(text);
    const bool same_counts =
        read_back.sum.verified == written.verified && read_back.sum.unverified == written.unverified;
    CHECK((read_back.results == 0 ? !read_back.faults.empty() : same_counts));
  }
}

TEST_CASE("a file without results and an absent file are reported with one error each") {
  const temporary_folder folder;
  const std::string remedy = "; give a file that was written by gpuhist --byte-counts --format json";
  CHECK(read_text("").faults == std::vector<std::string>{" not a result of gpuhist (it is empty)" + remedy});
  for (const char* const content : {"a line\nof text\n",
                                    "\x7f"
                                    "ELF\n\n\xff",
                                    "{}\n[]\n", "{\"schema\":\"else\"}\n{"}) {
    CHECK(read_text(content).faults == std::vector<std::string>{" not a result of gpuhist" + remedy});
  }
  run_report snapshot = sample("1", "abc\n");
  snapshot.type = run_report::kind::snapshot;
  CHECK(read_text(render_json(snapshot, {})).faults ==
        std::vector<std::string>{" contains no result, only lines of other kinds" + remedy});
  CHECK(read(folder / "none").faults == std::vector<std::string>{(folder / "none") + ": No such file or directory"});
  CHECK(read(folder / "").faults ==
        std::vector<std::string>{
            (folder / "") + ": not a result of gpuhist (it is a directory, without the total.json of a finished job)" +
            remedy});
}

TEST_CASE("a torn result names its line, and of many damaged lines ten are reported and the others counted") {
  const std::string good = render_json(sample("1", "abc\n"), {});
  const read_result torn = read_text(good.substr(0, good.size() / 2));
  REQUIRE(torn.faults.size() == 1);
  CHECK(torn.faults.front().starts_with("1: not valid JSON"));
  std::string damaged;
  for (int i = 0; i < 12; ++i) damaged += "{}\n";
  const read_result read_back = read_text(good + damaged + good);
  CHECK(read_back.results == 2);
  REQUIRE(read_back.faults.size() == 11);
  CHECK(read_back.faults[0].starts_with("2: "));
  CHECK(read_back.faults[9].starts_with("11: "));
  CHECK(read_back.faults[10] == " errors in 2 more lines");
}

namespace {

using gpuhist::report::units::group_counts;
using gpuhist::report::units::group_result;

group_counts lines_and_bytes(std::uint64_t lines) { return {.lines = lines, .bytes = 10 * lines}; }

group_result groups_of(const std::vector<std::pair<std::string, std::uint64_t>>& keys, std::uint64_t others) {
  group_result made{.all = lines_and_bytes(others)};
  made.by = "host";
  for (const auto& [key, lines] : keys) {
    made.groups.push_back({.key = key, .of = lines_and_bytes(lines)});
    gpuhist::report::units::add(made.all, lines_and_bytes(lines));
  }
  made.number_of_groups = keys.size() + (others > 0 ? 2 : 0);
  if (others > 0) made.other_groups = lines_and_bytes(others);
  return made;
}

/// "b 120, d 40..60"
std::string keys_of(const group_result& found) {
  std::string made;
  for (const auto& each : found.groups) {
    made += (made.empty() ? "" : ", ") + each.key + " " + std::to_string(each.of.lines);
    if (each.lines_at_most) made += ".." + std::to_string(*each.lines_at_most);
  }
  return made;
}

}  // namespace

TEST_CASE("a sum of groups has every line once, and states which numbers are exact") {
  gpuhist::report::units::group_addition added;
  added.add(groups_of({{"a", 90}, {"b", 50}, {"c", 20}}, 30));
  added.add(groups_of({{"b", 70}, {"d", 40}}, 0));
  const group_result sum = added.take();
  CHECK(keys_of(sum) == "b 120, a 90, d 40..60, c 20");
  CHECK(sum.other_groups->lines == 30);
  CHECK(sum.other_group_at_most == 20);
  CHECK(sum.number_of_groups == 5);
  CHECK(sum.number_is_least);
  CHECK(sum.all.lines == 300);
  CHECK(sum.all.bytes == 3000);

  gpuhist::report::units::group_addition again;  // a sum is a result, too
  again.add(groups_of({{"e", 5}}, 4));
  again.add(group_result(sum));
  const group_result second = again.take();
  CHECK(keys_of(second) == "b 120..124, a 90..94, d 40..64, c 20..24, e 5..25");
  CHECK(second.other_groups->lines == 34);
  CHECK(second.other_group_at_most == 24);

  gpuhist::report::units::group_addition alone;
  alone.add(group_result(sum));
  CHECK(keys_of(alone.take()) == keys_of(sum));
}

TEST_CASE("times of windows are read back as they were written, and other texts are no times") {
  std::mt19937_64 random(1);
  constexpr std::int64_t millisecond = 1'000'000;
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t time = static_cast<std::int64_t>(random() % 9'000'000'000'000) * millisecond;
    CHECK(time_of_utc_text(utc_text(time)) == time);
  }
  CHECK(time_of_utc_text("1970-01-01T00:00:01.500Z") == 1500 * millisecond);
  for (const std::string_view text :
       {"", "Z", "2025-10-10T13:58:00", "2025-10-10 13:58:00Z", "2025-13-10T13:58:00Z", "2025-02-30T13:58:00Z",
        "2025-10-10T13:58:00.1Z", "2025-10-10T13:58:00.0001Z", "2025-10-1aT13:58:00Z", "2025-10-10T13:58:00ZZ"}) {
    CAPTURE(text);
    CHECK_FALSE(time_of_utc_text(text));
  }
}
