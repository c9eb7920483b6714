// Reports of finished inputs are spilled and read back unchanged, in the order of the inputs.
#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "report/formats/pending_inputs.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;
using namespace gpuhist::report;

namespace {

constexpr std::size_t classes = 7;

input_report sample(unsigned seed) {
  std::mt19937_64 chosen(seed);
  input_report input;
  input.name = std::string(chosen() % 300, static_cast<char>(chosen())) + "\n\xff";
  input.format = seed % 3 == 0 ? "zstd" : "raw";
  if (seed % 3 == 0) input.compressed_bytes = chosen();
  input.complete = seed % 2 == 0;
  input.error = input.complete ? "" : std::string(chosen() % 50, 'e');
  input.error_kind = static_cast<failure_kind>(seed % (static_cast<unsigned>(failure_kind::unknown) + 1));
  input.error_origin = static_cast<failure_origin>(seed % 3);
  input.verified = gpu::tally(classes);
  input.unverified = gpu::tally(classes);
  for (std::uint64_t& each : input.verified.counts) each = chosen() % 2 == 0 ? 0 : chosen() >> (chosen() % 64);
  if (seed % 5 == 0) input.unverified.counts[chosen() % classes] = std::numeric_limits<std::uint64_t>::max();
  if (seed % 11 == 0) {
    input.lost_ranges = {{.compressed_begin = chosen(),
                          .compressed_end = 2,
                          .text_offset = 3,
                          .unverified_bytes = 4,
                          .cause = "",
                          .kind = failure_kind::refused},
                         {.compressed_begin = 0, .compressed_end = chosen(), .cause = "damaged"}};
    input.number_of_lost_ranges = chosen();
  }
  if (seed % 4 == 0) {
    utf8_report& found = input.utf8.emplace();
    found.counts = {.malformed = chosen(), .malformed_bytes = 1, .code_points = chosen() % 1000};
    for (std::uint64_t& each : found.counts.scripts) each = chosen() >> (chosen() % 64);
    if (seed % 8 == 0) found.first_malformed = chosen();
    if (seed % 8 == 0) found.first_malformed_line = seed + 1;
  }
  if (seed % 7 == 0) {
    observed_numbers& found = input.observed.emplace();
    found.lines = chosen();
    found.matches.resize(seed % 4);
    for (observed_numbers::matched& each : found.matches)
      each = {.lines = chosen() >> (chosen() % 64), .bytes = chosen()};
    found.values = {std::nullopt, -0.5 * static_cast<double>(seed), 1e300};
    found.values.resize(seed % 5);
    if (seed % 2 == 0) {
      found.first_lines = {std::nullopt, observed_line{.line = chosen(), .offset = seed, .text = "\xff\n"}};
    }
  }
  for (unsigned kind = 0; kind < seed % 3; ++kind) {
    input.notices.push_back({.kind = static_cast<io::notice_kind>(kind), .text = std::string(chosen() % 200, 'n')});
  }
  return input;
}

}  // namespace

TEST_CASE("an unpacked report of an input equals the packed one") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const input_report input = sample(seed);
    CHECK(unpacked_report(packed_report(input), classes) == input);
  }
  CHECK(unpacked_report(packed_report({}), 0) == input_report{});
}

TEST_CASE("a small file's report takes few bytes") {
  input_report input;
  input.name = "logs/2026-03-11/host-12.log";
  input.format = "raw";
  input.verified = gpu::tally(256);
  input.unverified = gpu::tally(256);
  for (std::size_t i = 0; i < 40; ++i) input.verified.counts[32 + 2 * i] = 100 + i;
  CHECK(packed_report(input).size() < 160);
}

TEST_CASE("reports are read back in the order of the inputs, from memory and from a file, whichever ended first") {
  for (const std::size_t in_memory : {std::size_t{0}, std::size_t{1000}, std::size_t{1} << 20U}) {
    CAPTURE(in_memory);
    const auto finished = std::make_shared<finished_inputs>(classes, in_memory);
    constexpr unsigned number = 300;
    std::vector<finished_inputs::location> locations(number);
    for (unsigned i = number; i > 0; --i) locations[i - 1] = finished->spill(sample(i - 1));
    for (const finished_inputs::location each : locations) finished->append(each);
    input_reports all(finished, number);
    all.push_back(sample(number));
    all.push_back(locations[5], false);
    CHECK(all.size() == number + 2);
    unsigned seed = 0;
    for (const input_report& each : all) {
      CHECK(each == sample(seed == number + 1 ? 5 : seed));
      ++seed;
    }
    CHECK(seed == number + 2);
    CHECK(all[17] == sample(17));
  }
}

