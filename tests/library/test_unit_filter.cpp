// Filters of units: count_files() passes the lines, records and parts through for which a condition holds, or all
// others; a counter passes those of inputs that a program feeds to a callback.
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_strings.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist {
namespace {

using content = pass_through_options::content;
using test::temporary_folder;
using namespace testing;

std::string lines_of(unsigned seed, std::size_t lines) {
  std::mt19937 random(seed);
  std::string made;
  for (std::size_t i = 0; i < lines; ++i) {
    for (auto left = random() % 30; left > 0; --left) made += random() % 2 == 0 ? 'x' : 'y';
    made += '\n';
  }
  return made + "xxx";
}

// Units of a text, each with its last byte `delimiter`, except the last one.
std::vector<std::string> divided(std::string_view text, char delimiter) {
  std::vector<std::string> made;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find(delimiter), text.size() - 1) + 1;
    made.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return made;
}

bool is_mostly_x(const std::string& unit) {
  return 2 * std::ranges::count(unit, 'x') > static_cast<std::ptrdiff_t>(unit.size());
}

struct filtered {
  std::string text;
  std::vector<unit> reported;
  file_outcome outcome;
};

file_options request(std::vector<std::string> inputs, unit_options units) {
  return {.inputs = std::move(inputs),
          .counting = {.schemes = {"s:x=x"}, .units = std::move(units), .counting_engine = engine::host, .threads = 2},
          .pass_through = pass_through_options{.forwarded = content::text},
          .chunk_size = 1000};
}

filtered run(file_options options) {
  filtered made;
  options.pass_through->sink = [&](std::span<const std::byte> text) {
    made.text.append(reinterpret_cast<const char*>(text.data()), text.size());
  };
  file_events events;
  events.on_unit = [&](const unit& each) { made.reported.push_back(each); };
  made.outcome = count_files(options, events);
  return made;
}

void ignore(std::span<const std::byte>) {}

counting_options options_of(unit_filter filter, char delimiter = '\n') {
  return {.schemes = {"s:x=x"},
          .units =
              unit_options{
                  .each = unit_options::kind::record, .delimiter = delimiter, .where = "s.x > 0.5", .filter = filter},
          .counting_engine = engine::host,
          .threads = 2};
}

// By a plain loop: the lines that are mostly x, or all others.
std::string kept_of(std::string_view text, unit_filter filter) {
  std::string kept;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    const bool holds = 2 * std::ranges::count(line, 'x') > std::ssize(line);
    if (holds == (filter == unit_filter::keep)) kept += line;
    text.remove_prefix(line.size());
  }
  return kept;
}

input_options appends_to(std::string& kept, std::string format = "raw") {
  return {.format = std::move(format), .on_kept = [&kept](std::span<const std::byte> text) {
            kept.append(reinterpret_cast<const char*>(text.data()), text.size());
          }};
}

void feed(input& to, std::string_view text, std::size_t piece) {
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) to.feed(text.substr(0, piece));
}

// Calls the function when it is destroyed.
class at_end {
 public:
  explicit at_end(std::function<void()> called) : called_(std::move(called)) {}
  at_end(const at_end&) = delete;
  at_end& operator=(const at_end&) = delete;
  ~at_end() { called_(); }

 private:
  std::function<void()> called_;
};

}  // namespace

TEST_CASE("a filter passes the text of the units that it keeps through, and reports the others") {
  const temporary_folder folder;
  const std::string text = lines_of(7, 5000);
  const std::string packed = test::string_of(test::zstd_frame_of(bytes_of(text)));
  for (const std::string& path : {folder.file("text", text), folder.file("text.zst", packed)}) {
    for (const unit_filter filter : {unit_filter::keep, unit_filter::drop}) {
      CAPTURE(path);
      const filtered found = run(request({path}, {.where = "s.x > 0.5", .filter = filter}));
      std::string kept;
      std::vector<std::size_t> dropped;
      std::uint64_t selected = 0;
      const std::vector<std::string> units = divided(text, '\n');
      for (std::size_t i = 0; i < units.size(); ++i) {
        selected += is_mostly_x(units[i]) ? 1 : 0;
        if (is_mostly_x(units[i]) == (filter == unit_filter::keep)) {
          kept += units[i];
        } else {
          dropped.push_back(i + 1);
        }
      }
      CHECK(found.text == kept);
      std::vector<std::size_t> reported;
      for (const unit& each : found.reported) reported.push_back(each.number);
      CHECK(reported == dropped);
      CHECK(found.outcome.status == run_status::complete);
      CHECK(found.outcome.result.bytes() == text.size());
      const unit_summary summary = found.outcome.result.units().value();
      CHECK(summary.seen == units.size());
      CHECK(summary.selected == selected);
    }
  }
}

