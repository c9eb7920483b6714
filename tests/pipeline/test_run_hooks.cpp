// What a run tells while it goes on: progress by time, status by signal. Fed by a pipe, so that it goes on until told.
#include "pipeline/driver.hpp"
#include "pipeline/inputs/input_failure.hpp"
#include "pipeline/output/status_signal.hpp"
#include "pipeline/plan.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>
#include <string>
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

  [[nodiscard]] plan planned() const {
    config::options typed;
    typed.inputs = {"/dev/fd/" + std::to_string(ends_[0])};
    typed.buckets = {"bytes"};
    typed.engine = "host";
    return make_plan(typed);
  }

 private:
  std::array<int, 2> ends_{};
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
  hooks.make_engine = [](std::string_view name, const gpu::engine_request& request) {
    ::kill(::getpid(), SIGTERM);
    return gpu::make_engine(name, request);
  };
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
  hooks.snapshot = [&](const report&) {
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
