// Rows for programs: JSON lines and CSV have the same values.
#include "bench/table.hpp"

#include "tests/support/texts.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace gpuhist::bench;
using gpuhist::test::lines_of;

namespace {

const machine device{.device = "GPU \"X\", 80 GB", .multiprocessors = 132, .l2_bytes = 1};

measured_group sample() {
  const measurement read{.kernel = "read", .kind = role::ceiling, .runs = 3, .median = 1, .least = 1, .most = 2};
  const measurement count{
      .kernel = "lane_private", .runs = 3, .median = 2, .least = 1.5, .most = 3, .counts = verdict::right};
  const measurement wrong{.kernel = "bad", .runs = 3, .median = 2, .least = 2, .most = 2, .counts = verdict::wrong};
  return {.data = "text", .bytes = 1024, .counted = bins::letters, .rows = {read, count, wrong}};
}

}  // namespace

TEST_CASE("a JSON row is one object per line, with numbers that are not rounded") {
  const auto lines = lines_of(json_rows(sample(), device));
  REQUIRE(lines.size() == 3);
  const auto count = nlohmann::json::parse(lines[1]);
  CHECK(count["device"] == device.device);
  CHECK(count["data"] == "text");
  CHECK(count["bytes"] == 1024);
  CHECK(count["bins"] == "letters");
  CHECK(count["kernel"] == "lane_private");
  CHECK(count["role"] == "catalogue");
  CHECK(count["runs"] == 3);
  CHECK(count["median_seconds"] == 2.0);
  CHECK(count["least_seconds"] == 1.5);
  CHECK(count["most_seconds"] == 3.0);
  CHECK(count["bytes_per_second"] == 512.0);
  CHECK(count["of_ceiling"] == 0.5);
  CHECK(count["over_global_atomic"].is_null());
  CHECK(count["counts"] == "right");
  CHECK(nlohmann::json::parse(lines[0])["counts"].is_null());
}

TEST_CASE("a row of wrong counts is marked and has neither time nor rate") {
  const auto wrong = nlohmann::json::parse(lines_of(json_rows(sample(), device))[2]);
  CHECK(wrong["counts"] == "wrong");
  CHECK(wrong["median_seconds"].is_null());
  CHECK(wrong["bytes_per_second"].is_null());
}

TEST_CASE("CSV has the columns of the JSON rows in the same order, quoted if needed") {
  const auto heading = lines_of(csv_heading());
  const auto lines = lines_of(csv_rows(sample(), device));
  REQUIRE(heading.size() == 1);
  REQUIRE(lines.size() == 3);
  std::string names;
  const auto first = nlohmann::ordered_json::parse(lines_of(json_rows(sample(), device))[0]);
  for (const auto& [name, value] : first.items()) names.append(names.empty() ? "" : ",").append(name);
  CHECK(heading[0] == names);
  CHECK(lines[1] == R"("GPU ""X"", 80 GB",text,1024,letters,lane_private,catalogue,3,2.0,1.5,3.0,512.0,0.5,,,right)");
}