TEST_CASE("records and parts are filtered, and a unit that is longer than a chunk is held in memory or spilled") {
  const temporary_folder folder;
  const std::string longer(40'000'000, 'x');
  const std::string path = folder.file("text", "y;" + longer + ";yy;x");
  const unit_options records{
      .each = unit_options::kind::record, .delimiter = ';', .where = "s.x > 0.5", .filter = unit_filter::keep};
  for (const std::string& temporary : {std::string(), folder / ""}) {
    file_options options = request({path}, records);
    options.chunk_size = 1 << 20;
    options.counting.temporary_folder = temporary;
    const filtered found = run(options);
    CHECK(found.text == longer + ";x");
  }
  file_options missing = request({path}, records);
  missing.pass_through->sink = ignore;
  missing.counting.temporary_folder = folder / "missing";
  CHECK(message_of(missing).find("units that are not complete need a temporary file in " + (folder / "missing")) !=
        std::string::npos);
  const filtered parts = run(
      request({folder.file("parts", "xxyyxyxxx")},
              {.each = unit_options::kind::part, .part_bytes = 2, .where = "s.x > 0.5", .filter = unit_filter::drop}));
  CHECK(parts.text == "yyxy");
}

TEST_CASE("an exception of the sink ends the run") {
  const temporary_folder folder;
  file_options options =
      request({folder.file("text", lines_of(7, 100))}, {.where = "s.x > 0.5", .filter = unit_filter::keep});
  options.pass_through->sink = [](std::span<const std::byte>) { throw std::runtime_error("full"); };
  CHECK_THROWS_WITH_AS(static_cast<void>(count_files(options)), "full", std::runtime_error);
}

TEST_CASE("a filter requires a condition, the text to be passed through, and units that divide text") {
  const unit_options keep{.where = "s.x > 0.5", .filter = unit_filter::keep};
  file_options without_condition = request({"x"}, {.filter = unit_filter::drop});
  without_condition.pass_through->sink = ignore;
  CHECK(message_of(without_condition) == "unit_options::filter: requires unit_options::where");
  file_options without_output = request({"x"}, keep);
  without_output.pass_through.reset();
  CHECK(message_of(without_output) == "unit_options::filter: requires file_options::pass_through of text");
  file_options of_input = request({"x"}, keep);
  of_input.pass_through = pass_through_options{.forwarded = content::input, .sink = ignore};
  CHECK(message_of(of_input) == "unit_options::filter: requires file_options::pass_through of text");
  file_options windows = request({"x"}, keep);
  windows.pass_through->sink = ignore;
  windows.counting.units->each = unit_options::kind::window;
  windows.counting.windows = gpuhist::window_options{.length = 16};
  CHECK(message_of(windows) == "--each: units of a filter are lines, records, parts of a text, or inputs");
}

TEST_CASE("the text of the units that are kept is that of a plain loop, in pieces of any size") {
  const std::string text = lines_of(3, 10'000);
  for (const unit_filter filter : {unit_filter::keep, unit_filter::drop}) {
    const std::string expected = kept_of(text, filter);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{777}, text.size()}) {
      CAPTURE(piece);
      std::string kept;
      std::uint64_t reported = 0;
      counter counts(options_of(filter), {.on_unit = [&](const unit& each) { reported += each.bytes; }});
      input fed = counts.open_input("text", appends_to(kept));
      feed(fed, text, piece);
      fed.finish();
      CHECK(kept == expected);
      const results result = counts.finish();
      CHECK(result.complete());
      CHECK(result.bytes() == text.size());
      CHECK(reported == text.size() - kept.size());
    }
  }
}

TEST_CASE("text is kept within the calls of the thread that feeds, for each input by itself") {
  constexpr unsigned threads = 4;
  counter counts(options_of(unit_filter::keep));
  std::vector<std::string> kept(threads);
  std::vector<std::string> texts;
  for (unsigned i = 0; i < threads; ++i) texts.push_back(lines_of(20 + i, 5000));
  {
    std::vector<std::jthread> feeding;
    for (unsigned i = 0; i < threads; ++i) {
      feeding.emplace_back([&, i] {
        const auto own = std::this_thread::get_id();
        input fed = counts.open_input("same name", {.on_kept = [&, i, own](std::span<const std::byte> text) {
                                        if (std::this_thread::get_id() != own) return;
                                        kept[i].append(reinterpret_cast<const char*>(text.data()), text.size());
                                      }});
        feed(fed, texts[i], 300);
        fed.finish();
      });
    }
  }
  CHECK(counts.finish().complete());
  for (unsigned i = 0; i < threads; ++i) CHECK(kept[i] == kept_of(texts[i], unit_filter::keep));
}

