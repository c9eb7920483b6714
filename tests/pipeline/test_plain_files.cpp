// plain_files: the counts of files are those of a plain loop, for any number of readers.
#include "pipeline/flow/inputs/plain_files.hpp"

#include "async/event_loop.hpp"
#include "async/worker_pool.hpp"
#include "pipeline/flow/collector.hpp"
#include "tests/support/shuffling_engine.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace gpuhist::pipeline {
namespace {

std::vector<std::uint64_t> counts_of_text(const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> counts(256);
  for (const std::string& text : texts) {
    for (const char each : text) ++counts[static_cast<unsigned char>(each)];
  }
  return counts;
}

// A run that reads files, and what it needs.
struct plain_run {
  plain_run(const plain_files::settings& reads, std::uint32_t number_of_slots, const std::vector<std::string>& names)
      : options(reads),
        slots({.slots = number_of_slots, .chunk_bytes = reads.range_bytes, .max_extents = 8, .row_columns = 256}),
        counts(gpu::partition::identity(), gpu::partition::identity(), names) {}

  // Adds each file, with the size that it seems to have.
  void read(const std::vector<std::string>& names, const std::vector<std::uint64_t>& sizes) {
    plain_files files(options, cut, counts, clock, pool, failures, stop.get_token());
    bool settled = false;
    const auto run = [&]() -> async::task<> {
      for (std::size_t i = 0; i < names.size(); ++i) {
        const int opened = ::open(names[i].c_str(), O_RDONLY | O_CLOEXEC);
        co_await files.add(static_cast<input_id>(i),
                           std::make_shared<io::file_source>(io::descriptor(opened), 0, sizes[i]));
      }
      co_await files.drain();
      cut.flush();
      co_await collected.settled();
    };
    async::spawn(loop, run(), [&](const std::exception_ptr& error) noexcept {
      CHECK_FALSE(error);
      settled = true;
    });
    loop.run_until([&] { return settled; });
    pool.join();
  }

  const plain_files::settings options;
  ring slots;
  rolling_counts counts;
  std::stop_source stop;
  test::shuffling_engine engine{gpu::partition::identity()};
  collector collected{slots, engine, counts, stop, [] {}};
  cutter cut{slots, collected};
  stage_clock clock;
  async::first_failure failures{stop};
  async::worker_pool pool{4};
  async::event_loop loop;
};

struct reading {
  std::vector<std::uint64_t> counts;
  std::uint64_t most_reads = 0;
};

// `surplus`: how much larger than its text each file seems to be.
reading read_all(const std::vector<std::string>& texts, const plain_files::settings& options,
                 std::ptrdiff_t surplus = 0) {
  test::temporary_folder folder;
  std::vector<std::string> names;
  std::vector<std::uint64_t> sizes;
  for (const std::string& each : texts) {
    names.push_back(folder.file(std::to_string(names.size()), each));
    sizes.push_back(
        static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(each.size()) + surplus)));
  }
  plain_run run(options, 6, names);
  run.read(names, sizes);
  return {.counts = run.counts.counts().verified.counts, .most_reads = run.clock.max_in_flight};
}

TEST_CASE("every byte of all files is counted once, and no more threads read at once than may") {
  std::mt19937 random(1);
  std::vector<std::string> texts;
  for (const std::size_t size : {0, 1, 999, 1000, 1001, 50000, 120001, 20000}) {
    std::string& text = texts.emplace_back(size, ' ');
    for (char& each : text) each = static_cast<char>(random());
  }
  const std::vector<std::uint64_t> expected = counts_of_text(texts);
  for (const std::size_t readers : {1U, 2U, 5U}) {
    for (const bool keeps : {false, true}) {
      for (const std::size_t in_flight : {1U, 3U, 9U}) {
        CAPTURE(readers);
        CAPTURE(keeps);
        CAPTURE(in_flight);
        const reading all =
            read_all(texts, {.range_bytes = 1000, .in_flight = in_flight, .readers = readers, .keeps_threads = keeps});
        CHECK(all.counts == expected);
        CHECK(all.most_reads <= std::min(readers, in_flight));
      }
    }
  }
}

TEST_CASE("a file that is longer than its size when it was opened is counted to its end") {
  const std::vector<std::string> texts{std::string(90'000, 'a'), "b", std::string(70'500, 'c')};
  const std::vector<std::uint64_t> expected = counts_of_text(texts);
  for (const std::ptrdiff_t surplus : {-20'000, -1}) {
    for (const std::size_t readers : {1U, 3U}) {
      for (const bool keeps : {false, true}) {
        CAPTURE(surplus);
        CAPTURE(readers);
        CAPTURE(keeps);
        const reading all =
            read_all(texts, {.range_bytes = 1000, .in_flight = 6, .readers = readers, .keeps_threads = keeps}, surplus);
        CHECK(all.counts == expected);
      }
    }
  }
}

TEST_CASE("a stop ends the reads of a long file, also while readers wait for a slot") {
  const std::string name = "/dev/zero";  // does not end before the stop, however late that comes
  plain_run run({.range_bytes = 1000, .in_flight = 3, .readers = 3, .keeps_threads = true}, 3, {name});
  slot* const taken = run.slots.try_acquire();  // one slot less, so that readers wait
  {
    std::jthread stopping([&] {
      while (run.clock.bytes < 20'000) std::this_thread::yield();
      run.stop.request_stop();
    });
    run.read({name}, {std::uint64_t{1} << 40U});
  }
  run.slots.begin_counting(*taken);
  run.slots.release(*taken);
  const input_report report = run.counts.input_in_order(0);
  CHECK_FALSE(report.complete);
  CHECK(report.verified.bytes() <= run.clock.bytes);
}

}  // namespace
}  // namespace gpuhist::pipeline
