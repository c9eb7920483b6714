// Whole runs over a fake CUDA runtime with one failure: an allocation, the creation of a thread, or a CUDA call, at
// every place, once or from then on. Every run ends. Complete inputs have the counts of a plain loop, and any other
// input has those of a prefix. Tries a sample of the places; with CAMPAIGN=all, every place.
#include "gpu/automatic_engine.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/program/plan.hpp"
#include "support/failing_resources.hpp"
#include "support/failing_runtime.hpp"
#include "support/fake_runtime.hpp"
#include "support/sparing_runtime.hpp"
#include "tests/pipeline/device_scenarios.hpp"
#include "tests/support/campaign.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
// Memory that a lost device may still write to is leaked if there is no memory to keep a pointer to it
// (gpu/cuda/kept_memory): the memory of the ring, and page-locked memory. One of the tests here has no memory then.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:gpuhist::gpu::cuda::pinned_memory::pinned_memory\nleak:gpuhist::pipeline::ring::ring\n";
}
#endif

using namespace gpuhist;
using namespace gpuhist::pipeline;
using gpu::cuda::planned_failure;
using test::device_scenario;
using test::failing_resource;

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

// ---- engines

enum class engine_kind { cuda, two_devices, automatic };

constexpr std::array<std::pair<engine_kind, const char*>, 3> engine_kinds{
    {{engine_kind::cuda, "cuda"}, {engine_kind::two_devices, "two devices"}, {engine_kind::automatic, "auto"}}};

// The automatic engine, with a device wanted from the first chunk on. submit() waits until the device is awake or has
// failed, so that the device takes part in every run.
class awaited_engine final : public gpu::engine {
 public:
  explicit awaited_engine(std::unique_ptr<gpu::automatic_engine> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  const gpu::row_layout& layout() const override { return inner_->layout(); }
  void register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) override {
    inner_->register_memory(memory, std::move(owner));
  }
  void submit(gpu::counting_job& job) override {
    inner_->submit(job);
    const test::spared own;
    while (inner_->stats().still_waking) std::this_thread::yield();
  }
  bool counts_here() const override { return inner_->counts_here(); }
  gpu::engine_stats stats() const override { return inner_->stats(); }
  bool can_count() const override { return inner_->can_count(); }

 private:
  std::unique_ptr<gpu::automatic_engine> inner_;
};

// The objects that are made for one run. Outlives the run.
class machine {
 public:
  machine(engine_kind kind, bool is_for_the_device, std::shared_ptr<planned_failure> plan)
      : kind_(kind), is_for_the_device_(is_for_the_device), plan_(std::move(plan)) {}
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;
  ~machine() {  // waits for a thread that wakes a device
    in_use_.reset();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_unused_; });
  }

  gpu::engine_choice make(gpu::engine_request request) const {
    request.streams = 2;
    request.forecast = {};
    request.all_devices = kind_ == engine_kind::two_devices;
    request.max_copy = 2 * test::scenario_chunk_bytes;
    if (kind_ != engine_kind::automatic) return {.taken = make_cuda(request), .reason = {}};
    request.threads = 0;
    request.load = {.busy_decoders = is_for_the_device_ ? &busy_decoders_ : nullptr};
    const gpu::automatic_engine::settings wanted_at_once{
        .wake = [this, request, in_use = in_use_] { return make_cuda(request); },
        .patience = std::chrono::milliseconds(0),
        .max_device_bytes = std::uint64_t{1} << 40U,
        .min_extent = 0};
    return {.taken = std::make_unique<awaited_engine>(std::make_unique<gpu::automatic_engine>(request, wanted_at_once)),
            .reason = {}};
  }

  [[nodiscard]] std::vector<std::string> misuses() const { return ledger_->misuses(); }

 private:
  std::unique_ptr<gpu::engine> make_cuda(const gpu::engine_request& request) const {
    std::unique_ptr<gpu::cuda::runtime> api;
    {
      const test::spared own;
      const std::size_t devices = kind_ == engine_kind::two_devices ? 2 : 1;
      api = gpu::cuda::make_fake_runtime(ledger_,
                                         std::vector<gpu::cuda::device_properties>(devices, gpu::cuda::fake_device()));
      ledger_->may_be_lost = plan_ != nullptr;
      if (plan_) api = gpu::cuda::make_failing_runtime(std::move(api), plan_);
      api = test::make_sparing_runtime(std::move(api));
    }
    return std::make_unique<gpu::cuda::cuda_engine>(std::move(api), request);
  }

  engine_kind kind_;
  bool is_for_the_device_;
  std::atomic<std::uint64_t> busy_decoders_ = 0;  // as many as the request has threads
  std::shared_ptr<planned_failure> plan_;
  std::shared_ptr<gpu::cuda::ledger> ledger_ = std::make_shared<gpu::cuda::ledger>();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_unused_ = false;
  std::shared_ptr<machine> in_use_{this, [](machine* owner) {  // held by all that may still make an engine
                                     const std::scoped_lock lock(owner->mutex_);
                                     owner->is_unused_ = true;
                                     owner->changed_.notify_all();
                                   }};
};

