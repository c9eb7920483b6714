// The history of the slots, compared with an oracle that records every transition and integrates over all of them. What
// limited a run and what would help, for made-up runs with a clear answer. What the system permits the
// process to use, cores and memory, and the default of --memory-limit.
#include "gpu/host/process_limits.hpp"
#include "library/default_memory_limit.hpp"
#include "pipeline/flow/ring.hpp"
#include "pipeline/flow/statistics/limits.hpp"
#include "pipeline/flow/statistics/occupancy.hpp"

#include "tests/support/run_coroutine.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::gpu::host;
using namespace gpuhist::library;
using namespace gpuhist::pipeline;
using std::chrono::nanoseconds;

namespace {

struct transition {
  std::int64_t at = 0;  // nanoseconds since the beginning
  int filling = 0;      // slots from then on
  int counting = 0;
};

// The integral of `count` from begin to end, in slots x nanoseconds.
double integral(const std::vector<transition>& all, int transition::* count, std::int64_t begin, std::int64_t end) {
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t until = i + 1 < all.size() ? all[i + 1].at : end;
    const std::int64_t length = std::min(until, end) - std::max(all[i].at, begin);
    if (length > 0) sum += static_cast<double>(length) * all[i].*count;
  }
  return sum;
}

double time_without_free_slot(const std::vector<transition>& all, int slots, std::int64_t end) {
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t until = i + 1 < all.size() ? all[i + 1].at : end;
    if (all[i].filling + all[i].counting == slots) sum += static_cast<double>(until - all[i].at);
  }
  return sum;
}

void check_against_oracle(const slot_history& history, const std::vector<transition>& all, int slots,
                          std::int64_t end) {
  const double possible = slots * static_cast<double>(end);
  CHECK(history.filling_share == doctest::Approx(integral(all, &transition::filling, 0, end) / possible));
  CHECK(history.counting_share == doctest::Approx(integral(all, &transition::counting, 0, end) / possible));
  CHECK(history.free_share + history.filling_share + history.counting_share == doctest::Approx(1));
  CHECK(history.none_free_share == doctest::Approx(time_without_free_slot(all, slots, end) / static_cast<double>(end)));
  const auto step = static_cast<std::int64_t>(history.step_seconds * 1e9 + 0.5);
  REQUIRE(history.in_use.size() <= occupancy::bins);
  REQUIRE(static_cast<std::int64_t>(history.in_use.size()) == (end + step - 1) / step);
  for (std::size_t i = 0; i < history.in_use.size(); ++i) {
    const std::int64_t from = step * static_cast<std::int64_t>(i);
    const std::int64_t to = std::min(end, from + step);
    const double used = integral(all, &transition::filling, from, to) + integral(all, &transition::counting, from, to);
    CHECK(history.in_use[i] == doctest::Approx(used / (slots * static_cast<double>(to - from))));
  }
}

}  // namespace

TEST_CASE("the history of random transitions equals the integral over every one of them") {
  std::mt19937 random(11);
  const occupancy::time_point begin{std::chrono::hours(3)};
  for (int run = 0; run < 60; ++run) {
    const int slots = 1 + static_cast<int>(random() % 9);
    occupancy recorder(static_cast<std::size_t>(slots), begin);
    std::vector<transition> all{{}};
    std::vector<phase> phases(static_cast<std::size_t>(slots), phase::free);
    const std::int64_t longest = std::int64_t{1} << (random() % 34);
    for (int i = 0; i < 300; ++i) {
      transition next = all.back();
      next.at += static_cast<std::int64_t>(random()) % longest * (random() % 5 == 0 ? 7 : 1);
      phase& slot = phases[random() % phases.size()];
      const auto to = static_cast<phase>(random() % 3);
      next.filling += (to == phase::filling ? 1 : 0) - (slot == phase::filling ? 1 : 0);
      next.counting += (to == phase::counting ? 1 : 0) - (slot == phase::counting ? 1 : 0);
      recorder.move(slot, to, begin + nanoseconds(next.at));
      slot = to;
      all.push_back(next);
    }
    const std::int64_t end = all.back().at + static_cast<std::int64_t>(random() % 1000) + 1;
    check_against_oracle(recorder.read(begin + nanoseconds(end)), all, slots, end);
  }
}

