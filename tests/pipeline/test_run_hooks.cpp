// What a run tells while it goes on: progress by time, status by signal. Fed by a pipe, so that it goes on until told.
#include "pipeline/counts/input_failure.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/flow/status_signal.hpp"
#include "pipeline/program/plan.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;
using namespace std::chrono_literals;

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
    typed.buckets = {"bytes"};
    typed.engine = "host";
    return typed;
  }

  [[nodiscard]] plan planned() const { return make_plan(options()); }

 private:
  std::array<int, 2> ends_{};
};

gpu::engine_choice asked_to_stop_while_it_is_made(std::string_view name, const gpu::engine_request& request) {
  ::kill(::getpid(), SIGTERM);
  return gpu::make_engine(name, request);
}

config::options with_windows(config::options typed, std::uint64_t bytes) {
  typed.format = "jsonl";
  typed.window = config::window_extent{.unit = config::window_extent::measure::bytes, .amount = bytes};
  return typed;
}

// Counts on the host, and says of itself what only an engine with a device can say.
class engine_with_a_device final : public gpu::engine {
 public:
  engine_with_a_device(const gpu::engine_request& request, bool still_waking, bool device_lost)
      : host_(gpu::make_engine("host", request).taken), still_waking_(still_waking), device_lost_(device_lost) {}

  std::string_view name() const override { return host_->name(); }
  const gpu::partition& row_partition() const override { return host_->row_partition(); }
  void register_memory(std::span<std::byte>, std::shared_ptr<const void>) override {}
  void submit(gpu::counting_job& job) override { host_->submit(job); }
  gpu::engine_stats stats() const override {
    gpu::engine_stats seen = host_->stats();
    seen.still_waking = still_waking_;
    seen.device_lost = device_lost_;
    return seen;
  }

 private:
  std::unique_ptr<gpu::engine> host_;
  bool still_waking_;
  bool device_lost_;
};

}  // namespace

TEST_CASE("progress is told again and again, never goes back, and reaches what was read") {
  fed_pipe input;
  std::string sent(10000, 'x');
  input.write(sent);
  std::vector<run_progress> told;
  run_hooks hooks;
  hooks.progress_interval = 1ms;
  hooks.progress = [&](const run_progress& now) {
    told.push_back(now);
    if (now.source_bytes != sent.size()) return;
    if (sent.size() >= 50000) return input.end();
    input.write(std::string(10000, 'y'));
    sent.resize(sent.size() + 10000);
  };
  const outcome done = run(input.planned(), hooks);
  CHECK(done.result.verified.bytes() == 50000);
  REQUIRE(told.size() >= 5);
  for (std::size_t i = 1; i < told.size(); ++i) {
    CHECK(told[i].source_bytes >= told[i - 1].source_bytes);
    CHECK(told[i].text_bytes >= told[i - 1].text_bytes);
    CHECK(told[i].seconds > told[i - 1].seconds);
    CHECK(told[i].text_bytes <= told[i].source_bytes);
  }
  CHECK(told.back().source_bytes == 50000);
}

TEST_CASE("status is told for every signal, of exactly what came, and counting goes on") {
  hold_status_signal();
  fed_pipe input;
  input.write(std::string(12345, 'x'));
  std::uint64_t awaited = 12345;
  std::uint64_t asked_at = 0;
  std::vector<std::uint64_t> told;
  run_hooks hooks;
  hooks.progress_interval = 1ms;
  hooks.progress = [&](const run_progress& now) {
    if (now.source_bytes == awaited && asked_at != awaited) ::kill(::getpid(), SIGUSR1);
    if (now.source_bytes == awaited) asked_at = awaited;
  };
  hooks.status = [&](const run_progress& now) {
    told.push_back(now.text_bytes);
    CHECK(now.source_bytes == awaited);
    if (told.size() == 3) return input.end();
    input.write("and more");
    awaited += 8;
  };
  const outcome done = run(input.planned(), hooks);
  CHECK(told == std::vector<std::uint64_t>{12345, 12353, 12361});
  CHECK(done.result.verified.bytes() == 12361);
  CHECK(done.result.complete);
}

TEST_CASE("a signal that came before the run is answered in it") {
  hold_status_signal();
  ::kill(::getpid(), SIGUSR1);
  fed_pipe input;
  int told = 0;
  run_hooks hooks;
  hooks.status = [&](const run_progress&) {
    ++told;
    input.end();
  };
  CHECK(run(input.planned(), hooks).result.complete);
  CHECK(told == 1);
}

TEST_CASE("a signal to stop that came while the engine was made leaves every input unread") {
  fed_pipe input;
  input.write("text");
  run_hooks hooks;
  hooks.watch_signals = true;
  hooks.make_engine = asked_to_stop_while_it_is_made;
  const outcome done = run(input.planned(), hooks);
  CHECK(done.signal == SIGTERM);
  CHECK_FALSE(done.result.complete);
  CHECK(done.result.verified.bytes() == 0);
  CHECK(done.result.inputs[0].error_kind == failure_kind::not_read);
}

