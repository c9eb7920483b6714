// Where progress is shown, how many bytes there are to read, and rates over a sliding window at times chosen by the
// test. Reports during a run: progress by time, status on request. A pipe feeds the run, so that the test decides when
// it ends. Runs for which not all slots can be page-locked: fewer slots, the same counts.
#include "async/semaphore.hpp"
#include "command/plan.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/flow/inputs/listed_input.hpp"
#include "report/output/progress.hpp"

#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_strings.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;
using namespace gpuhist::report;
using namespace std::chrono_literals;

TEST_CASE("by default progress is shown only on a terminal, in its foreground, and not if input is typed there") {
  for (int bits = 0; bits < 8; ++bits) {
    const bool terminal = (bits & 1) != 0;
    const bool foreground = (bits & 2) != 0;
    const bool typed_on = (bits & 4) != 0;
    const progress_style expected = terminal && foreground && !typed_on ? progress_style::line : progress_style::none;
    CHECK(choose_progress_style(
              {.requested = {}, .terminal = terminal, .foreground = foreground, .typed_on = typed_on}) == expected);
  }
}

TEST_CASE("--progress shows it anywhere, --no-progress and -q nowhere") {
  for (const bool terminal : {false, true}) {
    for (const bool unrelated : {false, true}) {
      progress_setting setting{.requested = true, .terminal = terminal, .foreground = unrelated, .typed_on = unrelated};
      CHECK(choose_progress_style(setting) == (terminal ? progress_style::line : progress_style::log));
      setting.quiet = true;
      CHECK(choose_progress_style(setting) == progress_style::none);
      setting = {.requested = false, .terminal = terminal, .foreground = unrelated, .typed_on = unrelated};
      CHECK(choose_progress_style(setting) == progress_style::none);
    }
  }
}

TEST_CASE("the bytes to read are the sum of regular files, each as often as it is named") {
  const test::temporary_folder folder;
  const std::string large = folder.file("large", std::string(1000, 'x'));
  const std::string small = folder.file("small", "12");
  CHECK(source_bytes_of(std::vector<std::string>{large, small, large}) == 2002);
}