TEST_CASE("a run of more than a millisecond has at least 32 steps, however long it is") {
  const occupancy::time_point begin{};
  for (std::int64_t length = 1'100'000; length < std::int64_t{1} << 54U; length = length * 5 / 3) {
    occupancy recorder(2, begin);
    recorder.move(phase::free, phase::filling, begin + nanoseconds(length / 2));
    const slot_history history = recorder.read(begin + nanoseconds(length));
    CHECK(history.in_use.size() >= occupancy::bins / 2);
    CHECK(history.in_use.size() <= occupancy::bins);
    CHECK(history.in_use.front() == 0);
    CHECK(history.in_use.back() == 0.5);
  }
}

TEST_CASE("a history without time has only free shares, and one that is read early ends with its last transition") {
  const occupancy::time_point begin{};
  occupancy recorder(2, begin);
  CHECK(recorder.read(begin).free_share == 1);
  CHECK(recorder.read(begin).in_use.empty());
  recorder.move(phase::free, phase::filling, begin + nanoseconds(5));
  recorder.move(phase::filling, phase::counting, begin + nanoseconds(10));
  const slot_history history = recorder.read(begin);
  CHECK(history.filling_share == doctest::Approx(0.25));
  CHECK(history.free_share == doctest::Approx(0.75));
}

TEST_CASE("the ring keeps the history of its slots") {
  async::worker_pool pool(1);
  ring tested({.slots = 2, .chunk_bytes = 4096, .max_extents = 1, .row_columns = 1});
  tested.begin_history();
  slot* only = test::run(pool, tested.acquire());
  tested.begin_counting(*only);
  CHECK(only->current_phase == phase::counting);
  const auto later = std::chrono::steady_clock::now() + std::chrono::hours(1);
  CHECK(tested.history(later).counting_share == doctest::Approx(0.5).epsilon(0.01));
  CHECK(tested.history(later).none_free_share == 0);
  slot* other = test::run(pool, tested.acquire());
  CHECK(tested.history(later).filling_share == doctest::Approx(0.5).epsilon(0.01));
  CHECK(tested.history(later).none_free_share == doctest::Approx(1).epsilon(0.01));
  tested.release(*only);
  tested.release(*other);
  CHECK(tested.history(later).free_share == doctest::Approx(1).epsilon(0.01));
}

namespace {

constexpr std::uint64_t gigabyte = 1'000'000'000;

stage_stats reading(double busy, double waiting = 0) {
  return {.name = "read", .bytes = gigabyte, .busy_seconds = busy, .waiting_seconds = waiting};
}

stage_stats reading_files(double busy) {
  return {.name = "read", .bytes = gigabyte, .busy_seconds = busy, .workers = 2, .on_pool = true};
}

stage_stats decompressing(double busy) {
  return {.name = "decompress", .bytes = gigabyte, .busy_seconds = busy, .on_pool = true};
}

stage_stats counting(double busy) {
  return {.name = "count", .bytes = gigabyte, .busy_seconds = busy, .workers = 2, .on_pool = true};
}

stage_stats copying(double busy) { return {.name = "copy to device", .bytes = gigabyte, .busy_seconds = busy}; }

stage_stats kernels(double busy) { return {.name = "count", .bytes = gigabyte, .busy_seconds = busy}; }

/// One second of work on 2 threads of a machine with 2 cores.
run_stats run_of(std::vector<stage_stats> stages) {
  run_stats stats;
  stats.engine = "host";
  stats.counting.kernel = "ranges/AVX3";
  stats.counting.workers = 2;
  stats.classes = stats.counted_classes = 8;
  stats.inputs = 1;
  stats.stages = std::move(stages);
  stats.seconds = 1;
  stats.threads = stats.cores = 2;
  stats.slots = 8;
  stats.slot_bytes = 262144;
  stats.chunks = 4000;
  stats.bytes = gigabyte;
  return stats;
}

}  // namespace

