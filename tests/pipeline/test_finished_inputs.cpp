// Inputs that are over are kept out of memory, and come back as they were, in the order of the inputs.
#include "pipeline/reports/finished_inputs.hpp"
#include "pipeline/reports/input_reports.hpp"
#include "pipeline/reports/pending_inputs.hpp"
#include "pipeline/rolling_counts.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

constexpr std::size_t classes = 7;

input_report sample(unsigned seed) {
  std::mt19937_64 chosen(seed);
  input_report made;
  made.name = std::string(chosen() % 300, static_cast<char>(chosen())) + "\n\xff";
  made.format = seed % 3 == 0 ? "zstd" : "raw";
  if (seed % 3 == 0) made.compressed_bytes = chosen();
  made.complete = seed % 2 == 0;
  made.error = made.complete ? "" : std::string(chosen() % 50, 'e');
  made.error_kind = static_cast<failure_kind>(seed % (static_cast<unsigned>(failure_kind::unknown) + 1));
  made.verified = gpu::tally(classes);
  made.unverified = gpu::tally(classes);
  for (std::uint64_t& each : made.verified.counts) each = chosen() % 2 == 0 ? 0 : chosen() >> (chosen() % 64);
  if (seed % 5 == 0) made.unverified.counts[chosen() % classes] = std::numeric_limits<std::uint64_t>::max();
  if (seed % 11 == 0) {
    made.lost = {
        {.compressed_begin = chosen(), .compressed_end = 2, .text_offset = 3, .unverified_bytes = 4, .cause = ""},
        {.compressed_begin = 0, .compressed_end = chosen(), .cause = "damaged"}};
    made.lost_stretches = chosen();
  }
  return made;
}

/// $TMPDIR, while this lives.
class temporary_files_in {
 public:
  explicit temporary_files_in(const std::string& folder) : before_(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "") {
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
  temporary_files_in(const temporary_files_in&) = delete;
  temporary_files_in& operator=(const temporary_files_in&) = delete;
  ~temporary_files_in() { before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1); }

 private:
  std::string before_;
};

}  // namespace

TEST_CASE("a report of an input is unpacked as it was") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const input_report made = sample(seed);
    CHECK(unpacked_report(packed_report(made), classes) == made);
  }
  CHECK(unpacked_report(packed_report({}), 0) == input_report{});
}

TEST_CASE("a small file's report takes few bytes") {
  input_report made;
  made.name = "logs/2026-03-11/host-12.log";
  made.format = "raw";
  made.verified = gpu::tally(256);
  made.unverified = gpu::tally(256);
  for (std::size_t i = 0; i < 40; ++i) made.verified.counts[32 + 2 * i] = 100 + i;
  CHECK(packed_report(made).size() < 160);
}

TEST_CASE(
    "reports come back in the order of the inputs, from memory and from a file, whatever the order they ended in") {
  for (const std::size_t in_memory : {std::size_t{0}, std::size_t{1000}, std::size_t{1} << 20U}) {
    CAPTURE(in_memory);
    const auto kept = std::make_shared<finished_inputs>(classes, in_memory);
    constexpr unsigned number = 300;
    std::vector<finished_inputs::location> where(number);
    for (unsigned i = number; i > 0; --i) where[i - 1] = kept->lay_down(sample(i - 1));
    for (const finished_inputs::location each : where) kept->append(each);
    input_reports all(kept, number);
    all.push_back(sample(number));
    all.push_back(where[5]);
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

TEST_CASE("with no folder for a file, nothing is lost: it stays in memory") {
  const test::temporary_folder here;
  const temporary_files_in nowhere(here / "none");
  spilled_bytes bytes(100);
  for (char c = 'a'; c <= 'z'; ++c) bytes.append(std::string(50, c));
  CHECK(bytes.held() == 26U * 50U);
  CHECK(bytes.read(25 * 50, 50) == std::string(50, 'z'));
  CHECK(bytes.read(0, 51) == std::string(50, 'a') + "b");
}

TEST_CASE("the file leaves nothing behind, and memory holds no more than it may") {
  const test::temporary_folder here;
  const temporary_files_in files_here(here / "");
  spilled_bytes bytes(1000);
  std::string all;
  for (int i = 0; i < 500; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 90), static_cast<char>('a' + i % 26));
    CHECK(bytes.append(piece) == all.size());
    all += piece;
    CHECK(bytes.held() <= 1000);
  }
  CHECK(here.entries() == 0);
  CHECK(bytes.read(0, 500) == all.substr(0, 500));
  CHECK(bytes.read(all.size() - 10, 100) == all.substr(all.size() - 10));
}

TEST_CASE("what was laid down last can be taken back, from memory and from a file, and others come in its place") {
  for (const std::size_t in_memory : {std::size_t{0}, std::size_t{2000}, std::size_t{1} << 20U}) {
    CAPTURE(in_memory);
    const auto kept = std::make_shared<finished_inputs>(classes, in_memory);
    std::vector<unsigned> expected;
    std::mt19937 chosen(7);
    for (unsigned seed = 0; seed < 400;) {
      pending_inputs pending(*kept, classes);
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
        expected.resize(expected.size() - pending.size());  // by its end
      }
    }
    REQUIRE(expected.size() > 100);
    const input_reports all(kept, expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(all[i] == sample(expected[i]));
  }
}

TEST_CASE("--count-unverified holds for inputs that were laid down as for others") {
  const auto kept = std::make_shared<finished_inputs>(classes);
  input_report one = sample(1);
  one.unverified.counts[2] = 5;
  kept->append(kept->lay_down(one));
  input_reports all(kept, 1);
  all.push_back(one);
  all.count_unverified();
  for (const input_report& each : all) {
    CHECK(each.counted_unverified);
    CHECK(each.verified.counts[2] == one.verified.counts[2] + 5);
  }
}

TEST_CASE("inputs leave the rolling counts when all of their text was merged, and their reports stay in order") {
  rolling_counts counts(gpu::partition::identity(), gpu::partition::identity(), {});
  constexpr input_id number = 100;
  std::vector<std::uint32_t> row(256);
  for (input_id i = 0; i < number; ++i) CHECK(counts.open_input("input " + std::to_string(i)) == i);
  for (input_id i = number; i-- > 0;) {
    row['x'] = i;
    const segment it{.owner = {.input = i}, .where = {0, i}};
    if (i % 2 == 0) counts.finish(i, i);
    if (i > 0) counts.merge({&it, 1}, row);
    if (i % 2 != 0) counts.fail(i, i, {.kind = failure_kind::stopped, .text = "left"});
    CHECK(counts.merged_bytes(i) == i);
    counts.set_format(i, "late");  // of no consequence: it is over
    report seen;
    counts.write_to(seen);
    CHECK(seen.inputs.size() == number);
    CHECK_FALSE(seen.complete);
  }
  CHECK(counts.inputs() == number);
  report seen;
  counts.write_to(seen);
  input_id i = 0;
  for (const input_report& each : seen.inputs) {
    CHECK(each.name == "input " + std::to_string(i));
    CHECK(each.format == "unknown");
    CHECK(each.verified.counts['x'] == i);
    CHECK(each.complete == (i % 2 == 0));
    CHECK(each.error == (i % 2 == 0 ? "" : "left"));
    CHECK(each.error_kind == (i % 2 == 0 ? failure_kind::none : failure_kind::stopped));
    ++i;
  }
  CHECK(i == number);
  CHECK(counts.open_group(3) > 0);  // a group that begins when its input is damaged already: dropped, no harm done
  counts.close_group(3, 1, {});
}