TEST_CASE("the bytes of very many files are expected by those of a sample of them") {
  const test::temporary_folder folder;
  std::vector<std::string> names(10'000, folder.file("file", std::string(1000, 'x')));
  CHECK(expected_source_bytes(names) == 10'000'000);
  names.resize(3);
  names.push_back(folder.file("small", "12"));
  CHECK(expected_source_bytes(names) == 3002);
}

TEST_CASE("the bytes of trees are expected by those of their first files, and only of files that will be read") {
  const test::temporary_folder folder;
  const std::string one = folder / "one";
  const std::string other = folder / "other";
  std::filesystem::create_directory(one);
  std::filesystem::create_directory(other);
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(folder.file("one/" + std::to_string(i) + ".log", std::string(1000, 'x')));
    static_cast<void>(folder.file("one/" + std::to_string(i) + ".bak", std::string(5000, 'x')));
  }
  static_cast<void>(folder.file("other/a.log", std::string(500, 'x')));
  const std::vector<std::string> inputs{one, other, folder.file("named", "12")};
  CHECK(expected_source_bytes(inputs, io::walk_settings{}) == 600'502);
  io::walk_settings logs;
  logs.filter.include.emplace_back("*.log");
  CHECK(expected_source_bytes(inputs, logs) == 100'502);
  CHECK(expected_source_bytes(inputs) == 2);
  // 2^14 names and more: those of trees that are not looked at are expected to be like the others
  const std::vector<std::string> many(200, one);
  const std::optional<std::uint64_t> expected = expected_source_bytes(many, logs);
  REQUIRE(expected);
  CHECK(static_cast<double>(*expected) == doctest::Approx(20e6).epsilon(0.01));
}

TEST_CASE("one input of unknown size makes the sum unknown, and it is not opened to find out") {
  const test::temporary_folder folder;
  const std::string file = folder.file("file", "12");
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);  // opening it would wait for a writer
  CHECK_FALSE(source_bytes_of(std::vector<std::string>{file, fifo}).has_value());
  CHECK_FALSE(source_bytes_of(std::vector<std::string>{file, "/dev/null"}).has_value());
}

TEST_CASE("inputs that will fail have no bytes to read") {
  const test::temporary_folder folder;
  const std::string file = folder.file("file", "12");
  CHECK(source_bytes_of(std::vector<std::string>{file, file + ".missing", "/tmp"}) == 2);
}

namespace {

run_progress at(double seconds, std::uint64_t source, std::uint64_t text) {
  return {.source_bytes = source, .text_bytes = text, .seconds = seconds};
}

}  // namespace

TEST_CASE("a run that is younger than the window has the rates since its start") {
  rate_window window(3);
  CHECK(window.rates().source == 0);
  window.add(at(0.5, 100, 1000));
  window.add(at(2, 400, 3000));
  CHECK(window.rates().source == doctest::Approx(200));
  CHECK(window.rates().text == doctest::Approx(1500));
}

TEST_CASE("times before the window do not count: a run that stalls for a whole window has rate 0") {
  rate_window window(3);
  for (int i = 1; i <= 100; ++i) window.add(at(0.2 * i, 1000ULL * static_cast<unsigned>(i), 0));
  CHECK(window.rates().source == doctest::Approx(5000));
  for (int i = 101; i <= 115; ++i) window.add(at(0.2 * i, 100'000, 0));
  CHECK(window.rates().source < 100);
  window.add(at(0.2 * 117, 100'000, 0));
  CHECK(window.rates().source == 0);
}

TEST_CASE("a run that becomes faster shows its new rate one window later") {
  rate_window window(3);
  for (int second = 1; second <= 10; ++second) window.add(at(second, 100ULL * static_cast<unsigned>(second), 0));
  for (int second = 11; second <= 13; ++second) window.add(at(second, 1000ULL * static_cast<unsigned>(second - 9), 0));
  CHECK(window.rates().source == doctest::Approx(1000));
}

TEST_CASE("samples that are farther apart than the window are compared in pairs") {
  rate_window window(3);
  window.add(at(10, 100, 0));
  window.add(at(20, 1100, 0));
  CHECK(window.rates().source == doctest::Approx(100));
}

namespace {

class fed_pipe {
 public:
  fed_pipe() { REQUIRE(::pipe(ends_.data()) == 0); }
  fed_pipe(const fed_pipe&) = delete;
  fed_pipe& operator=(const fed_pipe&) = delete;
  ~fed_pipe() {
    end();
    ::close(ends_[0]);
  }

  void write(const std::string& text) const {
    REQUIRE(::write(ends_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

  void end() {
    if (const int open = std::exchange(ends_[1], -1); open >= 0) ::close(open);
  }

  [[nodiscard]] std::string name() const { return "/dev/fd/" + std::to_string(ends_[0]); }

  [[nodiscard]] config::options options() const {
    config::options typed;
    typed.inputs = {name()};
    typed.run.counting.schemes = {"bytes"};
    typed.run.counting.counting_engine = gpuhist::engine::host;
    return typed;
  }

  [[nodiscard]] plan planned() const { return make_plan(options()); }

 private:
  std::array<int, 2> ends_{};
};

run_hooks stopped_while_engine_is_made() {
  const std::stop_source stop;
  return {.stop = stop.get_token(),
          .make_engine = [stop](std::string_view name, const gpu::engine_request& request) mutable {
            stop.request_stop();
            return gpu::make_engine(name, request);
          }};
}

config::options with_windows(config::options typed, std::uint64_t bytes) {
  typed.format = "jsonl";
  typed.run.counting.windows = window_options{.length = bytes};
  return typed;
}

// Counts on the host, and reports states that only an engine with a device has.
class engine_with_a_device final : public gpu::engine {
 public:
  engine_with_a_device(const gpu::engine_request& request, bool still_waking, bool device_lost)
      : host_(gpu::make_engine("host", request).taken), still_waking_(still_waking), device_lost_(device_lost) {}

  std::string_view name() const override { return host_->name(); }
  const gpu::row_layout& layout() const override { return host_->layout(); }
  void register_memory(std::span<std::byte>, std::shared_ptr<const void>) override {}
  void submit(gpu::counting_job& job) override { host_->submit(job); }
  gpu::engine_stats stats() const override {
    gpu::engine_stats stats = host_->stats();
    stats.still_waking = still_waking_;
    stats.device_lost = device_lost_;
    return stats;
  }

 private:
  std::unique_ptr<gpu::engine> host_;
  bool still_waking_;
  bool device_lost_;
};

}  // namespace

TEST_CASE("progress is reported repeatedly, never decreases, and reaches the amount read") {
  fed_pipe input;
  std::string sent(10000, 'x');
  input.write(sent);
  std::vector<run_progress> reports;
  run_hooks hooks;
  hooks.progress_interval = 1ms;
  hooks.progress = [&](const run_progress& progress) {
    reports.push_back(progress);
    if (progress.source_bytes != sent.size()) return;
    if (sent.size() >= 50000) return input.end();
    input.write(std::string(10000, 'y'));
    sent.resize(sent.size() + 10000);
  };
  const outcome finished = run(input.planned(), hooks);
  CHECK(finished.result.verified.bytes() == 50000);
  REQUIRE(reports.size() >= 5);
  for (std::size_t i = 1; i < reports.size(); ++i) {
    CHECK(reports[i].source_bytes >= reports[i - 1].source_bytes);
    CHECK(reports[i].text_bytes >= reports[i - 1].text_bytes);
    CHECK(reports[i].seconds > reports[i - 1].seconds);
    CHECK(reports[i].text_bytes <= reports[i].source_bytes);
  }
  CHECK(reports.back().source_bytes == 50000);
}

TEST_CASE("every request reports the status, exactly for the bytes that have arrived, and counting continues") {
  fed_pipe input;
  input.write(std::string(12345, 'x'));
  std::uint64_t awaited = 12345;
  std::uint64_t requested_at = 0;
  std::vector<std::uint64_t> reports;
  run_hooks hooks{.status_requests = std::make_shared<async::wakeup>()};
  hooks.progress_interval = 1ms;
  hooks.progress = [&](const run_progress& progress) {
    if (progress.source_bytes == awaited && requested_at != awaited) hooks.status_requests->notify();
    if (progress.source_bytes == awaited) requested_at = awaited;
  };
  hooks.status = [&](const run_progress& progress) {
    reports.push_back(progress.text_bytes);
    CHECK(progress.source_bytes == awaited);
    if (reports.size() == 3) return input.end();
    input.write("and more");
    awaited += 8;
  };
  const outcome finished = run(input.planned(), hooks);
  CHECK(reports == std::vector<std::uint64_t>{12345, 12353, 12361});
  CHECK(finished.result.verified.bytes() == 12361);
  CHECK(finished.result.complete);
}

TEST_CASE("a request from before the run is answered in the run") {
  fed_pipe input;
  int reports = 0;
  run_hooks hooks{.status_requests = std::make_shared<async::wakeup>()};
  hooks.status_requests->notify();
  hooks.status = [&](const run_progress&) {
    ++reports;
    input.end();
  };
  CHECK(run(input.planned(), hooks).result.complete);
  CHECK(reports == 1);
}

TEST_CASE("a stop that is requested while the engine is made leaves every input unread") {
  fed_pipe input;
  input.write("text");
  const outcome finished = run(input.planned(), stopped_while_engine_is_made());
  CHECK(finished.is_stopped);
  CHECK_FALSE(finished.result.complete);
  CHECK(finished.result.verified.bytes() == 0);
  CHECK(finished.result.inputs[0].error_kind == failure_kind::not_read);
}

TEST_CASE("snapshots by time and status on request do not displace each other") {
  fed_pipe input;
  input.write("text");
  int snapshots = 0;
  int statuses = 0;
  plan planned = input.planned();
  planned.snapshot_every = 1ms;
  run_hooks hooks{.status_requests = std::make_shared<async::wakeup>()};
  hooks.snapshot = [&](const run_counts&) {
    if (statuses == 10) return input.end();
    if (++snapshots % 3 == 0) hooks.status_requests->notify();
    input.write("more");
  };
  hooks.status = [&](const run_progress&) { statuses += statuses < 10 ? 1 : 0; };
  run(planned, hooks);
  CHECK(statuses == 10);
}

TEST_CASE("an exception of the hook for progress or status ends the run and is rethrown") {
  fed_pipe input;  // does not end by itself
  run_hooks hooks;
  hooks.progress_interval = 1ms;
  hooks.progress = [](const run_progress&) { throw std::runtime_error("no more progress"); };
  CHECK_THROWS_WITH(run(input.planned(), hooks), "no more progress");
  hooks.status_requests = std::make_shared<async::wakeup>();
  hooks.status_requests->notify();
  hooks.progress = nullptr;
  hooks.status = [](const run_progress&) { throw std::runtime_error("no more status"); };
  CHECK_THROWS_WITH(run(input.planned(), hooks), "no more status");
}

TEST_CASE("an exception of the hook for finished inputs ends the run and is rethrown, also after everything was read") {
  const test::temporary_folder folder;
  fed_pipe input;  // does not end by itself
  run_hooks hooks;
  hooks.input_finished = [](const input_report&) -> bool { throw std::runtime_error("no more inputs"); };
  config::options typed = input.options();
  typed.inputs = {folder.file("text", std::string(3'000'000, 'x')), input.name()};
  CHECK_THROWS_WITH(run(make_plan(typed), hooks), "no more inputs");
  run_hooks stopped = stopped_while_engine_is_made();  // inputs that were not read are reported last
  stopped.input_finished = hooks.input_finished;
  CHECK_THROWS_WITH(run(input.planned(), stopped), "no more inputs");
}

TEST_CASE("an exception of the hook for counts so far ends the run and is rethrown") {
  fed_pipe input;
  run_hooks hooks;
  hooks.check_counts = [](const run_counts&) -> bool { throw std::runtime_error("no more counts"); };
  plan planned = input.planned();
  planned.snapshot_every = 1ms;
  CHECK_THROWS_WITH(run(planned, hooks), "no more counts");
}

TEST_CASE("an exception of the hook for windows ends the run and is rethrown, also for the last window") {
  fed_pipe input;
  input.write(std::string(2000, 'x') + "\n");  // longer than the longest header of a format
  run_hooks hooks;
  hooks.window = [](const closed_window&) -> bool { throw std::runtime_error("no more windows"); };
  CHECK_THROWS_WITH(run(make_plan(with_windows(input.options(), 4)), hooks), "no more windows");
  fed_pipe short_input;
  short_input.write("some text");
  const plan planned = make_plan(with_windows(short_input.options(), 1000));
  short_input.end();
  CHECK_THROWS_WITH(run(planned, hooks), "no more windows");
}

TEST_CASE("a request stops a run even if windows are reported more slowly than they close") {
  const test::temporary_folder folder;
  config::options typed = with_windows(fed_pipe().options(), 128);
  typed.inputs = {folder.file("text", std::string(std::size_t{20} << 20U, 'x'))};
  typed.run.counting.threads = 2;
  std::stop_source stop;
  run_hooks hooks{.stop = stop.get_token()};
  hooks.window = [&](const closed_window&) {
    stop.request_stop();
    std::this_thread::sleep_for(10us);
    return false;
  };
  const outcome finished = run(make_plan(typed), hooks);
  CHECK(finished.is_stopped);
  CHECK_FALSE(finished.result.complete);
}

TEST_CASE("an exception of the hook for verdicts over windows ends the run and is rethrown") {
  const test::temporary_folder folder;
  const test::byte_vector frame = test::zstd_frame_of(test::sample_text(100'000, 1));
  config::options typed = with_windows(fed_pipe().options(), 10'000);
  typed.inputs = {folder.file("one.zst", test::string_of(frame))};
  run_hooks hooks;
  hooks.window = [](const closed_window&) { return false; };
  int verdicts = 0;
  hooks.verdict = [&](const window_verdict&) { ++verdicts; };
  CHECK(run(make_plan(typed), hooks).result.complete);
  CHECK(verdicts > 0);
  hooks.verdict = [](const window_verdict&) { throw std::runtime_error("no more verdicts"); };
  CHECK_THROWS_WITH(run(make_plan(typed), hooks), "no more verdicts");
}

TEST_CASE("if a device is lost or still waking, the process is to end at once, however the run ends") {
  for (const auto& [still_waking, device_lost] : {std::pair(false, false), {true, false}, {false, true}}) {
    CAPTURE(still_waking);
    CAPTURE(device_lost);
    fed_pipe input;
    input.write("text");
    run_hooks hooks;
    hooks.make_engine = [&](std::string_view, const gpu::engine_request& request) {
      return gpu::engine_choice{.taken = std::make_unique<engine_with_a_device>(request, still_waking, device_lost),
                                .reason = {}};
    };
    hooks.progress_interval = 1ms;
    hooks.progress = [](const run_progress&) { throw std::runtime_error("no more progress"); };
    if (still_waking || device_lost) {
      CHECK_THROWS_AS(run(input.planned(), hooks), unclean_end);
    } else {
      CHECK_THROWS_WITH(run(input.planned(), hooks), "no more progress");
    }
    hooks.progress = nullptr;
    const plan planned = input.planned();
    input.end();
    CHECK(run(planned, hooks).end_at_once == (still_waking || device_lost));
  }
}

namespace {

constexpr std::size_t kib = 1024;
constexpr std::uint32_t planned_slots = 16;
constexpr gpu::cuda::result out_of_memory = 2;
constexpr gpu::cuda::result operating_system = 304;
constexpr gpu::cuda::result not_supported = 801;

plan plan_for(const std::string& path) {
  config::options typed;
  typed.inputs = {path};
  typed.run.counting.schemes = {"bytes"};
  typed.run.counting.counting_engine = gpuhist::engine::host;  // no effect: the hooks make the engine
  typed.run.chunk_size = 64 * kib;
  typed.run.slots = planned_slots;
  typed.run.counting.threads = 3;
  typed.stats = true;
  return make_plan(typed);
}

// A lane has page-locked memory of its own for 16 rows and extents, twice; the rest is left for slots.
run_hooks with_page_lock_limit(std::size_t bytes, gpu::cuda::result refusal = out_of_memory) {
  return {.make_engine = [bytes, refusal](std::string_view, gpu::engine_request request) {
    const auto ledger = std::make_shared<gpu::cuda::ledger>();
    ledger->max_registered_bytes = bytes;
    ledger->refusal = refusal;
    request.streams = 1;
    request.max_copy = 0;
    request.forecast = {};
    return gpu::engine_choice{
        .taken = std::make_unique<gpu::cuda::cuda_engine>(gpu::cuda::make_fake_runtime(ledger), request), .reason = {}};
  }};
}

std::string patterned_text(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i % 251);
  return text;
}

}  // namespace

TEST_CASE("less page-locked memory means fewer slots, down to two; all text is counted and the shortage is reported") {
  const test::temporary_folder folder;
  const std::size_t size = 3000 * kib + 7;
  const std::string text = patterned_text(size);
  const plan planned = plan_for(folder.file("text", text));
  std::array<std::uint64_t, 256> expected{};
  for (const char each : text) ++expected[static_cast<unsigned char>(each)];
  struct step {
    std::size_t bytes;
    unsigned slots;
    gpu::cuda::result refusal = out_of_memory;
  };
  for (const auto& [bytes, slots, refusal] : {step{2000 * kib, 16U},
                                              {1000 * kib, 8U},
                                              {1000 * kib, 8U, operating_system},
                                              {500 * kib, 4U},
                                              {260 * kib, 2U},
                                              {260 * kib, 2U, operating_system}}) {
    CAPTURE(bytes);
    CAPTURE(refusal);
    const outcome finished = run(planned, with_page_lock_limit(bytes, refusal));
    CHECK(finished.result.complete);
    CHECK(finished.engine_failure.empty());
    CHECK(std::ranges::equal(finished.result.verified.counts, expected));
    REQUIRE(finished.stats);
    CHECK(finished.stats->slots == slots);
    const std::string reason = "memory could be page-locked for " + std::to_string(slots) + " of 16 slots";
    CHECK(finished.stats->engine_reason == (slots < planned_slots ? reason : ""));
  }
}

TEST_CASE("if the device cannot page-lock host memory, all slots are used as they are, and this is reported") {
  const test::temporary_folder folder;
  const std::string text = patterned_text(3000 * kib + 7);
  const outcome finished = run(plan_for(folder.file("text", text)), with_page_lock_limit(0, not_supported));
  CHECK(finished.result.complete);
  CHECK(finished.result.verified.bytes() == text.size());
  CHECK_FALSE(finished.end_at_once);
  REQUIRE(finished.stats);
  CHECK(finished.stats->slots == planned_slots);
  CHECK(finished.stats->engine_reason ==
        "device 0 (fake device) cannot page-lock host memory (cudaErrorNotSupported): copies are slower");
}

TEST_CASE("if not even two slots can be page-locked, nothing is counted and the error gives a remedy") {
  const test::temporary_folder folder;
  const plan planned = plan_for(folder.file("text", "some text"));
  std::string error;
  try {
    run(planned, with_page_lock_limit(150 * kib));
  } catch (const gpu::engine_error& shortage) {
    error = shortage.what();
  }
  CAPTURE(error);
  CHECK(error.starts_with("device 0 (fake device): page-locking "));
  CHECK(error.ends_with("; try fewer --slots, a smaller --chunk-size or fewer --streams"));
}