TEST_CASE("nothing limits a run without text") {
  run_stats stats = run_of({reading(0, 0.9), counting(0)});
  stats.bytes = 0;
  CHECK(judge(stats).limited_by == "nothing: there was no text");
  CHECK(judge(stats).would_help == "nothing");
  CHECK(judge(run_stats{}).limited_by == "nothing: there was no text");
}

TEST_CASE("if reading waited for the source most of the time, the source is the limit, whatever else was busy") {
  const pipeline::verdict judged = judge(run_of({reading(0.2, 0.76), counting(1.9)}));
  CHECK(judged.limited_by == "the source: reading waited for it 76 % of the time");
  CHECK(judged.would_help == "a faster writer: gpuhist waited for it");
}

TEST_CASE(
    "if writing waited for the consumer most of the time, the consumer is the limit, not the source that waited as "
    "well") {
  run_stats stats = run_of({reading(0.1, 0.8), counting(0.1)});
  stats.consumer_waiting_seconds = 0.75;
  CHECK(judge(stats).limited_by == "the consumer: standard output accepted no data 75 % of the time");
  CHECK(judge(stats).would_help == "a faster consumer: gpuhist waited for it");
  stats.consumer_waiting_seconds = 0.4;
  CHECK(judge(stats).limited_by == "the source: reading waited for it 80 % of the time");
}

TEST_CASE("a pipe is read by one thread; files would be read by all") {
  const pipeline::verdict judged = judge(run_of({reading(0.8, 0.1), counting(0.4)}));
  CHECK(judged.limited_by == "read: busy 80 % of the time");
  CHECK(judged.would_help == "giving files by name instead of through a pipe: files are read by all threads");
}

TEST_CASE("reading files is limited by the disk if the bytes came from it, else by the threads or the cores") {
  run_stats stats = run_of({reading_files(1.6), counting(0.3)});
  CHECK(judge(stats).limited_by == "read: busy 80 % of the time on 2 threads; the pool of 2 threads 95 %");
  CHECK(judge(stats).would_help == "more cores: the bytes came from the page cache at the speed of its memory");
  stats.cores = 16;
  CHECK(judge(stats).would_help == "more --threads (16 cores)");
  stats.disk_bytes = gigabyte * 9 / 10;
  CHECK(judge(stats).would_help == "a faster disk: 90 % of the bytes came from it, not from the page cache");
}

TEST_CASE("one decoder needs more frames or more archives; several need more threads while there are cores") {
  run_stats stats = run_of({reading(0.1), decompressing(0.9), counting(0.2)});
  stats.compressed_inputs = 1;
  CHECK(judge(stats).limited_by == "decompress: busy 90 % of the time");
  CHECK(
      judge(stats).would_help.starts_with("an archive of independent frames (as pzstd writes them), or more archives"));
  stats.stages[1].workers = stats.threads;
  CHECK(judge(stats).would_help == "more or faster cores for decompression");
  stats.cores = 16;
  CHECK(judge(stats).would_help == "more --threads (16 cores)");
}

TEST_CASE("if an option keeps frames in sequence, more frames, archives or threads are not recommended") {
  run_stats stats = run_of({reading(0.1), decompressing(0.9), counting(0.2)});
  stats.compressed_inputs = 1;
  for (const std::string option : {"--window", "--pass-through=text"}) {
    stats.in_order_for = option;
    for (const unsigned cores : {2U, 16U}) {
      stats.cores = cores;
      CHECK(judge(stats).limited_by == "decompress: busy 90 % of the time");
      CHECK(judge(stats).would_help ==
            "faster cores: " + option +
                " needs the text in order, so frames are decoded in sequence; without it independent frames (as pzstd "
                "writes them) are decoded in parallel");
    }
  }
}

