// Whole runs over a fake CUDA runtime in which one thing fails: an allocation, the creation of a thread, or a CUDA
// call, at every place, once or from then on. Every run ends; what it calls complete are the counts of a plain loop,
// and what it counted of any other input are those of a prefix. A sample of the places; with CAMPAIGN=all every one.
#include "gpu/automatic_engine.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/program/plan.hpp"
#include "support/failing_resources.hpp"
#include "support/failing_runtime.hpp"
#include "support/fake_runtime.hpp"
#include "support/sparing_runtime.hpp"
#include "tests/io/archive_samples.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/io/tar_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
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
#include <map>
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
// Memory that a lost device may still write to is leaked where there is no memory to keep a pointer to it
// (gpu/cuda/kept_memory): what the ring maps and what is page-locked. One of the tests here has no memory then.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:gpuhist::gpu::cuda::pinned_memory::pinned_memory\nleak:gpuhist::pipeline::ring::ring\n";
}
#endif

using namespace gpuhist;
using namespace gpuhist::pipeline;
using gpu::cuda::planned_failure;
using test::failing_resource;

namespace {

constexpr unsigned chunk_bytes = 4096;
constexpr unsigned max_places = 20'000;  // no run here has so many

// ---- a run that does not end

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr unsigned patience = 60;  // seconds
#else
constexpr unsigned patience = 10;
#endif

std::array<char, 300> place_of_run{};          // for the handler of a signal
std::atomic<unsigned> seconds_left{patience};  // likewise

// Ends the program, with the place of the fault, where a run lasts too long. Needs neither a thread nor memory, which
// the faults of the run would meet. Counts seconds one by one: a machine that is paused does not run out of patience.
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

// ---- inputs

using byte_counts = std::vector<std::uint64_t>;

byte_counts counts_of(std::string_view text) {
  byte_counts counts(256);
  for (const char each : text) ++counts[static_cast<unsigned char>(each)];
  return counts;
}

std::string characters(const test::byte_vector& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string sample(std::size_t bytes, std::uint32_t seed = 1) { return characters(test::sample_text(bytes, seed)); }

std::string zstd_frame(std::string_view text) { return characters(test::zstd_frame_of(test::bytes_of(text))); }

std::string zstd_frames(std::string_view text, std::size_t size) {
  std::string all;
  for (std::size_t at = 0; at < text.size(); at += size) all += zstd_frame(text.substr(at, size));
  return all;
}

// What is counted, and the text of each input in the order of the report.
struct scenario {
  std::string name;
  plan planned;
  std::vector<std::string> texts;
  std::string raw{};                // what is to go on to standard output
  std::function<void()> prepare{};  // before each run
  bool is_for_the_device = true;    // of `auto`: as much as can be; else host and device race for it
};

config::options options_for(std::vector<std::string> inputs) {
  config::options typed;
  typed.inputs = std::move(inputs);
  typed.buckets = {"bytes"};
  typed.engine = "host";  // of no matter: the engine is handed in
  typed.threads = 2;
  typed.chunk_size = chunk_bytes;
  typed.slots = 5;
  typed.stats = true;
  return typed;
}

scenario several_inputs(const test::temporary_folder& folder) {
  std::vector<std::string> names;
  std::vector<std::string> texts;
  const auto add = [&](const std::string& content, std::string text) {
    names.push_back(folder.file("input" + std::to_string(names.size()), content));
    texts.push_back(std::move(text));
  };
  for (unsigned i = 0; i < 6; ++i) add(sample(700 * i, i), sample(700 * i, i));
  const std::string text = sample(20'000, 9);
  add(zstd_frames(text, 6000), text);
  add(text, text);
  add(characters(test::gzip_member_of(test::bytes_of(text))), text);
  return {
      .name = "several inputs", .planned = make_plan(options_for(names)), .texts = texts, .is_for_the_device = false};
}

scenario windows(const test::temporary_folder& folder, const std::string& text) {
  config::options typed = options_for({folder.file("windows", text)});
  typed.format = "jsonl";
  typed.window = config::window_extent{.unit = config::window_extent::measure::bytes, .amount = 3000};
  return {.name = "windows", .planned = make_plan(typed), .texts = {text}};
}

scenario snapshots(const test::temporary_folder& folder, const std::string& text) {
  config::options typed = options_for({folder.file("snapshots", text)});
  typed.snapshot_every = std::uint64_t{10'000};
  return {.name = "snapshots", .planned = make_plan(typed), .texts = {text}};
}

// So many chunks that queues of pointers allocate again and again.
scenario small_chunks(const test::temporary_folder& folder, const std::string& text) {
  config::options typed = options_for({folder.file("small chunks", text)});
  typed.chunk_size = 300;
  return {.name = "small chunks", .planned = make_plan(typed), .texts = {text}};
}

scenario stage(const test::temporary_folder& folder, const std::string& text) {
  config::options typed = options_for({folder.file("stage", text)});
  typed.pass_through = config::pass_through_mode::raw;
  return {.name = "pass-through", .planned = make_plan(typed), .texts = {text}, .raw = text};
}

// A pipe whose writer has gone. Each run reads a new one, under the same number.
scenario piped(const std::string& text) {
  const int descriptor = ::memfd_create("the pipe's number", MFD_CLOEXEC);
  const auto fill = [descriptor, text] {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));  // it holds 64 KiB
    REQUIRE(::dup2(ends[0], descriptor) == descriptor);
    for (const int end : ends) ::close(end);
  };
  fill();
  return {.name = "pipe",
          .planned = make_plan(options_for({"/dev/fd/" + std::to_string(descriptor)})),
          .texts = {text},
          .prepare = fill};
}

std::vector<scenario> scenarios(const test::temporary_folder& folder) {
  const std::string text = sample(40'000);
  const auto one = [&](const std::string& name, const std::string& content) {
    return scenario{.name = name, .planned = make_plan(options_for({folder.file(name, content)})), .texts = {text}};
  };
  std::vector<scenario> all{one("plain", text), one("one zstd frame", zstd_frame(text)),
                            one("many zstd frames", zstd_frames(text, 5000)),
                            one("gzip", characters(test::gzip_member_of(test::bytes_of(text))))};
  all.front().is_for_the_device = false;
  all.push_back(several_inputs(folder));
  const std::string second = sample(9000, 2);
  all.push_back(one("tar", test::tar_member("first", text) + test::tar_member("second", second) + test::tar_end()));
  all.back().texts.push_back(second);
  all.push_back(one("zip", test::archive_of({{"first", text}, {"second", second}}, archive_write_set_format_zip)));
  all.back().texts.push_back(second);
  all.push_back(piped(text));
  all.push_back(small_chunks(folder, text));
  all.push_back(windows(folder, text));
  all.push_back(snapshots(folder, text));
  all.push_back(stage(folder, text));
  return all;
}

// ---- engines

enum class engine_kind { cuda, two_devices, automatic };

constexpr std::array<std::pair<engine_kind, const char*>, 3> engine_kinds{
    {{engine_kind::cuda, "cuda"}, {engine_kind::two_devices, "two devices"}, {engine_kind::automatic, "auto"}}};

// The automatic engine, in which a device is wanted from the first chunk on. The thread that submits waits until it is
// awake or cannot be had, so that it has its part in every run.
class awaited_engine final : public gpu::engine {
 public:
  explicit awaited_engine(std::unique_ptr<gpu::automatic_engine> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  const gpu::partition& row_partition() const override { return inner_->row_partition(); }
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

// What is made for one run, and outlives it.
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
    request.max_copy = 2 * chunk_bytes;
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

  [[nodiscard]] std::vector<std::string> misuses() const { return seen_->misuses(); }

 private:
  std::unique_ptr<gpu::engine> make_cuda(const gpu::engine_request& request) const {
    std::unique_ptr<gpu::cuda::runtime> api;
    {
      const test::spared own;
      const std::size_t devices = kind_ == engine_kind::two_devices ? 2 : 1;
      api = gpu::cuda::make_fake_runtime(seen_,
                                         std::vector<gpu::cuda::device_properties>(devices, gpu::cuda::fake_device()));
      seen_->may_be_lost = plan_ != nullptr;
      if (plan_) api = gpu::cuda::make_failing_runtime(std::move(api), plan_);
      api = test::make_sparing_runtime(std::move(api));
    }
    return std::make_unique<gpu::cuda::cuda_engine>(std::move(api), request);
  }

  engine_kind kind_;
  bool is_for_the_device_;
  std::atomic<std::uint64_t> busy_decoders_ = 0;  // as many as the request has threads
  std::shared_ptr<planned_failure> plan_;
  std::shared_ptr<gpu::cuda::ledger> seen_ = std::make_shared<gpu::cuda::ledger>();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_unused_ = false;
  std::shared_ptr<machine> in_use_{this, [](machine* of) {  // held by all that may still make an engine
                                     const std::scoped_lock lock(of->mutex_);
                                     of->is_unused_ = true;
                                     of->changed_.notify_all();
                                   }};
};

// ---- runs

// Standard output of this process, while it lives, goes into memory.
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
  std::optional<outcome> done;  // nothing: it threw
  std::string error;            // what
  std::string pass_through_mode;
  std::vector<std::string> misuses;
  std::uint64_t device_bytes = 0;  // counted by devices
};

run_hooks hooks_for(const scenario& of, const machine& here) {
  run_hooks hooks;
  hooks.make_engine = [&](std::string_view, const gpu::engine_request& request) { return here.make(request); };
  if (of.planned.windows) hooks.window = [](const closed_window&) { return false; };
  if (of.planned.snapshot_every) hooks.snapshot = [](const run_counts&) {};
  return hooks;
}

std::uint64_t device_bytes_of(const outcome& done) { return done.stats ? done.stats->counting.device_bytes : 0; }

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const unclean_end& end) {
    return text_of(end.cause());
  } catch (const std::exception& each) {
    return each.what();
  }
}

// `failing` is armed while it runs or, where a call is to fail as well, from that on. Null: nothing of its kind fails.
ended_run run_once(const scenario& of, engine_kind kind, const std::shared_ptr<planned_failure>& plan,
                   failing_resource* failing) {
  ended_run ended;
  std::optional<failing_resource::scope> armed;
  if (of.prepare) of.prepare();
  const machine here(kind, of.is_for_the_device, plan);
  const run_hooks hooks = hooks_for(of, here);
  const captured_output output;
  if (failing != nullptr && plan) plan->on_failure = [&] { armed.emplace(*failing); };
  if (failing != nullptr && !plan) armed.emplace(*failing);
  std::exception_ptr error;
  try {
    ended.done = run(of.planned, hooks);
  } catch (...) {
    error = std::current_exception();
  }
  const test::spared own;
  if (error) ended.error = text_of(error);
  if (ended.done) ended.device_bytes = device_bytes_of(*ended.done);
  ended.pass_through_mode = output.text();
  ended.misuses = here.misuses();
  return ended;
}

// What an input is said to hold is the beginning of what it holds, all of it where it is called complete.
void check_input(const input_report& said, const std::string& text) {
  const std::uint64_t bytes = said.verified.bytes();
  REQUIRE(bytes <= text.size());
  CHECK(said.verified.counts == counts_of(std::string_view(text).substr(0, bytes)));
  if (said.complete) CHECK(bytes == text.size());
}

bool says_why(const outcome& done) {
  if (!done.engine_failure.empty() || done.pass_through_error) return true;
  return std::ranges::any_of(done.result.inputs, [](const input_report& each) { return !each.error.empty(); });
}

// `names`: of the inputs, in the order of their texts.
void check_outcome(const outcome& done, const scenario& of, const std::vector<std::string>& names) {
  std::size_t complete = 0;
  std::uint64_t sum = 0;
  for (const input_report& said : done.result.inputs) {
    CAPTURE(said.name);
    CAPTURE(said.error);
    sum += said.verified.bytes();
    if (said.complete) ++complete;
    const auto at = std::ranges::find(names, said.name);
    if (at != names.end()) {
      check_input(said, of.texts[static_cast<std::size_t>(at - names.begin())]);
    } else {  // the archive, of which members are missing
      CHECK_FALSE(said.complete);
      CHECK(said.verified.bytes() == 0);
    }
  }
  CHECK(done.result.verified.bytes() == sum);
  CAPTURE(done.engine_failure);
  if (done.result.complete) {
    CHECK(complete == names.size());
    CHECK(done.result.inputs.size() == names.size());
    CHECK(done.engine_failure.empty());
  } else {
    CHECK(says_why(done));
  }
}

// The names of the inputs of a run in which nothing fails.
std::vector<std::string> names_of(const scenario& of) {
  const ended_run ended = run_once(of, engine_kind::cuda, nullptr, nullptr);
  REQUIRE(ended.done);
  REQUIRE(ended.done->result.complete);
  std::vector<std::string> names;
  for (const input_report& each : ended.done->result.inputs) names.push_back(each.name);
  REQUIRE(names.size() == of.texts.size());
  return names;
}

// ---- places

bool takes_all() {
  const char* const campaign = std::getenv("CAMPAIGN");
  return campaign != nullptr && std::string_view(campaign) == "all";
}

// ONLY="auto, plain": one engine and scenario. Memory that a lost device may still write to is kept for good, so all of
// them are too much for one process.
bool is_wanted(const std::string& where) {
  const char* const only = std::getenv("ONLY");
  return only == nullptr || where == only;
}

// What became of the runs of one kind of fault in one scenario.
struct tally_of_runs {
  unsigned places = 0;
  unsigned runs = 0;
  unsigned exact = 0;
  unsigned incomplete = 0;
  unsigned errors = 0;

