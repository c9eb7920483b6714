// plain_files: the counts of files are those of a plain loop, for any number of readers. observed_files: the observer
// receives the text of a file, and the counts are those of the text, however the file is divided.
#include "async/event_loop.hpp"
#include "async/worker_pool.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/inputs/observed_files.hpp"
#include "pipeline/flow/inputs/plain_files.hpp"

#include "tests/support/shuffling_engine.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
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

namespace {

// The text of every input, and how it ended.
class recording_observer final : public text_observer {
 public:
  struct recorded {
    std::string text;
    bool is_whole = false;
    bool is_verified = true;

    bool operator==(const recorded&) const = default;
  };

  std::unique_ptr<input_observer> open(const std::string& name, std::uint64_t) override {
    return std::make_unique<recorder>(*this, name);
  }
  [[nodiscard]] bool divides() const override { return true; }
  std::unique_ptr<input_observer> open_later(const std::string& name, std::uint64_t order) override {
    return open(name, order);
  }
  [[nodiscard]] bool wants_publishing() const override {
    return stops_after > 0 && seen >= stops_after &&
           ++asked_since > 1;  // not when the last text is passed, but after it
  }
  void publish() override { stop.request_stop(); }
  [[nodiscard]] bool filters() const override { return false; }

  std::map<std::string, recorded> inputs{};
  std::size_t stops_after = 0;  // bytes, after which publish() requests a stop; 0: never
  std::stop_source stop{std::nostopstate};
  std::atomic<std::size_t> seen = 0;              // bytes
  mutable std::atomic<unsigned> asked_since = 0;  // calls of wants_publishing() since stops_after

 private:
  struct recorder final : input_observer {
    recorder(recording_observer& to, std::string input) : owner(to), name(std::move(input)) {}

    void take(std::span<const std::byte> text, bool verified) override {
      seen.text.append(reinterpret_cast<const char*>(text.data()), text.size());
      seen.is_verified = seen.is_verified && verified;
      owner.seen += text.size();
    }
    void note_gap() override {}
    void end(ending how) override {
      seen.is_whole = how == ending::whole;
      const std::scoped_lock lock(owner.mutex_);
      owner.inputs[name] = seen;
    }
    void follow(std::unique_ptr<input_observer> earlier) override {
      const recorded& before = dynamic_cast<recorder&>(*earlier).seen;
      seen = {.text = before.text + seen.text, .is_verified = before.is_verified && seen.is_verified};
    }

    recording_observer& owner;
    const std::string name;
    recorded seen;
  };