TEST_CASE("bytes that are passed through are read once, in order: giving files by name would not help") {
  run_stats stats = run_of({reading(0.8, 0.1), counting(0.4)});
  stats.passes_through = true;
  CHECK(judge(stats).limited_by == "read: busy 80 % of the time");
  CHECK(judge(stats).would_help ==
        "a run without --pass-through: forwarded input is read once, in order, by one thread");
}

TEST_CASE(
    "counting on the host needs more threads while there are cores, then fewer buckets, and a GPU for much text") {
  run_stats stats = run_of({reading_files(0.2), counting(1.7)});
  CHECK(judge(stats).limited_by == "count: busy 85 % of the time on 2 threads; the pool of 2 threads 95 %");
  CHECK(judge(stats).would_help == "more cores");
  stats.counting.kernel = "tables";
  stats.counted_classes = 256;
  const std::string fewer = "schemes with fewer buckets: 256 classes are too many for SIMD comparisons";
  CHECK(judge(stats).would_help == fewer);
  stats.bytes = std::uint64_t{32} << 30U;
  CHECK(judge(stats).would_help == "a GPU (--engine cuda), or " + fewer);
  stats.cores = 4;
  CHECK(judge(stats).would_help == "more --threads (4 cores)");
}

TEST_CASE("stages that share the pool's threads limit a run together, and the one with the most time is named") {
  const pipeline::verdict judged = judge(run_of({reading_files(0.9), counting(1.0)}));
  CHECK(judged.limited_by == "count: busy 50 % of the time on 2 threads; the pool of 2 threads 95 %");
}

TEST_CASE("a device is limited by its link or by its kernels") {
  run_stats stats = run_of({reading_files(0.4), copying(0.97), kernels(0.1)});
  stats.counting.device = "NVIDIA H200";
  CHECK(judge(stats).limited_by == "the link: copies were in flight 97 % of the time");
  CHECK(judge(stats).would_help == "a faster link, or more devices with a link each (--devices)");
  stats.stages = {reading_files(0.4), copying(0.5), kernels(0.9)};
  CHECK(judge(stats).limited_by == "count: busy 90 % of the time");
  CHECK(judge(stats).would_help == "more devices (--devices)");
}

TEST_CASE("a run whose device took longer to start than to count the text is limited by start-up") {
  run_stats stats = run_of({reading_files(0.4), copying(0.97), kernels(0.1)});
  stats.counting.device = "NVIDIA H200";
  stats.counting.startup_seconds = 1.25;
  CHECK(judge(stats).limited_by == "start-up: the device took 1.250 s to start, counting 1.000 s");
  CHECK(judge(stats).would_help == "more text in one run, or --engine host for little text");
}

TEST_CASE("a run whose text fits into a slot, or into all while nothing was busy, is limited by start-up") {
  run_stats stats = run_of({reading(0.9), counting(0.1)});
  stats.chunks = 1;
  CHECK(judge(stats).limited_by == "start-up: all of the text fits into one slot of 256 KiB");
  stats.chunks = 8;
  CHECK(judge(stats).limited_by == "read: busy 90 % of the time");
  stats.stages = {reading(0.3), counting(0.1)};
  CHECK(judge(stats).limited_by == "start-up: all of the text fits into the 8 slots");
  CHECK(judge(stats).would_help == "more text in one run: all inputs of one run share its start-up");
}