// ---- runs

// While this exists, standard output of this process goes into memory.
class captured_output {
 public:
  captured_output() : before_(::dup(STDOUT_FILENO)), memory_(::memfd_create("output", MFD_CLOEXEC)) {
    std::fflush(stdout);
    ::dup2(memory_, STDOUT_FILENO);
  }
  captured_output(const captured_output&) = delete;
  captured_output& operator=(const captured_output&) = delete;
  ~captured_output() {
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
    ::close(memory_);
  }

  [[nodiscard]] std::string text() const {
    std::string all(static_cast<std::size_t>(::lseek(memory_, 0, SEEK_END)), '\0');
    all.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(memory_, all.data(), all.size(), 0))));
    return all;
  }

 private:
  int before_;
  int memory_;
};

struct ended_run {
  std::optional<outcome> finished;  // empty: the run threw
  std::string error;                // the message of the exception
  std::string forwarded;
  std::vector<std::string> misuses;
  std::uint64_t device_bytes = 0;  // counted by devices
};

run_hooks hooks_for(const device_scenario& tested, const machine& setup) {
  run_hooks hooks;
  hooks.make_engine = [&](std::string_view, const gpu::engine_request& request) { return setup.make(request); };
  if (tested.planned.windows) hooks.window = [](const closed_window&) { return false; };
  if (tested.planned.snapshot_every) hooks.snapshot = [](const run_counts&) {};
  return hooks;
}

std::uint64_t device_bytes_of(const outcome& finished) {
  return finished.stats ? finished.stats->counting.device_bytes : 0;
}

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const unclean_end& end) {
    return message_of(end.cause());
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

// `failing` is armed during the run or, if a CUDA call is to fail as well, after that call. Null: no resource fails.
ended_run run_once(const device_scenario& tested, engine_kind kind, const std::shared_ptr<planned_failure>& plan,
                   failing_resource* failing) {
  ended_run ended;
  std::optional<failing_resource::scope> armed;
  if (tested.prepare) tested.prepare();
  const machine setup(kind, tested.is_for_the_device, plan);
  const run_hooks hooks = hooks_for(tested, setup);
  const captured_output output;
  if (failing != nullptr && plan) plan->on_failure = [&] { armed.emplace(*failing); };
  if (failing != nullptr && !plan) armed.emplace(*failing);
  std::exception_ptr error;
  try {
    ended.finished = run(tested.planned, hooks);
  } catch (...) {
    error = std::current_exception();
  }
  const test::spared own;
  if (error) ended.error = message_of(error);
  if (ended.finished) ended.device_bytes = device_bytes_of(*ended.finished);
  ended.forwarded = output.text();
  ended.misuses = setup.misuses();
  return ended;
}

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

unsigned sampled_places() { return test::campaign_size() == test::campaign::sample ? 2 : usual_places; }

void check_run(const ended_run& ended, const device_scenario& tested, const std::vector<std::string>& names) {
  CAPTURE(ended.error);
  if (ended.finished) {
    check_outcome(*ended.finished, tested, names);
    if (ended.finished->result.complete && tested.planned.passes_through != config::pass_through_mode::nothing) {
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
