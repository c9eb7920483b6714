#include "bench/contest.hpp"

#include "bench/schedule.hpp"

#include <algorithm>
#include <stdexcept>

namespace gpuhist::bench {
namespace {

constexpr double max_seconds_each = 0.1;  // of all runs of one entrant in one contest, where they are more than one
constexpr double max_seconds_once = 3;    // of one run
constexpr std::size_t probe_bytes = std::size_t{16} << 20U;
constexpr std::uint64_t hold_each = 25'000;  // nanoseconds that queuing one run takes the host at most, amply

struct contestant {
  explicit contestant(entrant of) : who(std::move(of)) {}

  entrant who;
  event begin;
  event end;
  std::vector<double> seconds;
  double expected_seconds = 0;
  unsigned repetitions = 0;
  bool counted = false;
  bool right = true;
};

using contestants = std::vector<std::unique_ptr<contestant>>;

void queue_run(contestant& one, std::span<const std::uint8_t> bytes, const stream& on) {
  one.who.what->clear(on);
  one.begin.record(on);
  one.who.what->run(bytes, on);
  one.end.record(on);
}

// The first run loads the kernel, and only the second tells how long one takes. Over part of a large span, because the
// slowest take seconds for all of it.
double probe(contestant& one, std::span<const std::uint8_t> bytes, const stream& on) {
  const auto part = bytes.first(std::min(bytes.size(), probe_bytes));
  for (int pass = 0; pass < 2; ++pass) {
    queue_run(one, part, on);
    on.wait();
  }
  return one.end.seconds_since(one.begin) * static_cast<double>(bytes.size()) / static_cast<double>(part.size());
}

void plan(contestant& one, buffers& data, unsigned repetitions, const stream& on) {
  try {
    one.expected_seconds = probe(one, data.next(), on);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(one.who.name + ": " + error.what());
  }
  const bool too_slow = one.expected_seconds > max_seconds_once;
  one.repetitions = too_slow ? 0 : repetitions_within(max_seconds_each, one.expected_seconds, repetitions);
}

void take_result(contestant& one, const bin_counts& expected, std::uint64_t size, const stream& on) {
  one.seconds.push_back(one.end.seconds_since(one.begin));
  const bin_counts counted = one.who.what->counts(size, on);
  if (counted.empty()) return;
  one.counted = true;
  one.right = one.right && counted == expected;
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

measurement result_of(const contestant& one) {
  measurement made{.kernel = one.who.name, .kind = one.who.kind, .median = one.expected_seconds};
  if (one.seconds.empty()) return made;
  const auto [least, most] = std::ranges::minmax(one.seconds);
  made.runs = static_cast<unsigned>(one.seconds.size());
  made.median = median(one.seconds);
  made.least = least;
  made.most = most;
  if (one.counted) made.counts = one.right ? verdict::right : verdict::wrong;
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
