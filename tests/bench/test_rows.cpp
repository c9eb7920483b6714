// The command line of gpuhist-bench: its values, and errors with suggestions. Figures that are derived from
// measurements, their rows for programs and their tables; the number of runs and of buffers.
#include "bench/options.hpp"
#include "bench/schedule.hpp"
#include "bench/summary.hpp"
#include "bench/table.hpp"
#include "config/usage_error.hpp"

#include "tests/support/texts.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

using namespace gpuhist::bench;
using gpuhist::config::usage_error;
using gpuhist::test::lines_of;

namespace {

constexpr std::array<std::string_view, 3> known{"global_atomic", "lane_private", "cub_even"};
constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

constexpr std::array<std::string_view, 2> host_known{"ranges", "tables"};

request parse(const std::vector<std::string>& arguments) { return parse_options(arguments, known, host_known); }

kernels_options kernels(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "kernels");
  return std::get<kernels_options>(parse(arguments));
}

}  // namespace

TEST_CASE("without options everything is measured") {
  const kernels_options options = kernels({});
  CHECK(options.sizes == std::vector<std::uint64_t>{mib, 16 * mib, 1024 * mib, 4096 * mib});
  CHECK(options.data.size() == 5);
  CHECK(options.counted == std::vector{bins::letters, bins::bytes});
  CHECK(options.kernels.empty());
  CHECK(options.input.empty());
  CHECK(options.coarsening == 0);
  CHECK(options.format == output_format::table);
  CHECK_FALSE(options.variants);
}

TEST_CASE("lists are separated by commas, may be repeated, and have no duplicates") {
  const kernels_options options =
      kernels({"--sizes", "64K,1MiB", "--sizes=65536", "--data", "zipf,one-letter", "--bins", "bytes", "--kernel",
               "lane_private", "--kernel", "cub_even,lane_private"});
  CHECK(options.sizes == std::vector<std::uint64_t>{65536, mib});
  CHECK(options.data == std::vector{data_set::zipf, data_set::one_letter});
  CHECK(options.counted == std::vector{bins::bytes});
  CHECK(options.kernels == std::vector<std::string>{"lane_private", "cub_even"});
}

TEST_CASE("the other options of kernels, and of link") {
  const kernels_options options =
      kernels({"--input", "a,b.log", "--coarsening", "16", "--repetitions", "7", "--format", "csv", "--variants"});
  CHECK(options.input == "a,b.log");
  CHECK(options.coarsening == 16);
  CHECK(options.repetitions == 7);
  CHECK(options.format == output_format::csv);
  CHECK(options.variants);
  CHECK(std::get<link_options>(parse({"link", "--format", "json"})).format == output_format::json);
  CHECK(std::get<link_options>(parse({"link"})).format == output_format::table);
}

TEST_CASE("the options of host: its own kernels; by default a size in cache and a size in memory") {
  const auto all = std::get<host_options>(parse({"host"}));
  CHECK(all.sizes == std::vector<std::uint64_t>{mib / 4, 256 * mib});
  CHECK(all.data == std::vector{data_set::text, data_set::random, data_set::one_letter});
  CHECK(all.kernels.empty());
  const auto some = std::get<host_options>(parse(
      {"host", "--kernel", "tables", "--sizes", "4KiB", "--data", "zipf", "--repetitions", "3", "--format", "csv"}));
  CHECK(some.kernels == std::vector<std::string>{"tables"});
  CHECK(some.sizes == std::vector<std::uint64_t>{4096});
  CHECK(some.data == std::vector{data_set::zipf});
  CHECK(some.repetitions == 3);
  CHECK(some.format == output_format::csv);
  CHECK_THROWS_WITH_AS(parse({"host", "--kernel", "range"}), doctest::Contains("did you mean ranges?"), usage_error);
  CHECK_THROWS_AS(parse({"host", "--sizes", "4GiB"}), usage_error);
  CHECK_THROWS_AS(parse({"host", "--bins", "letters"}), usage_error);
}