  void add(const ended_run& ended) {
    ++runs;
    if (!ended.done) {
      ++errors;
    } else if (ended.done->result.complete) {
      ++exact;
    } else {
      ++incomplete;
    }
  }

  void show(const std::string& where) const {
    if (!takes_all()) return;
    std::printf("| %s | %u | %u | %u | %u | %u |\n", where.c_str(), places, runs, exact, incomplete, errors);
    std::fflush(stdout);
  }
};

// Calls `run_at` with places from 1 on until one was not reached, which it says by false: with every place, or with
// about `most` of them, among them the first.
void for_places(unsigned known_places, unsigned most, const std::function<bool(unsigned)>& run_at) {
  const unsigned step = takes_all() ? 1 : 1 + known_places / most;
  for (unsigned place = 1; place < max_places; place += step) {
    if (!run_at(place)) return;
  }
  FAIL("a run has more places than are tried");
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr unsigned sampled_places = 5;
#else
constexpr unsigned sampled_places = 12;
#endif

void check_run(const ended_run& ended, const scenario& of, const std::vector<std::string>& names) {
  CAPTURE(ended.error);
  if (ended.done) {
    check_outcome(*ended.done, of, names);
    if (ended.done->result.complete && of.planned.passes_through != config::pass_through_mode::nothing) {
      CHECK(ended.pass_through_mode == of.raw);
    }
  } else {
    CHECK_FALSE(ended.error.empty());
  }
}

void fail_resource(const scenario& of, const std::vector<std::string>& names, engine_kind kind, test::resource what,
                   failing_resource::extent how_long, const std::string& where) {
  tally_of_runs tally;
  unsigned all = 0;
  {
    failing_resource none(what, ~0U);
    static_cast<void>(run_once(of, kind, nullptr, &none));
    all = none.requested();
  }
  for_places(all, sampled_places, [&](unsigned place) {
    const std::string said = where + ", place " + std::to_string(place);
    CAPTURE(said);
    const run_watchdog watch(said);
    failing_resource failing(what, place, how_long);
    const ended_run ended = run_once(of, kind, nullptr, &failing);
    check_run(ended, of, names);
    CHECK(ended.misuses == std::vector<std::string>{});
    if (!failing.was_reached()) {
      CHECK(ended.done.has_value());
      if (ended.done) CHECK(ended.done->result.complete);
      return false;
    }
    tally.places = place;
    tally.add(ended);
    return true;
  });
  tally.show(where);
}

bool is_left_on_the_device(const std::string& misuse) { return misuse.ends_with("never given back"); }

// A call that fails once. Of `auto` whatever fails is counted by the host.
void fail_call(const scenario& of, const std::vector<std::string>& names, engine_kind kind, planned_failure::kind how,
               gpu::cuda::result code, const std::string& where) {
  tally_of_runs tally;
  const auto none = std::make_shared<planned_failure>(~0U, how, code);
  static_cast<void>(run_once(of, kind, none, nullptr));
  for_places(none->calls(), sampled_places, [&](unsigned place) {
    const auto plan = std::make_shared<planned_failure>(place, how, code);
    const std::string said = where + ", place " + std::to_string(place);
    CAPTURE(said);
    const run_watchdog watch(said);
    const ended_run ended = run_once(of, kind, plan, nullptr);
    const std::string failed_call = plan->failed_call();
    CAPTURE(failed_call);
    check_run(ended, of, names);
    CHECK(std::ranges::all_of(ended.misuses, is_left_on_the_device));
    if (kind == engine_kind::automatic || failed_call.empty()) {
      CHECK(ended.done.has_value());
      if (ended.done) CHECK(ended.done->result.complete);
    }
    if (ended.done && !of.raw.empty()) CHECK(ended.pass_through_mode == of.raw);
    if (failed_call.empty()) return false;
    tally.places = place;
    tally.add(ended);
    return true;
  });
  tally.show(where);
}

// A call of a device that fails for good, in a run that has no more memory from then on, or lacks it once.
void fail_call_and_memory(const scenario& of, const std::vector<std::string>& names, engine_kind kind,
                          failing_resource::extent how_long, unsigned nth, const std::string& where) {
  constexpr gpu::cuda::result launch_failure = 719;
  tally_of_runs tally;
  const auto none = std::make_shared<planned_failure>(~0U, planned_failure::kind::sticky, launch_failure);
  static_cast<void>(run_once(of, kind, none, nullptr));
  for_places(none->calls(), sampled_places, [&](unsigned place) {
    const auto plan = std::make_shared<planned_failure>(place, planned_failure::kind::sticky, launch_failure);
    const std::string said = where + ", place " + std::to_string(place);
    CAPTURE(said);
    const run_watchdog watch(said);
    failing_resource failing(test::resource::memory, nth, how_long);
    const ended_run ended = run_once(of, kind, plan, &failing);
    check_run(ended, of, names);
    CHECK(std::ranges::all_of(ended.misuses, is_left_on_the_device));
    if (plan->failed_call().empty()) return false;
    tally.places = place;
    tally.add(ended);
    return true;
  });
  tally.show(where);
}

template <typename Fail>
void for_every_run(Fail fail) {
  const test::temporary_folder folder;
  for (const scenario& each : scenarios(folder)) {
    const std::vector<std::string> names = names_of(each);
    for (const auto& [kind, name] : engine_kinds) {
      const std::string where = std::string(name) + ", " + each.name;
      if (is_wanted(where)) fail(each, names, kind, where);
    }
  }
}

}  // namespace

TEST_CASE("whichever allocation of a run over devices fails, it ends, and what it calls complete is exact") {
  for_every_run([](const scenario& of, const auto& names, engine_kind kind, const std::string& where) {
    fail_resource(of, names, kind, test::resource::memory, failing_resource::extent::once, where + ", memory once");
  });
}

TEST_CASE("whenever there is no more memory in a run over devices, it ends, and what it calls complete is exact") {
  for_every_run([](const scenario& of, const auto& names, engine_kind kind, const std::string& where) {
    fail_resource(of, names, kind, test::resource::memory, failing_resource::extent::from_then_on,
                  where + ", no more memory");
  });
}

TEST_CASE("whichever thread of a run over devices cannot be had, it ends, and what it calls complete is exact") {
  for_every_run([](const scenario& of, const auto& names, engine_kind kind, const std::string& where) {
    fail_resource(of, names, kind, test::resource::thread, failing_resource::extent::once, where + ", a thread");
    fail_resource(of, names, kind, test::resource::thread, failing_resource::extent::from_then_on,
                  where + ", no more threads");
  });
}

TEST_CASE("whichever CUDA call of a run fails once, it ends, and what it calls complete is exact") {
  for (const auto& [code, name] : {std::pair(1, "invalid value"), {2, "out of memory"}, {719, "launch failure"}}) {
    for_every_run([code, name](const scenario& of, const auto& names, engine_kind kind, const std::string& where) {
      fail_call(of, names, kind, planned_failure::kind::once, code, where + ", " + name + " once");
    });
  }
}

TEST_CASE("from whichever CUDA call on all of a run fail, it ends, and what it calls complete is exact") {
  for (const auto& [code, name] : {std::pair(1, "invalid value"), {2, "out of memory"}, {719, "launch failure"}}) {
    for_every_run([code, name](const scenario& of, const auto& names, engine_kind kind, const std::string& where) {
      fail_call(of, names, kind, planned_failure::kind::sticky, code, where + ", " + name + " from then on");
    });
  }
}

TEST_CASE("a run whose device fails when there is no more memory ends, and what it calls complete is exact") {
  for_every_run([](const scenario& of, const auto& names, engine_kind kind, const std::string& where) {
    fail_call_and_memory(of, names, kind, failing_resource::extent::from_then_on, 1,
                         where + ", a device and all memory");
    for (unsigned nth = 1; nth <= (takes_all() ? 8U : 1U); ++nth) {
      fail_call_and_memory(of, names, kind, failing_resource::extent::once, nth,
                           where + ", a device and its allocation " + std::to_string(nth));
    }
  });
}

TEST_CASE("in runs without a fault every engine counts all, and devices count a part of it") {
  for_every_run([](const scenario& of, const auto& names, engine_kind kind, const std::string& where) {
    CAPTURE(where);
    const ended_run ended = run_once(of, kind, nullptr, nullptr);
    REQUIRE(ended.done);
    check_run(ended, of, names);
    CHECK(ended.done->result.complete);
    if (of.is_for_the_device || kind != engine_kind::automatic) CHECK(ended.device_bytes > 0);
  });
}
