// The inputs of a run in their order, the kinds of their failures, and the table of inputs: its columns, its order, and
// how many rows it has.
#include "async/event_loop.hpp"
#include "async/worker_pool.hpp"
#include "command/plan.hpp"
#include "config/expression.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/flow/inputs/input_list.hpp"
#include "report/formats/input_table.hpp"

#include "tests/pipeline/report_samples.hpp"
#include "tests/support/run_coroutine.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;
using namespace gpuhist::report;
using gpuhist::io::failure_kind_named;
using gpuhist::io::input_error;
using gpuhist::io::is_cut_short;
using gpuhist::io::name_of;
using namespace gpuhist::test;
using gpuhist::config::find_scheme;
using gpuhist::config::parse_formula;

TEST_CASE("a stop during the walk of a tree never loses a file without a report, however late it arrives") {
  const test::temporary_folder folder;
  std::filesystem::create_directory(folder / "tree");
  for (int i = 0; i < 5000; ++i) {
    std::filesystem::create_symlink("nowhere", folder / ("tree/link" + std::to_string(i)));
  }
  static_cast<void>(folder.file("tree/text", "text"));  // the last entry in their order
  config::options typed;
  typed.inputs = {folder / "tree"};
  typed.run.trees.emplace();
  typed.run.counting.counting_engine = gpuhist::engine::host;
  const plan planned = make_plan(typed);
  for (std::chrono::microseconds delay{0}; delay < std::chrono::milliseconds(10);
       delay += std::chrono::microseconds(50)) {
    CAPTURE(delay.count());
    async::event_loop loop;
    async::worker_pool pool(1);
    std::stop_source stop;
    input_list list(planned, loop, stop.get_token());
    std::vector<listed_input> all;
    {
      const std::jthread stopper([&] {
        std::this_thread::sleep_for(delay);
        stop.request_stop();
      });
      all = test::run(pool, list.next(10));
    }
    const std::vector<listed_input> unread = list.unreached();
    all.insert(all.end(), unread.begin(), unread.end());
    // a stop between the last file and the end of the walk leaves both: the file, and the tree that may hold more
    REQUIRE((all.size() == 1 || all.size() == 2));
    for (const listed_input& each : all) CHECK(each.error.is_none() == each.name.ends_with("text"));
    if (all.size() == 2) CHECK(all[0].name != all[1].name);
  }
}

TEST_CASE("each kind of failure has a unique name and is found by it") {
  std::set<std::string_view> names;
  for (unsigned i = 0; i <= static_cast<unsigned>(failure_kind::unknown); ++i) {
    const auto kind = static_cast<failure_kind>(i);
    CHECK(failure_kind_named(name_of(kind)) == kind);
    names.insert(name_of(kind));
  }
  CHECK(names.size() == static_cast<std::size_t>(failure_kind::unknown) + 1);
  CHECK_FALSE(failure_kind_named("not a kind"));
}

TEST_CASE("a failure has the kind of the exception, whatever its text") {
  const auto kind = [](const auto& thrown) { return failure_from(std::make_exception_ptr(thrown)).kind; };
  for (const char* words : {"not read", "stopped at offset 7", "frame 1 is damaged", ""}) {
    CAPTURE(words);
    CHECK(kind(input_error(words, 0)) == failure_kind::unreadable);
    CHECK(kind(input_error(words, 0, failure_kind::damaged)) == failure_kind::damaged);
    CHECK(kind(input_error(words, 7, failure_kind::refused)) == failure_kind::refused);
    CHECK(kind(std::runtime_error(words)) == failure_kind::unreadable);
  }
  CHECK(kind(std::bad_alloc()) == failure_kind::out_of_memory);
}

TEST_CASE("a failure that is thrown and caught again is the same failure") {
  for (const input_failure& each : {not_read(), left_at(0), left_at(12), not_verified_in_archive()}) {
    CHECK(failure_from(std::make_exception_ptr(as_error(each))) == each);
  }
}

TEST_CASE("a lack of memory or descriptors is not a property of the input") {
  for (const int each : {ENOMEM, EMFILE, ENFILE}) {
    CHECK(gpuhist::io::kind_of_errno(each) == failure_kind::out_of_memory);
  }
  for (const int each : {ENOENT, EACCES, EIO, EISDIR}) {
    CHECK(gpuhist::io::kind_of_errno(each) == failure_kind::unreadable);
  }
}

TEST_CASE("an input is cut short only if the run ended before it") {
  for (unsigned i = 0; i <= static_cast<unsigned>(failure_kind::unknown); ++i) {
    const auto kind = static_cast<failure_kind>(i);
    CHECK(is_cut_short(kind) == (kind == not_read().kind || kind == left_at(1).kind));
  }
}

