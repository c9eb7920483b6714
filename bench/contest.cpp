#include "bench/contest.hpp"

#include "bench/schedule.hpp"

#include <algorithm>
#include <stdexcept>

namespace gpuhist::bench {
namespace {

constexpr double max_seconds_each =
    0.1;  // limit for all runs of one entrant in one contest, if there is more than one run
constexpr double max_seconds_once = 3;  // limit for one run
constexpr std::size_t probe_bytes = std::size_t{16} << 20U;
constexpr std::uint64_t hold_each =
    25'000;  // nanoseconds; upper bound of the time that the host needs to queue one run

struct contestant {
  explicit contestant(entrant entered) : entry(std::move(entered)) {}

  entrant entry;
  event begin;
  event end;
  std::vector<double> seconds;
  double expected_seconds = 0;
  unsigned repetitions = 0;
  bool counted = false;
  bool right = true;
};

using contestants = std::vector<std::unique_ptr<contestant>>;

void queue_run(contestant& runner, std::span<const std::uint8_t> bytes, const stream& on) {
  runner.entry.implementation->clear(on);
  runner.begin.record(on);
  runner.entry.implementation->run(bytes, on);
  runner.end.record(on);
}

// Returns the expected time of one run, measured on the second run, because the first loads the kernel. Measures a part
// of a large span, because the slowest kernels take seconds for the whole.
double probe(contestant& runner, std::span<const std::uint8_t> bytes, const stream& on) {
  const auto part = bytes.first(std::min(bytes.size(), probe_bytes));
  for (int pass = 0; pass < 2; ++pass) {
    queue_run(runner, part, on);
    on.wait();
  }
  return runner.end.seconds_since(runner.begin) * static_cast<double>(bytes.size()) / static_cast<double>(part.size());
}

void plan(contestant& runner, buffers& data, unsigned repetitions, const stream& on) {
  try {
    runner.expected_seconds = probe(runner, data.next(), on);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(runner.entry.name + ": " + error.what());
  }
  const bool too_slow = runner.expected_seconds > max_seconds_once;
  runner.repetitions = too_slow ? 0 : repetitions_within(max_seconds_each, runner.expected_seconds, repetitions);
}

void take_result(contestant& runner, const bin_counts& expected, std::uint64_t size, const stream& on) {
  runner.seconds.push_back(runner.end.seconds_since(runner.begin));
  const bin_counts counted = runner.entry.implementation->counts(size, on);
  if (counted.empty()) return;
  runner.counted = true;
  runner.right = runner.right && counted == expected;
}

void run_round(std::span<contestant* const> part, buffers& data, const bin_counts& expected, const stream& on) {
  std::uint64_t size = 0;
  hold(on, hold_each * part.size());
  for (contestant* const each : part) {
    const auto bytes = data.next();
    size = bytes.size();
    queue_run(*each, bytes, on);
  }
  on.wait();
  for (contestant* const each : part) take_result(*each, expected, size, on);
}

measurement result_of(const contestant& runner) {
  measurement made{.kernel = runner.entry.name, .kind = runner.entry.kind, .median = runner.expected_seconds};
  if (runner.seconds.empty()) return made;
  const auto [least, most] = std::ranges::minmax(runner.seconds);
  made.runs = static_cast<unsigned>(runner.seconds.size());
  made.median = median(runner.seconds);
  made.least = least;
  made.most = most;
  if (runner.counted) made.counts = runner.right ? verdict::right : verdict::wrong;
  return made;
}

}  // namespace

std::vector<measurement> measure(std::vector<entrant> entrants, buffers& data, const bin_counts& expected,
                                 unsigned repetitions, const stream& on) {
  contestants all;
  for (entrant& each : entrants) {
    all.push_back(std::make_unique<contestant>(std::move(each)));
    plan(*all.back(), data, repetitions, on);
  }
  for (unsigned round = 0; round < repetitions; ++round) {
    std::vector<contestant*> part;
    for (const auto& each : all) {
      if (takes_part(round, each->repetitions, repetitions)) part.push_back(each.get());
    }
    if (!part.empty()) run_round(part, data, expected, on);
  }
  std::vector<measurement> results;
  for (const auto& each : all) results.push_back(result_of(*each));
  return results;
}

}  // namespace gpuhist::bench
