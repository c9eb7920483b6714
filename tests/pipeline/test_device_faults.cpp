// Whole runs over a fake CUDA runtime with one failure: an allocation, the creation of a thread, or a CUDA call, at
// every place, once or from then on. Every run ends. Complete inputs have the counts of a plain loop, and any other
// input has those of a prefix. Tries a sample of the places; with CAMPAIGN=all, every place.
#include "command/plan.hpp"
#include "pipeline/flow/driver.hpp"
#include "support/failing_resources.hpp"
#include "support/failing_runtime.hpp"
#include "support/fake_runtime.hpp"
#include "tests/pipeline/device_run.hpp"
#include "tests/pipeline/device_scenarios.hpp"
#include "tests/support/campaign.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
// Memory that a lost device may still write to is leaked if there is no memory to keep a pointer to it
// (gpu/cuda/kept_memory): the memory of the ring, and page-locked memory. One of the tests here has no memory then.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:gpuhist::gpu::cuda::pinned_memory::pinned_memory\nleak:gpuhist::pipeline::ring::ring\n"
         "leak:gpuhist::pipeline::staging_slots::locked_memory\n";
}
#endif

using namespace gpuhist;
using namespace gpuhist::pipeline;
using gpu::cuda::planned_failure;
using namespace test;

namespace {

constexpr unsigned max_places = 20'000;  // no run here has so many

// ---- a run that does not end

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr unsigned patience = 60;  // seconds
#else
constexpr unsigned patience = 10;
#endif

std::array<char, 300> place_of_run{};          // for the signal handler
std::atomic<unsigned> seconds_left{patience};  // for the signal handler

// Ends the program and prints the place of the failure if a run takes too long. Uses no thread and no memory, because
// requests for these may fail during the run. Counts single seconds, so that a pause of the machine does not end it.
class run_watchdog {
 public:
  explicit run_watchdog(const std::string& place) {
    std::snprintf(place_of_run.data(), place_of_run.size(), "a run does not end: %s\n", place.c_str());
    seconds_left = patience;
    std::signal(SIGALRM, [](int) {
      ::alarm(1);
      if (--seconds_left > 0) return;
      static_cast<void>(::write(STDERR_FILENO, place_of_run.data(), std::strlen(place_of_run.data())));
      std::abort();
    });
    ::alarm(1);
  }
  run_watchdog(const run_watchdog&) = delete;
  run_watchdog& operator=(const run_watchdog&) = delete;
  ~run_watchdog() { ::alarm(0); }
};

// ---- counts

using byte_counts = std::vector<std::uint64_t>;

byte_counts counts_of(std::string_view text) {
  byte_counts counts(256);
  for (const char each : text) ++counts[static_cast<unsigned char>(each)];
  return counts;
}

// ---- results

// The counts of an input are those of a prefix of its text; of the whole text if the input is complete.
void check_input(const input_report& input, const std::string& text) {
  const std::uint64_t bytes = input.verified.bytes();
  REQUIRE(bytes <= text.size());
  CHECK(input.verified.counts == counts_of(std::string_view(text).substr(0, bytes)));
  if (input.complete) CHECK(bytes == text.size());
}

bool has_reason(const outcome& finished) {
  if (!finished.engine_failure.empty() || finished.pass_through_error) return true;
  return std::ranges::any_of(finished.result.inputs, [](const input_report& each) { return !each.error.empty(); });
}

// `names`: of the inputs, in the order of their texts.
void check_outcome(const outcome& finished, const device_scenario& tested, const std::vector<std::string>& names) {
  std::size_t complete = 0;
  std::uint64_t sum = 0;
  for (const input_report& input : finished.result.inputs) {
    CAPTURE(input.name);
    CAPTURE(input.error);
    sum += input.verified.bytes();
    if (input.complete) ++complete;
    const auto at = std::ranges::find(names, input.name);
    if (at != names.end()) {
      check_input(input, tested.texts[static_cast<std::size_t>(at - names.begin())]);
    } else {  // the archive, if members are missing
      CHECK_FALSE(input.complete);
      CHECK(input.verified.bytes() == 0);
    }
  }
  CHECK(finished.result.verified.bytes() == sum);
  CAPTURE(finished.engine_failure);
  if (finished.result.complete) {
    CHECK(complete == names.size());
    CHECK(finished.result.inputs.size() == names.size());
    CHECK(finished.engine_failure.empty());
  } else {
    CHECK(has_reason(finished));
  }
}

// The names of the inputs of a run without failures.
std::vector<std::string> names_of(const device_scenario& tested) {
  const ended_run ended = run_once(tested, engine_kind::cuda, nullptr, nullptr);
  REQUIRE(ended.finished);
  REQUIRE(ended.finished->result.complete);
  std::vector<std::string> names;
  for (const input_report& each : ended.finished->result.inputs) names.push_back(each.name);
  REQUIRE(names.size() == tested.texts.size());
  return names;
}

// ---- places

bool tries_every_place() { return test::campaign_size() == test::campaign::all; }

// ONLY="auto, plain" selects one engine and scenario. Memory that a lost device may still write to is kept for good, so
// one process cannot try all of them.
bool is_wanted(const std::string& run_name) {
  const char* const only = std::getenv("ONLY");
  return only == nullptr || run_name == only;
}

// The results of the runs with one kind of failure in one scenario.
struct tally_of_runs {
  unsigned places = 0;
  unsigned runs = 0;
  unsigned exact = 0;
  unsigned incomplete = 0;
  unsigned errors = 0;