namespace {

using strings = std::vector<std::string>;

gates::formula formula_of(const std::string& text) {
  static const std::vector schemes = {find_scheme("classes")};
  return {parse_formula(text, schemes), schemes};
}

input_column column_of(const std::string& text) {
  return {.type = input_column::kind::formula, .formula = formula_of(text)};
}

// Inputs "0", "1", ... with so many digits, and a letter in each.
run_report inputs_with_digits(const std::vector<unsigned>& digits) {
  run_report made = empty_report({"classes"});
  for (std::size_t i = 0; i < digits.size(); ++i) {
    add_input(made, std::to_string(i), "a" + std::string(digits[i], '1'));
  }
  return made;
}

strings table_of(const run_report& content, const input_listing& listing, unsigned height = 0, std::size_t others = 0) {
  const render_target target{.unicode = false, .width = 80, .height = height, .sections = {.listing = &listing}};
  std::string text;
  write_input_table(content, target, others, [&](std::string_view piece) { text += piece; });
  strings lines = lines_of(text);
  CHECK(lines.back().empty());
  lines.pop_back();
  return lines;
}

// The names in the table, in order.
strings names_in(const run_report& content, const input_listing& listing) {
  strings names;
  for (const std::string& line : table_of(content, listing)) names.push_back(line.substr(0, line.find(' ')));
  names.erase(names.begin());
  if (!names.empty() && names.back() == "...") names.pop_back();
  return names;
}

}  // namespace

TEST_CASE("columns are those that were asked for, in that order, with the values of formulas and a dash for none") {
  run_report content = inputs_with_digits({3, 0});
  add_input(content, "empty", "");
  const input_listing listing{.columns = {{.type = input_column::kind::bytes},
                                          column_of("digit"),
                                          column_of("count(digit) * 2"),
                                          {.type = input_column::kind::share},
                                          {.type = input_column::kind::mostly}}};
  CHECK(table_of(content, listing) == strings{"input  bytes  digit  count(digit) * 2    share         mostly",
                                              "0          4   0.75                 6  80.00 %   digit 75.0 %",
                                              "1          1      0                 0  20.00 %  lower 100.0 %",
                                              "empty      0      -                 0   0.00 %              -"});
}

TEST_CASE("columns that were asked for are never left out, and outside a terminal names are not cut") {
  run_report content = empty_report({"classes"});
  add_input(content, std::string(100, 'n'), "a");
  const std::string numbers = "      0                              1,000,001";
  const input_listing listing{.columns = {column_of("digit"), column_of("count(lower) + count(upper) + 1000000")}};
  CHECK(table_of(content, listing)[1] == std::string(100, 'n') + numbers);
  for (const input_listing& each : {input_listing{.top = 1}, input_listing{.order = formula_of("bytes")}}) {
    CHECK(table_of(content, each)[1].starts_with(std::string(100, 'n') + " "));
  }
  CHECK(table_of(content, {})[1].find("...") != std::string::npos);
  const auto on_terminal = [&](unsigned width) {
    std::string text;
    const render_target terminal{.width = width, .terminal = true, .sections = {.listing = &listing}};
    write_input_table(content, terminal, 0, [&](std::string_view piece) { text += piece; });
    return lines_of(text)[1];
  };
  CHECK(on_terminal(80).size() == 80);  // the name is cut
  CHECK(on_terminal(80).ends_with(numbers));
  CHECK(on_terminal(20) == std::string(100, 'n') + numbers);  // cutting it would not help
}

TEST_CASE("numbers in cells: whole ones have all digits, negative ones too, others have six") {
  run_report content = inputs_with_digits({2});
  const std::string row =
      table_of(content, {.columns = {column_of("bytes - 1234570"), column_of("bytes * 4000000000000"),
                                     column_of("bytes / 7"), column_of("-digit")}})[1];
  CHECK(row == "0           -1,234,567     12,000,000,000,000   0.428571  -0.666667");
}

TEST_CASE("inputs with the highest value are first, those without a value last, and equal ones keep their order") {
  run_report content = inputs_with_digits({5, 9, 0, 9});
  add_input(content, "none", "");
  add_input(content, "some", "1a");
  add_input(content, "empty", "");
  CHECK(names_in(content, {.order = formula_of("digit")}) == strings{"1", "3", "0", "some", "2", "none", "empty"});
  CHECK(names_in(content, {.order = formula_of("-digit")}) == strings{"2", "some", "0", "1", "3", "none", "empty"});
  CHECK(names_in(content, {.order = formula_of("1 / 0")}) == strings{"0", "1", "2", "3", "none", "some", "empty"});
  CHECK(names_in(content, {}) == strings{"0", "1", "2", "3", "none", "some", "empty"});
}