TEST_CASE(
    "without a folder for the file, memory is filled up to its limit, then an error names folder, cause and remedy") {
  const test::temporary_folder folder;
  spilled_bytes bytes(100, {.path = folder / "none"});
  bytes.append(std::string(50, 'a'));
  bytes.append(std::string(50, 'b'));
  for (int times = 0; times < 2; ++times) {
    CHECK_THROWS_WITH_AS(bytes.append("c"),
                         ("the reports of finished inputs need a temporary file in " + (folder / "none") +
                          ": No such file or directory; make room there, or give another --temporary-folder")
                             .c_str(),
                         spill_error);
    CHECK(bytes.held() == 100);
  }
  CHECK(bytes.read(0, 100) == std::string(50, 'a') + std::string(50, 'b'));
  std::filesystem::create_directory(folder / "none");
  CHECK(bytes.append("c") == 100);  // works as soon as there is a folder
  CHECK(bytes.read(49, 1) == "a");
  CHECK(bytes.read(50, 50) == std::string(50, 'b'));
  CHECK(bytes.read(100, 1) == "c");
}

// Limits the size of files while this exists.
class largest_file {
 public:
  explicit largest_file(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit lowered{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &lowered);
  }
  largest_file(const largest_file&) = delete;
  largest_file& operator=(const largest_file&) = delete;
  ~largest_file() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  void (*signal_)(int);
  rlimit before_{};
};

TEST_CASE("a file that takes only part of a write loses nothing: after the error all bytes are where they were") {
  const test::temporary_folder folder;
  spilled_bytes bytes(100, {.path = folder / ""});
  bytes.append(std::string(100, 'a'));
  {
    const largest_file small(150);
    bytes.append(std::string(100, 'b'));
    CHECK_THROWS_AS(bytes.append("c"), spill_error);
    CHECK(bytes.held() == 100);
    CHECK(bytes.size() == 200);
  }
  CHECK(bytes.append("c") == 200);
  CHECK(bytes.read(0, 100) == std::string(100, 'a'));
  CHECK(bytes.read(100, 100) == std::string(100, 'b'));
  CHECK(folder.entries() == 0);
}

TEST_CASE("if reports of finished inputs find no room, counts are right but incomplete, and a stop is requested") {
  const test::temporary_folder folder;
  rolling_counts counts(gpu::partition::identity(), gpu::partition::identity(), {}, {.path = folder / "none"});
  std::stop_source stop;
  counts.stop_on_failure(stop);
  std::vector<std::uint32_t> row(256);
  row['x'] = 3;
  input_id opened = 0;
  while (!stop.stop_requested()) {
    const input_id next = counts.open_input(std::string(4000, 'n') + std::to_string(opened++));
    const segment part{.owner = {.input = next}, .extent = {0, 3}};
    CHECK_FALSE(counts.merge({&part, 1}, row).failure);
    counts.finish(next, 3);
    REQUIRE(opened < 1000);  // memory holds about a quarter of that
  }
  CHECK_THROWS_AS(std::rethrow_exception(counts.failure()), spill_error);
  run_counts current = counts.counts();
  CHECK_FALSE(current.complete);
  CHECK(current.verified.counts['x'] == 3 * opened);
  CHECK(current.inputs.size() == opened);
  for (const input_report& each : current.inputs) CHECK(each.verified.counts['x'] == 3);
}

TEST_CASE("without the name of a folder, all bytes stay in memory") {
  spilled_bytes bytes(10, {.path = ""});
  for (int i = 0; i < 10; ++i) bytes.append(std::string(100, static_cast<char>('a' + i)));
  CHECK(bytes.held() == 1000);
  CHECK(bytes.read(350, 3) == "ddd");
}

TEST_CASE("the spill file leaves nothing in its folder, and memory holds at most its limit") {
  const test::temporary_folder folder;
  spilled_bytes bytes(1000, {.path = folder / ""});
  std::string all;
  for (int i = 0; i < 500; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 90), static_cast<char>('a' + i % 26));
    CHECK(bytes.append(piece) == all.size());
    all += piece;
    CHECK(bytes.held() <= 1000);
  }
  CHECK(folder.entries() == 0);
  CHECK(bytes.read(0, 500) == all.substr(0, 500));
  CHECK(bytes.read(all.size() - 10, 100) == all.substr(all.size() - 10));
}

