// Lines, records and parts that count_files() passes through: those for which a condition holds, or all others.
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist {
namespace {

using content = pass_through_options::content;
using test::temporary_folder;
using testing::bytes_of;

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

std::string lines_of_x_and_y(std::size_t lines) {
  std::mt19937 random(7);
  std::string made;
  for (std::size_t i = 0; i < lines; ++i) {
    for (auto left = random() % 30; left > 0; --left) made += random() % 2 == 0 ? 'x' : 'y';
    made += '\n';
  }
  return made + "xxx";
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

std::string message_of(const file_options& options) {
  try {
    static_cast<void>(count_files(options));
  } catch (const error& thrown) {
    return thrown.what();
  }
  return "";
}

void ignore(std::span<const std::byte>) {}

}  // namespace

TEST_CASE("a filter passes the text of the units that it keeps through, and reports the others") {
  const temporary_folder folder;
  const std::string text = lines_of_x_and_y(5000);
  std::string packed;
  for (const std::byte each : test::zstd_frame_of(bytes_of(text))) packed += static_cast<char>(each);
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
      request({folder.file("text", lines_of_x_and_y(100))}, {.where = "s.x > 0.5", .filter = unit_filter::keep});
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
  file_options inputs = request({"x"}, keep);
  inputs.pass_through->sink = ignore;
  inputs.counting.units->each = unit_options::kind::input;
  CHECK(message_of(inputs) == "counting_options::units: units of a filter are lines, records or parts of a text");
}

}  // namespace gpuhist