TEST_CASE("the options of decompress: archives or none; numbers of threads in the given order") {
  const auto none = std::get<decompress_command>(parse({"decompress"}));
  CHECK(none.options.files.empty());
  CHECK(none.options.threads.empty());
  CHECK(none.options.rounds == 5);
  const auto some = std::get<decompress_command>(
      parse({"decompress", "a.zst", "--threads", "16,1", "b.gz", "--repetitions", "2", "--format", "json"}));
  CHECK(some.options.files == std::vector<std::filesystem::path>{"a.zst", "b.gz"});
  CHECK(some.options.threads == std::vector<unsigned>{16, 1});
  CHECK(some.options.rounds == 2);
  CHECK(some.format == output_format::json);
  CHECK_THROWS_AS(parse({"decompress", "--threads", "0"}), usage_error);
  CHECK_THROWS_WITH_AS(parse({"decompress", "--thread", "1"}), doctest::Contains("did you mean --threads?"),
                       usage_error);
}

TEST_CASE("the options of decode: a file replaces the data sets unless --data names some") {
  const auto decode = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "decode");
    return std::get<decode_command>(parse(arguments));
  };
  const decode_options none = decode({}).options;
  CHECK(none.data == std::vector{data_set::text, data_set::random, data_set::zipf, data_set::one_letter});
  CHECK_FALSE(none.level);
  CHECK(none.coded == codec::zstd);
  CHECK(none.frame_sizes == std::vector<std::uint64_t>{65536, mib, 8 * mib});
  CHECK(none.in_flight == std::vector<std::uint64_t>{3968 * mib});
  CHECK(none.distinct_bytes == 1024 * mib);
  CHECK(none.rounds == 5);
  CHECK(none.peer.empty());
  const decode_command some = decode({"--file", "a,b.log", "--level", "19", "--frame-sizes", "4KiB,1MiB", "--in-flight",
                                      "1GiB", "--in-flight=64MiB", "--distinct", "100MiB", "--repetitions", "2",
                                      "--peer", "lib/libnvcomp.so", "--format", "json"});
  CHECK(some.options.data.empty());
  CHECK(some.options.file == "a,b.log");
  CHECK(some.options.level == 19);
  CHECK(some.options.frame_sizes == std::vector<std::uint64_t>{4096, mib});
  CHECK(some.options.in_flight == std::vector<std::uint64_t>{1024 * mib, 64 * mib});
  CHECK(some.options.distinct_bytes == 100 * mib);
  CHECK(some.options.rounds == 2);
  CHECK(some.options.peer == "lib/libnvcomp.so");
  CHECK(some.format == output_format::json);
  CHECK(decode({"--codec", "gzip", "--level", "9"}).options.coded == codec::gzip);
  CHECK(decode({"--file", "log", "--data", "zipf"}).options.data == std::vector{data_set::zipf});
  for (const std::vector<std::string>& refused : {std::vector<std::string>{"--level", "0"},
                                                  {"--level", "23"},
                                                  {"--codec", "xz"},
                                                  {"--codec", "gzip", "--level", "10"},
                                                  {"--frame-sizes", "2GiB"},
                                                  {"--distinct", "4GiB"},
                                                  {"--in-flight", "1"},
                                                  {"--data", "prose"}}) {
    CAPTURE(refused.back());
    CHECK_THROWS_AS(decode(refused), usage_error);
  }
}

TEST_CASE("the error for a misspelled name suggests the nearest name") {
  const auto refused = [](const std::vector<std::string>& arguments, const char* meant) {
    CAPTURE(meant);
    CHECK_THROWS_WITH_AS(parse(arguments), doctest::Contains(meant), usage_error);
  };
  refused({"kernel"}, "did you mean kernels?");
  refused({"kernels", "--data", "texts"}, "--data: \"texts\" is not a known data set; did you mean text?");
  refused({"kernels", "--bins", "byte"}, "did you mean bytes?");
  refused({"kernels", "--kernel", "lane_privat"}, "did you mean lane_private?");
  refused({"kernels", "--format", "jsn"}, "did you mean json?");
  refused({"kernels", "--variant"}, "did you mean --variants?");
  refused({"link", "--fromat", "json"}, "did you mean --format?");
  refused({"link", "--sizes", "1MiB"}, "is not a known option of gpuhist-bench link");
}