TEST_CASE("reports that were spilled last can be dropped, from memory and from a file, and others take their place") {
  for (const std::size_t in_memory : {std::size_t{0}, std::size_t{2000}, std::size_t{1} << 20U}) {
    CAPTURE(in_memory);
    const auto finished = std::make_shared<finished_inputs>(classes, in_memory);
    std::vector<unsigned> expected;
    std::mt19937 chosen(7);
    for (unsigned seed = 0; seed < 400;) {
      pending_inputs pending(*finished, gpu::tally(classes));
      gpu::tally sum(classes);
      for (auto number = chosen() % 6; number > 0; --number) {
        pending.add(sample(++seed));
        sum += sample(seed).verified;
        expected.push_back(seed);
      }
      CHECK(pending.verified() == sum);
      if (chosen() % 2 == 0) {
        pending.keep();
        CHECK(pending.size() == 0);
      } else {
        expected.resize(expected.size() - pending.size());  // dropped at the end of `pending`
      }
    }
    REQUIRE(expected.size() > 100);
    const input_reports all(finished, expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(all[i] == sample(expected[i]));
  }
}

TEST_CASE("inputs of several results that are added in turns have the order in which their results are kept") {
  for (const std::size_t in_memory : {std::size_t{0}, std::size_t{1} << 20U}) {
    CAPTURE(in_memory);
    const auto finished = std::make_shared<finished_inputs>(classes, in_memory);
    std::vector<unsigned> expected;
    std::mt19937 chosen(11);
    constexpr std::size_t number = 5;
    std::deque<pending_inputs> pending;
    for (std::size_t i = 0; i < number; ++i) pending.emplace_back(*finished, gpu::tally(classes));
    std::vector<std::vector<unsigned>> seeds(number);
    unsigned seed = 0;
    const auto add_to = [&](std::size_t i) {
      pending[i].add(sample(++seed));
      seeds[i].push_back(seed);
    };
    for (int step = 0; step < 2000; ++step) {
      const std::size_t i = chosen() % number;
      if (const auto action = chosen() % 16; action > 1) {
        add_to(i);
        continue;
      } else if (action == 1) {
        expected.insert(expected.end(), seeds[i].begin(), seeds[i].end());
        pending[i].keep();
      } else {
        pending[i].drop();
      }
      CHECK(pending[i].size() == 0);
      seeds[i].clear();
    }
    for (int more = 0; more < 5000; ++more) add_to(more % 2 == 0 ? 0 : 1);  // more locations than memory holds
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      expected.insert(expected.end(), seeds[i].begin(), seeds[i].end());
      pending[i].keep();
    }
    const input_reports all(finished, expected.size());
    REQUIRE(finished->now().order_bytes == expected.size() * sizeof(finished_inputs::location));
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(all[i] == sample(expected[i]));
  }
}

TEST_CASE("--count-unverified applies to spilled inputs as to others") {
  const auto finished = std::make_shared<finished_inputs>(classes);
  input_report input = sample(1);
  input.unverified.counts[2] = 5;
  finished->append(finished->spill(input));
  input_reports all(finished, 1);
  all.push_back(input);
  all.count_unverified();
  for (const input_report& each : all) {
    CHECK(each.counted_unverified);
    CHECK(each.verified.counts[2] == input.verified.counts[2] + 5);
  }
}

TEST_CASE("inputs leave the rolling counts when all their text was merged, and their reports stay in order") {
  rolling_counts counts(gpu::partition::identity(), gpu::partition::identity(), {});
  constexpr input_id number = 100;
  std::vector<std::uint32_t> row(256);
  for (input_id i = 0; i < number; ++i) CHECK(counts.open_input("input " + std::to_string(i)) == i);
  for (input_id i = number; i-- > 0;) {
    row['x'] = i;
    const segment part{.owner = {.input = i}, .extent = {0, i}};
    if (i % 2 == 0) counts.finish(i, i);
    if (i > 0) CHECK_FALSE(counts.merge({&part, 1}, row).failure);
    if (i % 2 != 0) counts.fail(i, i, {.kind = failure_kind::stopped, .text = "left"});
    CHECK(counts.merged_bytes(i) == i);
    counts.set_format(i, "late");  // no effect: the input has finished
    run_counts current = counts.counts();
    CHECK(current.inputs.size() == number);
    CHECK_FALSE(current.complete);
  }
  CHECK(counts.inputs() == number);
  run_counts current = counts.counts();
  input_id i = 0;
  for (const input_report& each : current.inputs) {
    CHECK(each.name == "input " + std::to_string(i));
    CHECK(each.format == "unknown");
    CHECK(each.verified.counts['x'] == i);
    CHECK(each.complete == (i % 2 == 0));
    CHECK(each.error == (i % 2 == 0 ? "" : "left"));
    CHECK(each.error_kind == (i % 2 == 0 ? failure_kind::none : failure_kind::stopped));
    ++i;
  }
  CHECK(i == number);
  CHECK(counts.open_group(3) > 0);  // a group that begins after its input was damaged is dropped without harm
  counts.close_group(3, 1, {});
}