  void add(const ended_run& ended) {
    ++runs;
    if (!ended.finished) {
      ++errors;
    } else if (ended.finished->result.complete) {
      ++exact;
    } else {
      ++incomplete;
    }
  }

  void show(const std::string& run_name) const {
    if (!tries_every_place()) return;
    std::printf("| %s | %u | %u | %u | %u | %u |\n", run_name.c_str(), places, runs, exact, incomplete, errors);
    std::fflush(stdout);
  }
};

// Calls `run_at` with places from 1 on until it returns false because the place was not reached. Tries every place, or
// about `samples` of them including the first.
void for_places(unsigned known_places, unsigned samples, const std::function<bool(unsigned)>& run_at) {
  const unsigned step = tries_every_place() ? 1 : 1 + known_places / samples;
  for (unsigned place = 1; place < max_places; place += step) {
    if (!run_at(place)) return;
  }
  FAIL("a run has more places than are tried");
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr unsigned usual_places = 5;
#else
constexpr unsigned usual_places = 12;
#endif

unsigned sampled_places() { return test::unless_sampled(usual_places, 2U); }

void check_run(const ended_run& ended, const device_scenario& tested, const std::vector<std::string>& names) {
  CAPTURE(ended.error);
  if (ended.finished) {
    check_outcome(*ended.finished, tested, names);
    if (ended.finished->result.complete && tested.planned.passes_through.has_value()) {
      CHECK(ended.forwarded == tested.raw);
    }
  } else {
    CHECK_FALSE(ended.error.empty());
  }
}

void fail_resource(const device_scenario& tested, const std::vector<std::string>& names, engine_kind kind,
                   test::resource lacking, failing_resource::extent duration, const std::string& run_name) {
  tally_of_runs tally;
  unsigned all = 0;
  {
    failing_resource none(lacking, ~0U);
    static_cast<void>(run_once(tested, kind, nullptr, &none));
    all = none.requested();
  }
  for_places(all, sampled_places(), [&](unsigned place) {
    const std::string place_name = run_name + ", place " + std::to_string(place);
    CAPTURE(place_name);
    const run_watchdog watch(place_name);
    failing_resource failing(lacking, place, duration);
    const ended_run ended = run_once(tested, kind, nullptr, &failing);
    check_run(ended, tested, names);
    CHECK(ended.misuses == std::vector<std::string>{});
    if (!failing.was_reached()) {
      CHECK(ended.finished.has_value());
      if (ended.finished) CHECK(ended.finished->result.complete);
      return false;
    }
    tally.places = place;
    tally.add(ended);
    return true;
  });
  tally.show(run_name);
}

// One call fails once. With `auto` the host counts what the device cannot.
void fail_call(const device_scenario& tested, const std::vector<std::string>& names, engine_kind kind,
               planned_failure::kind duration, gpu::cuda::result code, const std::string& run_name) {
  tally_of_runs tally;
  const auto none = std::make_shared<planned_failure>(~0U, duration, code);
  static_cast<void>(run_once(tested, kind, none, nullptr));
  for_places(none->calls(), sampled_places(), [&](unsigned place) {
    const auto plan = std::make_shared<planned_failure>(place, duration, code);
    const std::string place_name = run_name + ", place " + std::to_string(place);
    CAPTURE(place_name);
    const run_watchdog watch(place_name);
    const ended_run ended = run_once(tested, kind, plan, nullptr);
    const std::string failed_call = plan->failed_call();
    CAPTURE(failed_call);
    check_run(ended, tested, names);
    CHECK(std::ranges::all_of(ended.misuses, gpu::cuda::is_left_on_the_device));
    if (kind == engine_kind::automatic || failed_call.empty()) {
      CHECK(ended.finished.has_value());
      if (ended.finished) CHECK(ended.finished->result.complete);
    }
    if (ended.finished && !tested.raw.empty()) CHECK(ended.forwarded == tested.raw);
    if (failed_call.empty()) return false;
    tally.places = place;
    tally.add(ended);
    return true;
  });
  tally.show(run_name);
}

// A call of a device fails for good. From then on the run has no memory, or its `nth` allocation fails.
void fail_call_and_memory(const device_scenario& tested, const std::vector<std::string>& names, engine_kind kind,
                          failing_resource::extent duration, unsigned nth, const std::string& run_name) {
  constexpr gpu::cuda::result launch_failure = 719;
  tally_of_runs tally;
  const auto none = std::make_shared<planned_failure>(~0U, planned_failure::kind::sticky, launch_failure);
  static_cast<void>(run_once(tested, kind, none, nullptr));
  for_places(none->calls(), sampled_places(), [&](unsigned place) {
    const auto plan = std::make_shared<planned_failure>(place, planned_failure::kind::sticky, launch_failure);
    const std::string place_name = run_name + ", place " + std::to_string(place);
    CAPTURE(place_name);
    const run_watchdog watch(place_name);
    failing_resource failing(test::resource::memory, nth, duration);
    const ended_run ended = run_once(tested, kind, plan, &failing);
    check_run(ended, tested, names);
    CHECK(std::ranges::all_of(ended.misuses, gpu::cuda::is_left_on_the_device));
    if (plan->failed_call().empty()) return false;
    tally.places = place;
    tally.add(ended);
    return true;
  });
  tally.show(run_name);
}

template <typename Fail>
void for_every_run(Fail fail) {
  const test::temporary_folder folder;
  for (const device_scenario& each : test::device_scenarios(folder)) {
    const std::vector<std::string> names = names_of(each);
    for (const auto& [kind, name] : engine_kinds) {
      const std::string run_name = std::string(name) + ", " + each.name;
      if (is_wanted(run_name)) fail(each, names, kind, run_name);
    }
  }
}

}  // namespace

TEST_CASE("whichever allocation of a run over devices fails, the run ends, and complete results are exact") {
  for_every_run([](const device_scenario& tested, const auto& names, engine_kind kind, const std::string& run_name) {
    fail_resource(tested, names, kind, test::resource::memory, failing_resource::extent::once,
                  run_name + ", memory once");
  });
}

TEST_CASE("whenever memory runs out in a run over devices, the run ends, and complete results are exact") {
  for_every_run([](const device_scenario& tested, const auto& names, engine_kind kind, const std::string& run_name) {
    fail_resource(tested, names, kind, test::resource::memory, failing_resource::extent::from_then_on,
                  run_name + ", no more memory");
  });
}

TEST_CASE("whichever thread of a run over devices cannot be created, the run ends, and complete results are exact") {
  for_every_run([](const device_scenario& tested, const auto& names, engine_kind kind, const std::string& run_name) {
    fail_resource(tested, names, kind, test::resource::thread, failing_resource::extent::once, run_name + ", a thread");
    fail_resource(tested, names, kind, test::resource::thread, failing_resource::extent::from_then_on,
                  run_name + ", no more threads");
  });
}

TEST_CASE("whichever CUDA call of a run fails once, the run ends, and complete results are exact") {
  for (const auto& [code, name] : {std::pair(1, "invalid value"), {2, "out of memory"}, {719, "launch failure"}}) {
    for_every_run(
        [code, name](const device_scenario& tested, const auto& names, engine_kind kind, const std::string& run_name) {
          fail_call(tested, names, kind, planned_failure::kind::once, code, run_name + ", " + name + " once");
        });
  }
}

TEST_CASE("if all CUDA calls of a run fail from any one of them on, the run ends, and complete results are exact") {
  for (const auto& [code, name] : {std::pair(1, "invalid value"), {2, "out of memory"}, {719, "launch failure"}}) {
    for_every_run(
        [code, name](const device_scenario& tested, const auto& names, engine_kind kind, const std::string& run_name) {
          fail_call(tested, names, kind, planned_failure::kind::sticky, code, run_name + ", " + name + " from then on");
        });
  }
}

TEST_CASE("a run whose device fails after memory has run out ends, and complete results are exact") {
  for_every_run([](const device_scenario& tested, const auto& names, engine_kind kind, const std::string& run_name) {
    fail_call_and_memory(tested, names, kind, failing_resource::extent::from_then_on, 1,
                         run_name + ", a device and all memory");
    for (unsigned nth = 1; nth <= (tries_every_place() ? 8U : 1U); ++nth) {
      fail_call_and_memory(tested, names, kind, failing_resource::extent::once, nth,
                           run_name + ", a device and its allocation " + std::to_string(nth));
    }
  });
}

TEST_CASE("in runs without a failure every engine counts all text, and devices count a part of it") {
  for_every_run([](const device_scenario& tested, const auto& names, engine_kind kind, const std::string& run_name) {
    CAPTURE(run_name);
    const ended_run ended = run_once(tested, kind, nullptr, nullptr);
    REQUIRE(ended.finished);
    check_run(ended, tested, names);
    CHECK(ended.finished->result.complete);
    if (tested.is_for_the_device || kind != engine_kind::automatic) CHECK(ended.device_bytes > 0);
  });
}