  std::mutex mutex_;
};

// A file, and the size that fstat states before it is read.
struct sized_text {
  std::string text;
  std::uint64_t stated;
};

struct observed_reading {
  std::map<std::string, recording_observer::recorded> observed;
  run_counts counts;
};

observed_reading read_all(const std::vector<sized_text>& files, std::uint64_t stretch_bytes, unsigned threads,
                          bool stops = false, std::size_t stops_after = 0) {
  test::temporary_folder folder;
  std::vector<std::string> names;
  for (const sized_text& each : files) names.push_back(folder.file(std::to_string(names.size()), each.text));
  ring slots({.slots = threads + 2, .chunk_bytes = 700, .max_extents = 8, .row_columns = 256});
  rolling_counts counts(gpu::partition::identity(), gpu::partition::identity(), names);
  std::stop_source stop;
  test::shuffling_engine engine(gpu::partition::identity());
  collector collected(slots, engine, counts, stop, [] {});
  stage_clock clock;
  async::first_failure failures(stop);
  async::worker_pool pool(threads);
  async::event_loop loop;
  recording_observer observer;
  observer.stops_after = stops_after;
  observer.stop = stop;
  text_taps taps({.observer = &observer}, loop, counts, failures);
  {
    decode_contexts contexts({.number = threads, .window_bytes = 1U << 20U}, nullptr, {}, clock, slots, collected);
    observed_files reader({.read_bytes = 300, .stretch_bytes = stretch_bytes}, contexts, taps, counts, clock, pool,
                          failures, stop.get_token());
    bool settled = false;
    const auto run = [&]() -> async::task<> {
      if (stops) stop.request_stop();
      for (std::size_t i = 0; i < files.size(); ++i) {
        io::descriptor opened(::open(names[i].c_str(), O_RDONLY | O_CLOEXEC));
        co_await reader.add(static_cast<input_id>(i),
                            std::make_shared<io::file_source>(std::move(opened), 0, files[i].stated));
      }
      co_await reader.drain();
      std::vector<cut_mark> marks;
      contexts.flush(marks);
      co_await collected.settled();
    };
    async::spawn(loop, run(), [&](const std::exception_ptr& error) noexcept {
      CHECK_FALSE(error);
      settled = true;
    });
    loop.run_until([&] { return settled; });
  }
  pool.join();
  observed_reading made{.observed = {}, .counts = counts.counts()};
  for (auto& [name, seen] : observer.inputs) made.observed[name.substr(name.rfind('/') + 1)] = seen;
  return made;
}

std::string random_text(std::size_t size, std::mt19937& random) {
  std::string text(size, ' ');
  for (char& each : text) each = static_cast<char>(random());
  return text;
}

TEST_CASE("the observer receives every file in order and verified, however many stretches it has") {
  std::mt19937 random(1);
  std::vector<sized_text> files;
  std::vector<std::uint64_t> expected(256);
  for (const std::size_t size : {1U, 999U, 2000U, 2001U, 50000U, 3000U}) {
    files.push_back({.text = random_text(size, random), .stated = size});
    for (const char each : files.back().text) ++expected[static_cast<unsigned char>(each)];
  }
  for (const std::uint64_t stretch_bytes : {0U, 1000U, 1234U, 30000U}) {
    for (const unsigned threads : {1U, 2U, 5U}) {
      CAPTURE(stretch_bytes);
      CAPTURE(threads);
      const observed_reading all = read_all(files, stretch_bytes, threads);
      CHECK(all.counts.complete);
      CHECK(all.counts.verified.counts == expected);
      CHECK(all.counts.unverified.bytes() == 0);
      for (std::size_t i = 0; i < files.size(); ++i) {
        CHECK(all.observed.at(std::to_string(i)) ==
              recording_observer::recorded{.text = files[i].text, .is_whole = true});
      }
    }
  }
}

TEST_CASE("a file that is longer than its size when it was opened is read to its end") {
  std::mt19937 random(2);
  const std::string text = random_text(10'000, random);
  for (const std::uint64_t stated : {0U, 3000U, 9999U}) {
    CAPTURE(stated);
    const observed_reading all = read_all({{.text = text, .stated = stated}}, 1000, 3);
    CHECK(all.counts.complete);
    CHECK(all.counts.verified.bytes() == text.size());
    CHECK(all.observed.at("0").text == text);
  }
}

TEST_CASE("a file that has become shorter since it was opened fails, and a prefix of its text is observed") {
  std::mt19937 random(3);
  const std::string text = random_text(10'300, random);
  for (const std::uint64_t stated : {10'301U, 12'345U, 40'000U}) {
    CAPTURE(stated);
    const observed_reading all = read_all({{.text = text, .stated = stated}}, 1000, 3);
    CHECK_FALSE(all.counts.complete);
    REQUIRE(all.counts.inputs.size() == 1);
    CHECK(all.counts.inputs[0].error == "it was truncated while it was read: it had " + std::to_string(stated) +
                                            " bytes, and has 10300 at offset 10300");
    CHECK(text.starts_with(all.observed.at("0").text));
    CHECK_FALSE(all.observed.at("0").is_whole);
  }
}

TEST_CASE("a file that is not read because the run stops is not complete") {
  const observed_reading none = read_all({{.text = std::string(5000, 'x'), .stated = 5000}}, 1000, 2, true);
  CHECK_FALSE(none.counts.complete);
  CHECK(none.observed.empty());
}

TEST_CASE(
    "a stop after the last byte of a file was read: the observer sees a whole input if and only if it is complete") {
  const observed_reading all = read_all({{.text = std::string(50, 'x'), .stated = 50}}, 0, 2, false, 50);
  REQUIRE(all.observed.contains("0"));
  CHECK(all.counts.complete == all.observed.at("0").is_whole);
}

}  // namespace

}  // namespace gpuhist::pipeline