TEST_CASE("the first inputs of an order are those of a stable sort, for any number of inputs and rows") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<unsigned> digits(random() % 40 + 1);
    for (unsigned& each : digits) each = random() % 8;
    const std::size_t top = random() % 45 + 1;
    std::vector<std::size_t> expected(digits.size());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = i;
    std::ranges::stable_sort(expected, [&](std::size_t a, std::size_t b) { return digits[a] > digits[b]; });
    expected.resize(std::min(top, expected.size()));
    strings names;
    for (const std::size_t each : expected) names.push_back(std::to_string(each));
    CHECK(names_in(inputs_with_digits(digits), {.order = formula_of("count(digit)"), .top = top}) == names);
  }
}

TEST_CASE("a table with fewer rows than inputs ends with the number of the others") {
  const run_report content = inputs_with_digits(std::vector<unsigned>(1500, 1));
  CHECK(table_of(content, {.top = 2}).back() == "... and 1,498 more (--top all shows all)");
  CHECK(table_of(content, {.top = 1500}).size() == 1501);
  CHECK(table_of(content, {.top = 4'000'000'000}).size() == 1501);
}

TEST_CASE("on a terminal there are as many rows as fit beside the other lines, but at least ten") {
  const auto lines = [](std::size_t inputs, unsigned height, std::size_t others) {
    return table_of(inputs_with_digits(std::vector<unsigned>(inputs, 1)), {}, height, others).size();
  };
  for (const unsigned height : {30U, 40U}) {
    CHECK(lines(40, height, 10) == height - 10 - 2);  // an empty line and the prompt
  }
  CHECK(lines(40, 24, 20) == 1 + 10 + 1);
  CHECK(lines(40, 3, 0) == 1 + 10 + 1);
  CHECK(lines(40, 100, 10) == 1 + 40);
  CHECK(lines(40, 0, 1000) == 1 + 40);
  const unsigned all_fit = 20 + 3;  // the heading, an empty line and the prompt
  CHECK(lines(20, all_fit, 0) == 1 + 20);
  CHECK(lines(20, all_fit - 1, 0) == 1 + 18 + 1);
  const run_report content = inputs_with_digits(std::vector<unsigned>(40, 1));
  CHECK(table_of(content, {.top = 40}, 20, 0).size() == 41);
  CHECK(table_of(content, {.order = formula_of("bytes")}, 30, 0).back() == "... and 14 more (--top all shows all)");
}

TEST_CASE("rows that are wider than a terminal count as several lines of it") {
  run_report content = empty_report({"classes"});
  for (int i = 0; i < 100; ++i) add_input(content, std::string(70, 'n'), "a");
  std::vector<input_column> wide(12, column_of("digit + 1234567"));
  const input_listing listing{.columns = std::move(wide)};  // 70 + 12 * 17 columns: four lines of a terminal
  std::string text;
  const render_target terminal{.width = 80, .height = 104, .terminal = true, .sections = {.listing = &listing}};
  write_input_table(content, terminal, 0, [&](std::string_view piece) { text += piece; });
  CHECK(lines_of(text).size() == 1 + 100 / 4 + 2);
}

TEST_CASE("an input that failed is marked in the rows") {
  run_report content = inputs_with_digits({1, 2});
  add_input(content, "bad", "a11111", "", "damaged");
  const strings all = table_of(content, {.order = formula_of("bytes")});
  CHECK(all[1].starts_with("bad "));
  CHECK(all[1].ends_with("INCOMPLETE"));
  CHECK(all[2].ends_with("ok"));
  const strings without_it = table_of(content, {.order = formula_of("-bytes"), .top = 2});
  CHECK(without_it[1].ends_with(" %"));  // no column for the state
  content.type = run_report::kind::snapshot;
  CHECK(table_of(content, {}).back().ends_with(" %"));
}

TEST_CASE("a snapshot is sorted by the counts that it shows, unverified text included") {
  run_report content = empty_report({"classes"});
  add_input(content, "verified", "aaa");
  add_input(content, "growing", "a", "aaaa");
  const input_listing by_bytes{.order = formula_of("bytes")};
  CHECK(names_in(content, by_bytes) == strings{"verified", "growing"});
  content.type = run_report::kind::snapshot;
  CHECK(names_in(content, by_bytes) == strings{"growing", "verified"});
}

TEST_CASE("only measures need the counts of all byte values") {
  CHECK_FALSE(input_listing{}.needs_byte_counts());
  CHECK_FALSE(input_listing{.columns = {column_of("digit")}, .order = formula_of("bytes")}.needs_byte_counts());
  CHECK(input_listing{.columns = {column_of("digit + entropy")}}.needs_byte_counts());
  CHECK(input_listing{.order = formula_of("mean")}.needs_byte_counts());
}
