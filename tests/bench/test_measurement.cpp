// Figures that are derived from measurements, and their tables.
#include "bench/summary.hpp"
#include "bench/table.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace gpuhist::bench;

namespace {

measurement row(std::string kernel, role kind, double seconds, verdict counts = verdict::right) {
  return {.kernel = std::move(kernel),
          .kind = kind,
          .runs = 31,
          .median = seconds,
          .least = seconds,
          .most = seconds,
          .counts = counts};
}

// 1 GB per second is one byte per nanosecond.
measured_group group(std::string data, double lane_private_seconds) {
  return {.data = std::move(data),
          .bytes = 1'000'000'000,
          .counted = bins::bytes,
          .rows = {row("read slow", role::ceiling, 0.50, verdict::uncounted),
                   row("read fast", role::ceiling, 0.25, verdict::uncounted), row("global_atomic", role::catalogue, 40),
                   row("lane_private", role::catalogue, lane_private_seconds), row("cub_even", role::peer, 0.75),
                   row("sequential_loop", role::host, 100)}};
}

std::size_t at(const std::string& text, std::string_view part) {
  const std::size_t found = text.find(part);
  CHECK_MESSAGE(found != std::string::npos, part << " is missing in\n" << text);
  return found;
}

}  // namespace

TEST_CASE("the ceiling is the fastest kernel that only reads") {
  const auto measured = group("text", 0.5);
  CHECK(measured.ceiling()->kernel == "read fast");
  CHECK(measured_group{}.ceiling() == nullptr);
}

TEST_CASE("figures are ratios of medians in one group") {
  const auto measured = group("text", 0.5);
  const figures derived = figures_of(measured, *measured.find("lane_private"));
  CHECK(*derived.bytes_per_second == 2e9);
  CHECK(*derived.of_ceiling == 0.5);
  CHECK(*derived.over_loop == 200);
  CHECK(*derived.over_global_atomic == 80);
}

TEST_CASE("a kernel with wrong counts, or that did not run, has no rate and no ratio") {
  auto measured = group("text", 0.5);
  measured.rows[2].runs = 0;
  measured.rows[3].counts = verdict::wrong;
  for (const std::size_t i : {2U, 3U}) {
    const figures derived = figures_of(measured, measured.rows[i]);
    CHECK_FALSE(derived.bytes_per_second);
    CHECK_FALSE(derived.of_ceiling);
    CHECK_FALSE(derived.over_loop);
    CHECK_FALSE(derived.over_global_atomic);
  }
  CHECK_FALSE(figures_of(measured, measured.rows[4]).over_global_atomic);
}

TEST_CASE("the table of a group is sorted, slowest first") {
  const std::string text = ladder(group("text", 0.5));
  CHECK(at(text, "sequential_loop") < at(text, "global_atomic"));
  CHECK(at(text, "global_atomic") < at(text, "cub_even"));
  CHECK(at(text, "cub_even") < at(text, "lane_private"));
  CHECK(at(text, "lane_private") < at(text, "  read fast"));
  at(text, "the ceiling is read fast, 4.0 GB/s");
}

TEST_CASE("the table of a group shows WRONG instead of a rate, and which kernels did not run") {
  auto measured = group("text", 0.4);
  CHECK(ladder(measured).find("2.5 ") != std::string::npos);  // GB/s of lane_private
  measured.rows[2].runs = 0;
  measured.rows[3].counts = verdict::wrong;
  const std::string text = ladder(measured);
  at(text, "WRONG counts in 31 runs");
  at(text, "not run: one would take about 40.0 s");
  CHECK(text.find("2.5 ") == std::string::npos);
}

TEST_CASE("the summary has shares of the ceiling, the spread over data sets, and the factor over the peer") {
  const std::array groups{group("text", 0.25), group("random", 0.5)};
  const std::string text = summary_of(groups);
  const std::string share = text.substr(at(text, "lane_private, of ceiling"), 100);
  CHECK(at(share, "1.000") < at(share, "0.500"));
  CHECK(at(share, "0.500") < at(share, "2.000"));
  const std::string factor = text.substr(at(text, "lane_private, times as fast as cub_even"), 100);
  CHECK(at(factor, "3.000") < at(factor, "1.500"));
  at(text, "6 measurements with right counts in every run");
}

TEST_CASE("a wrong count is found in every place, and named") {
  std::array groups{group("text", 0.25), group("random", 0.5)};
  CHECK_FALSE(any_wrong(groups));
  groups[1].rows[3].counts = verdict::wrong;
  CHECK(any_wrong(groups));
  const std::string text = summary_of(groups);
  at(text, "WRONG counts: lane_private, random, 953.7 MiB, bytes");
  at(text, "5 measurements with right counts in every run");
}