TEST_CASE("compressed text is filtered, before damage too, and the end of an input that has failed") {
  const std::string text = lines_of(4, 30'000);
  auto packed = test::zstd_frame_of(bytes_of(text));
  std::string kept;
  std::string damaged;
  {
    counter counts(options_of(unit_filter::keep));
    input good = counts.open_input("good", appends_to(kept, "zstd"));
    good.feed(packed);
    good.finish();
    packed.back() ^= std::byte{1};  // of the checksum
    input bad = counts.open_input("bad", appends_to(damaged, "zstd"));
    bad.feed(packed);
    CHECK(bad.failed());
    bad.finish();
    CHECK_FALSE(counts.finish().complete());
  }
  CHECK(kept == kept_of(text, unit_filter::keep));
  CHECK(damaged == kept);
}

TEST_CASE("finish() and fail() pass the last unit, the destruction of an input and cancel() do not") {
  std::string finished;
  std::string failed;
  std::string dropped;
  std::string left_to_counter;
  std::string cancelled;
  counter counts(options_of(unit_filter::keep));
  input a = counts.open_input("a", appends_to(finished));
  a.feed("x\nxx");
  CHECK(finished == "");
  a.feed("xx\nyxx");
  CHECK(finished == "xxxx\n");
  a.finish();
  CHECK(finished == "xxxx\nyxx");
  input b = counts.open_input("b", appends_to(failed));
  b.feed("xxx\nxx");
  b.fail("lost");
  CHECK(failed == "xxx\nxx");
  {
    input c = counts.open_input("c", appends_to(dropped));
    c.feed("xxx\nxx");
  }
  CHECK(dropped == "xxx\n");
  input d = counts.open_input("d", appends_to(left_to_counter));
  d.feed("xxx\nxx");
  CHECK(counts.finish().inputs() == 4);
  CHECK(left_to_counter == "xxx\nxx");

  counter ended(options_of(unit_filter::keep));
  input e = ended.open_input("e", appends_to(cancelled));
  e.feed("xxx\nxx");
  ended.cancel();
  CHECK(error_of([&] { e.finish(); }) == errc::closed);
  CHECK_FALSE(ended.finish().complete());
  CHECK(cancelled == "xxx\n");
}

TEST_CASE("an exception of on_kept ends the counting, and is thrown by finish()") {
  counter counts(options_of(unit_filter::keep));
  unsigned calls = 0;
  input fed = counts.open_input("text", {.on_kept = [&](std::span<const std::byte>) {
                                  ++calls;
                                  throw std::runtime_error("full");
                                }});
  CHECK(error_of([&] { fed.feed("xxx\nxxx\n"); }) == errc::closed);
  CHECK(error_of([&] { fed.feed("xxx\n"); }) == errc::closed);
  CHECK_THROWS_WITH_AS(static_cast<void>(counts.finish()), "full", std::runtime_error);
  CHECK(calls == 1);

  counter at_finish(options_of(unit_filter::keep));
  input open = at_finish.open_input("text", {.on_kept = [](std::span<const std::byte>) { throw 5; }});
  open.feed("xxx");
  CHECK_THROWS_AS(static_cast<void>(at_finish.finish()), int);
}

TEST_CASE("in on_kept, calls of the counter and its inputs are refused; also when the function is destroyed") {
  counter counts(options_of(unit_filter::keep));
  std::optional<input> other = counts.open_input("other", {.on_kept = [](std::span<const std::byte>) {}});
  std::vector<std::optional<errc>> refusals;
  const auto call = [&] { refusals.push_back(error_of([&] { other->feed("x"); })); };
  auto held = std::make_shared<const at_end>(call);
  {
    input fed =
        counts.open_input("text", {.on_kept = [call, kept = std::move(held)](std::span<const std::byte>) { call(); }});
    CHECK(refusals.empty());
    fed.feed("xxx\n");
    CHECK(refusals.size() == 1);
  }
  CHECK(refusals == std::vector<std::optional<errc>>(2, errc::misuse));
  other->finish();
  CHECK_FALSE(counts.finish().complete());
}

TEST_CASE("a unit that is long is spilled to the temporary folder, and without one the counting fails") {
  const temporary_folder folder;
  const std::string longer(20'000'000, 'x');
  for (const std::string& temporary : {folder / "", folder / "missing"}) {
    counting_options options = options_of(unit_filter::keep, ';');
    options.temporary_folder = temporary;
    std::string kept;
    counter counts(options);
    input fed = counts.open_input("text", appends_to(kept));
    const std::optional<errc> refused = error_of([&] {
      feed(fed, "y;" + longer + ";yy;x", 1'000'000);
      fed.finish();
    });
    if (temporary == folder / "") {
      CHECK_FALSE(refused);
      CHECK(counts.finish().complete());
      CHECK(kept == longer + ";x");
    } else {
      CHECK(refused == errc::closed);
      CHECK(error_of([&] { counts.finish(); }) == errc::system);
    }
  }
}

TEST_CASE("on_kept and a filter require each other") {
  counter filters(options_of(unit_filter::keep));
  CHECK(error_of([&] { static_cast<void>(filters.open_input("text")); }) == errc::invalid_argument);
  std::string kept;
  counter counts(options_of(unit_filter::none));
  CHECK(error_of([&] { static_cast<void>(counts.open_input("text", appends_to(kept))); }) == errc::invalid_argument);
  CHECK(counts.finish().inputs() == 0);
}

}  // namespace gpuhist