TEST_CASE("snapshots by time and status by signal do not take each other's turn") {
  hold_status_signal();
  fed_pipe input;
  input.write("text");
  int snapshots = 0;
  int statuses = 0;
  plan planned = input.planned();
  planned.snapshot_every = 1ms;
  run_hooks hooks;
  hooks.snapshot = [&](const run_counts&) {
    if (statuses == 10) return input.end();
    if (++snapshots % 3 == 0) ::kill(::getpid(), SIGUSR1);
    input.write("more");
  };
  hooks.status = [&](const run_progress&) { statuses += statuses < 10 ? 1 : 0; };
  run(planned, hooks);
  CHECK(statuses == 10);
}

TEST_CASE("what the receiver of progress or of status throws ends the run and comes back from it") {
  hold_status_signal();
  fed_pipe input;  // which does not end by itself
  run_hooks hooks;
  hooks.progress_interval = 1ms;
  hooks.progress = [](const run_progress&) { throw std::runtime_error("no more progress"); };
  CHECK_THROWS_WITH(run(input.planned(), hooks), "no more progress");
  hooks.progress = [](const run_progress&) { ::kill(::getpid(), SIGUSR1); };
  hooks.status = [](const run_progress&) { throw std::runtime_error("no more status"); };
  CHECK_THROWS_WITH(run(input.planned(), hooks), "no more status");
}

TEST_CASE("an error of a callback for inputs ends the run and is rethrown, also after everything was read") {
  const test::temporary_folder folder;
  fed_pipe input;  // which does not end by itself
  run_hooks hooks;
  hooks.input_finished = [](const input_report&) -> bool { throw std::runtime_error("no more inputs"); };
  config::options typed = input.options();
  typed.inputs = {folder.file("text", std::string(3'000'000, 'x')), input.name()};
  CHECK_THROWS_WITH(run(make_plan(typed), hooks), "no more inputs");
  hooks.watch_signals = true;
  hooks.make_engine = asked_to_stop_while_it_is_made;  // inputs that were not read are reported last
  CHECK_THROWS_WITH(run(input.planned(), hooks), "no more inputs");
}

TEST_CASE("an error of a callback for what was counted so far ends the run and is rethrown") {
  fed_pipe input;
  run_hooks hooks;
  hooks.check_counts = [](const run_counts&) -> bool { throw std::runtime_error("no more counts"); };
  plan planned = input.planned();
  planned.snapshot_every = 1ms;
  CHECK_THROWS_WITH(run(planned, hooks), "no more counts");
}

TEST_CASE("an error of a callback for windows ends the run and is rethrown, also for the last window") {
  fed_pipe input;
  input.write(std::string(2000, 'x') + "\n");  // more than the longest head of a format
  run_hooks hooks;
  hooks.window = [](const closed_window&) -> bool { throw std::runtime_error("no more windows"); };
  CHECK_THROWS_WITH(run(make_plan(with_windows(input.options(), 4)), hooks), "no more windows");
  fed_pipe short_input;
  short_input.write("some text");
  const plan planned = make_plan(with_windows(short_input.options(), 1000));
  short_input.end();
  CHECK_THROWS_WITH(run(planned, hooks), "no more windows");
}

TEST_CASE("a signal stops a run also while windows are reported more slowly than they close") {
  const test::temporary_folder folder;
  config::options typed = with_windows(fed_pipe().options(), 128);
  typed.inputs = {folder.file("text", std::string(std::size_t{20} << 20U, 'x'))};
  typed.threads = 2;
  run_hooks hooks;
  hooks.watch_signals = true;
  std::uint64_t windows = 0;
  hooks.window = [&](const closed_window&) {
    if (++windows == 1) ::kill(::getpid(), SIGTERM);
    std::this_thread::sleep_for(10us);
    return false;
  };
  const outcome done = run(make_plan(typed), hooks);
  CHECK(done.signal == SIGTERM);
  CHECK_FALSE(done.result.complete);
}

TEST_CASE("an error of a callback for verdicts over windows ends the run and is rethrown") {
  const test::temporary_folder folder;
  const test::byte_vector frame = test::zstd_frame_of(test::sample_text(100'000, 1));
  config::options typed = with_windows(fed_pipe().options(), 10'000);
  typed.inputs = {folder.file("one.zst", {reinterpret_cast<const char*>(frame.data()), frame.size()})};
  run_hooks hooks;
  hooks.window = [](const closed_window&) { return false; };
  int verdicts = 0;
  hooks.verdict = [&](const window_verdict&) { ++verdicts; };
  CHECK(run(make_plan(typed), hooks).result.complete);
  CHECK(verdicts > 0);
  hooks.verdict = [](const window_verdict&) { throw std::runtime_error("no more verdicts"); };
  CHECK_THROWS_WITH(run(make_plan(typed), hooks), "no more verdicts");
}

TEST_CASE("where a device is lost or still waking, the process is to end at once, however the run ends") {
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