TEST_CASE("many small inputs are limited by opening them, unless the threads were busy") {
  run_stats stats = run_of({reading_files(0.3), counting(0.1)});
  stats.inputs = 100'000;
  CHECK(judge(stats).limited_by == "opening inputs: 100,000 inputs of 9.8 KiB on average are opened, read and closed");
  CHECK(judge(stats).would_help == "fewer and larger inputs, for example by `cat`");
  stats.stages = {reading_files(0.3), counting(1.6)};
  CHECK(judge(stats).limited_by.starts_with("count: "));
}

TEST_CASE("if reading waited for slots while nothing was busy, there were too few slots") {
  run_stats stats = run_of({reading(0.3), counting(0.4)});
  stats.slot_waiting_seconds = 0.45;
  CHECK(judge(stats).limited_by ==
        "slots: reading waited for a free one 45 % of the time, and no stage was busy more than half of it");
  CHECK(judge(stats).would_help == "more --slots (there were 8)");
  stats.stages = {reading(0.3), counting(1.8)};
  CHECK(judge(stats).limited_by == "count: busy 90 % of the time on 2 threads");
}

TEST_CASE("if nothing was busy, the busiest stage is named and nothing is recommended") {
  const pipeline::verdict judged = judge(run_of({reading(0.3), counting(0.4)}));
  CHECK(judged.limited_by == "no single stage: the busiest is read: busy 30 % of the time");
}

TEST_CASE("a run that was stopped is reported as stopped, with its limit until then") {
  run_stats stats = run_of({reading(0, 0.9), counting(0.1)});
  stats.stopped = true;
  CHECK(judge(stats).limited_by ==
        "being stopped after 1.000 s; until then the source: reading waited for it 90 % of the time");
}

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

/// A root directory with /proc and /sys.
struct machine {
  test::temporary_folder root;

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::optional<std::uint64_t> limit() const { return cgroup_memory_limit(root / "."); }
  unsigned cores() const { return available_cores(root / "."); }
};

}  // namespace

TEST_CASE_FIXTURE(machine, "without control groups, or without a limit in them, there is no limit") {
  CHECK_FALSE(limit());
  write("proc/self/cgroup", "0::/a/b\n");
  CHECK_FALSE(limit());
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  CHECK_FALSE(limit());
  write("sys/fs/cgroup/a/b/memory.max", "");
  CHECK_FALSE(limit());
  CHECK(default_memory_limit(root / ".") == 1024 * mib);
}

TEST_CASE_FIXTURE(machine, "in version 2 the lowest limit of the process's own group and of its ancestors applies") {
  write("proc/self/cgroup", "0::/a/b/c\n");
  write("sys/fs/cgroup/a/b/c/memory.max", "800000000\n");
  CHECK(limit() == 800'000'000);
  write("sys/fs/cgroup/a/memory.max", "700000000\n");
  CHECK(limit() == 700'000'000);
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  CHECK(limit() == 700'000'000);
  write("sys/fs/cgroup/memory.max", "600000000\n");  // where a container sees its own group
  CHECK(limit() == 600'000'000);
  write("sys/fs/cgroup/other/memory.max", "5\n");
  CHECK(limit() == 600'000'000);
}

TEST_CASE_FIXTURE(machine, "in version 1 the group of the memory controller applies") {
  write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/a/b\n1:name=systemd:/a:b\n0::/u\n");
  write("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK_FALSE(limit());
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "300000000\n");
  CHECK(limit() == 300'000'000);
  write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "5\n");
  CHECK(limit() == 300'000'000);
  write("sys/fs/cgroup/unified/u/memory.max", "200000000\n");
  CHECK(limit() == 200'000'000);
}