TEST_CASE("invalid values are usage errors") {
  const auto refused = [](std::vector<std::string> arguments) {
    CAPTURE(arguments.back());
    arguments.insert(arguments.begin(), "kernels");
    CHECK_THROWS_AS(parse(arguments), usage_error);
  };
  CHECK_THROWS_AS(parse({}), usage_error);
  refused({"--sizes", "12 parsecs"});
  refused({"--sizes", "1023"});
  refused({"--coarsening", "0"});
  refused({"--coarsening", "2097153"});
  refused({"--repetitions", "many"});
  refused({"--repetitions"});
  refused({"stray"});
  refused({"--data", "zipf", "--input", "log"});
}

TEST_CASE("help may be requested in any place") {
  CHECK(std::get<help_text>(parse({"--help"})).text.find("link") != std::string::npos);
  CHECK(std::get<help_text>(parse({"kernels", "--help"})).text.find("--coarsening") != std::string::npos);
  CHECK(std::get<help_text>(parse({"kernels", "--variants", "-h"})).text.find("--sizes") != std::string::npos);
  CHECK(std::get<help_text>(parse({"link", "--help"})).text.find("--format") != std::string::npos);
}

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

TEST_CASE("the median is the middle value, or the mean of the two middle values") {
  CHECK(median({3}) == 3);
  CHECK(median({9, 1, 5}) == 5);
  CHECK(median({4, 1, 3, 100}) == 3.5);
}

TEST_CASE("there are at least two buffers, and together they are at least eight times the cache") {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
  constexpr std::uint64_t plenty = std::uint64_t{1} << 40U;
  CHECK(buffers_in_turn(mib, 50 * mib, plenty) == 400);
  CHECK(buffers_in_turn(16 * mib, 50 * mib, plenty) == 25);
  CHECK(buffers_in_turn(300 * mib, 50 * mib, plenty) == 2);
  CHECK(buffers_in_turn(4096 * mib, 50 * mib, plenty) == 2);
}

TEST_CASE("buffers never exceed the available memory") {
  CHECK(buffers_in_turn(1000, 1'000'000, 10 * 1024) == 10);  // 1000 bytes take 1024
  CHECK(buffers_in_turn(1024, 1'000'000, 1024) == 1);
  CHECK(buffers_in_turn(1024, 1'000'000, 1023) == 0);
}

TEST_CASE("runs fit into the budget; there is at least one, and not more than requested") {
  CHECK(repetitions_within(0.1, 0.001, 31) == 31);
  CHECK(repetitions_within(0.1, 0.02, 31) == 5);
  CHECK(repetitions_within(0.1, 2, 31) == 1);
  CHECK(repetitions_within(0.1, 0, 31) == 31);
}

TEST_CASE("an entrant with n runs takes part in n rounds, spread evenly") {
  for (const unsigned rounds : {1U, 2U, 31U, 100U}) {
    for (unsigned repetitions = 0; repetitions <= rounds; ++repetitions) {
      CAPTURE(rounds);
      CAPTURE(repetitions);
      unsigned first_half = 0;
      unsigned all = 0;
      for (unsigned round = 0; round < rounds; ++round) {
        if (!takes_part(round, repetitions, rounds)) continue;
        ++all;
        if (2 * round < rounds) ++first_half;
      }
      CHECK(all == repetitions);
      CHECK(2 * first_half + 2 >= repetitions);
      CHECK(2 * first_half <= repetitions + 2);
    }
  }
}

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