TEST_CASE_FIXTURE(machine, "if the group is outside the container's view, the limit at the visible root applies") {
  for (const char* path : {"/docker/0123", "/../../outside", "/"}) {
    CAPTURE(path);
    write("proc/self/cgroup", "4:memory:" + std::string(path) + "\n0::" + path + "\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "400000000");
    CHECK(limit() == 400'000'000);
  }
}

TEST_CASE_FIXTURE(machine, "the default is three quarters of the limit, within bounds") {
  write("proc/self/cgroup", "0::/\n");
  for (const auto& [group, expected] :
       {std::pair{4096 * mib, 1024 * mib}, {1200 * mib, 900 * mib}, {400 * mib, 300 * mib}, {20 * mib, 64 * mib}}) {
    write("sys/fs/cgroup/memory.max", std::to_string(group) + "\n");
    CHECK(default_memory_limit(root / ".") == expected);
  }
}

TEST_CASE_FIXTURE(machine,
                  "the memory for devices is a sixteenth of that of the machine or the group, at most 3.5 GiB") {
  CHECK(default_device_memory(root / ".") == 0);
  write("proc/self/cgroup", "0::/\n");
  for (const auto& [line, expected] : {std::pair{"MemTotal:       24684084 kB", 24684084 * (mib / 1024) / 16},
                                       {"MemTotal: 16 kB", std::uint64_t{1024}},
                                       {"MemTotal:      131072000 kB", 3584 * mib},
                                       {"MemTotal: 16 MB", std::uint64_t{0}},
                                       {"MemTotal:", std::uint64_t{0}},
                                       {"MemFree:  131072000 kB", std::uint64_t{0}}}) {
    CAPTURE(line);
    write("proc/meminfo", std::string(line) + "\nMemFree:       22810360 kB\n");
    CHECK(default_device_memory(root / ".") == expected);
  }
  write("proc/meminfo", "MemTotal:      131072000 kB\n");
  write("sys/fs/cgroup/memory.max", std::to_string(3200 * mib) + "\n");
  CHECK(default_device_memory(root / ".") == 200 * mib);
}

namespace {

/// The cores of this thread; restored at the end.
class affinity {
 public:
  affinity() { REQUIRE(::sched_getaffinity(0, sizeof before_, &before_) == 0); }
  ~affinity() { ::sched_setaffinity(0, sizeof before_, &before_); }
  affinity(const affinity&) = delete;
  affinity& operator=(const affinity&) = delete;

  [[nodiscard]] unsigned all() const { return static_cast<unsigned>(CPU_COUNT(&before_)); }
  void use_one() const {
    std::size_t first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  }

 private:
  cpu_set_t before_{};
};

}  // namespace

TEST_CASE_FIXTURE(machine, "without limits, the cores are those that the process may be scheduled on") {
  const affinity given;
  CHECK(cores() == given.all());
  write("proc/self/cgroup", "0::/a\n");
  write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  CHECK(cores() == given.all());
  given.use_one();
  CHECK(cores() == 1);
}

TEST_CASE_FIXTURE(machine, "in version 2, the least processor time of the group and its ancestors limits the cores") {
  const affinity given;
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/cpu.max", "100001 100000\n");  // more than one core
  CHECK(cores() == std::min(2U, given.all()));
  write("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  CHECK(cores() == 1);
  write("sys/fs/cgroup/a/cpu.max", "6400000000 100000\n");
  CHECK(cores() == std::min(2U, given.all()));
  write("sys/fs/cgroup/a/b/cpu.max", "100000 0\n");  // no limit that a system has
  CHECK(cores() == given.all());
}

TEST_CASE_FIXTURE(machine, "in version 1, the quota of the cpu controller limits the cores, whatever its folder is") {
  const affinity given;
  for (const std::string folder : {"cpu", "cpu,cpuacct"}) {
    const machine other;
    other.write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/a\n");
    other.write("sys/fs/cgroup/" + folder + "/x/cpu.cfs_period_us", "100000\n");
    other.write("sys/fs/cgroup/" + folder + "/x/cpu.cfs_quota_us", "-1\n");
    CHECK(other.cores() == given.all());
    other.write("sys/fs/cgroup/" + folder + "/x/cpu.cfs_quota_us", "100000\n");
    CHECK(other.cores() == 1);
  }
}
