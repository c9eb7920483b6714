#include "library/file_run.hpp"

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "library/results.hpp"
#include "pipeline/flow/inputs/input_list.hpp"
#include "pipeline/flow/inputs/listed_input.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::library {

namespace {

async::task<> take_all(pipeline::input_list& from, std::vector<pipeline::listed_input>& to) {
  constexpr std::size_t batch = 1024;
  for (;;) {
    std::vector<pipeline::listed_input> next = co_await from.next(batch);
    if (next.empty()) co_return;
    to.insert(to.end(), std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
  }
}

}  // namespace

pipeline::looked_up_inputs look_up_inputs(const counting_plan& planned) {
  pipeline::looked_up_inputs found;
  async::event_loop loop;
  pipeline::input_list list(planned, loop, {});
  std::exception_ptr failure;
  bool has_ended = false;
  async::spawn(loop, take_all(list, found.inputs), [&](const std::exception_ptr& error) noexcept {
    failure = error;
    has_ended = true;
  });
  loop.run_until([&] { return has_ended && !loop.has_tasks(); });
  if (failure) std::rethrow_exception(failure);
  found.skipped = list.skipped();
  found.empty_trees = list.empty_trees();
  return found;
}

namespace {

bool has_failed(const pipeline::input_report& input) { return !input.complete && !io::is_cut_short(input.error_kind); }

progress progress_of(const pipeline::run_progress& now) {
  return {.source_bytes = now.source_bytes,
          .text_bytes = now.text_bytes,
          .elapsed = std::chrono::duration<double>(now.seconds)};
}

std::optional<pipeline::run_stats> stats_of(const counting_plan& planned, std::optional<pipeline::run_stats> measured) {
  if (!measured) return measured;
  for (const pipeline::scheme_view& each : planned.schemes) measured->schemes.push_back(each.scheme.name);
  return measured;
}

}  // namespace

file_run::file_run(const counting_plan& planned, const file_events& events, std::stop_token stop, process_hooks process)
    : plan_(planned),
      events_(events),
      stop_(std::move(stop)),
      process_(std::move(process)),
      publisher_(planned, static_cast<const counting_events&>(events)) {
  if (!plan_.units) return;
  const auto publish_units = [this](std::span<const report::units::unit_record> found) { publisher_.publish(found); };
  units_ = std::make_unique<unit_reports>(
      plan_, publisher_.wants_units() ? report::units::unit_run::report_units(publish_units) : nullptr,
      publisher_.wants_notices() ? report::units::unit_run::report_faults(
                                       [this](const report::units::input_fault& found) { publisher_.publish(found); })
                                 : nullptr,
      process_.outlets,
      process_.unit_lines ? process_.unit_lines(publisher_.frame()) : report::units::unit_line_output(),
      process_.units_by_input,
      report::units::closed_window_output{
          .note = [this](const report::units::closed_event_window& closed) { note(closed); },
          .is_reported = process_.on_event_window || publisher_.wants_event_windows()});
}

// A window is reported before its alerts.
void file_run::note(const report::units::closed_event_window& closed) {
  if (process_.on_event_window)
    process_.on_event_window(publisher_.frame(), closed, publisher_.baseline_of_event_window());
  publisher_.publish(closed);
  if (has_ended_by_condition_) return;
  for (const report::units::event_window& each : closed.of.windows) publisher_.watch(each);
}

finished_run file_run::run() {
  pipeline::outcome finished = pipeline::run(plan_, hooks());
  const bool ends_at_once = finished.end_at_once;
  try {
    if (process_.earlier != nullptr) add_earlier(finished.result);
    has_ended_by_condition_ = finished.ended_by_hook;
    if (units_ && units_->run().watermark() != nullptr) units_->run().close_windows();
    if (!finished.ended_by_hook) watch_totals(finished.result);
    return conclude(std::move(finished));
  } catch (...) {
    if (ends_at_once) throw pipeline::unclean_end(std::current_exception());
    throw;
  }
}

void file_run::watch_totals(const pipeline::run_counts& result) {
  if (!units_ || plan_.watched.gates.empty()) return publisher_.watch_totals(result, nullptr);
  const report::units::unit_result units = process_.all_units ? process_.all_units() : units_->result();
  publisher_.watch_totals(result, &units);
}

void file_run::add_earlier(pipeline::run_counts& to) {
  const pipeline::run_counts& earlier = *process_.earlier;
  for (const pipeline::input_report& each : earlier.inputs) publisher_.watch(each);
  to.add(earlier);
}

finished_run file_run::conclude(pipeline::outcome finished) const {
  finished_run made{
      .outcome = {.result = {},
                  .status = status_of(finished),
                  .ended_by_condition = finished.ended_by_hook,
                  .warning = finished.engine_warning,
                  .not_passed_through = finished.not_passed_through,
                  .empty_trees = {.count = finished.empty_trees.count, .first = finished.empty_trees.first}},
      .is_stopped = finished.is_stopped,
      .end_at_once = finished.end_at_once};
  if (const auto& fault = finished.pass_through_error) {
    made.outcome.pass_through_error = {.error = fault->error, .offset = fault->offset};
  }
  auto result = std::make_shared<results::state>();
  result->content = make_report(plan_, report::run_report::kind::result, std::move(finished.result));
  if (process_.earlier != nullptr) result->content.earlier_inputs = process_.earlier->inputs.size();
  if (units_) result->content.units = units_->result();
  if (units_ && result->content.units->missing) made.outcome.status = run_status::incomplete;
  result->content.stats = stats_of(plan_, std::move(finished.stats));
  result->failed = gpuhist::failure_of(finished.engine_failure, finished.engine_cause);
  made.outcome.result = results(std::move(result));
  return made;
}

pipeline::run_hooks file_run::hooks() {
  pipeline::run_hooks made;
  publisher_.connect(made);
  made.stop = stop_;
  if (units_) connect_units(made);
  if (events_.on_input) {
    made.input_finished = [this, watch = std::move(made.input_finished)](const pipeline::input_report& input) {
      publish(input);
      return watch && watch(input);
    };
  }
  if (process_.on_window_verdict) {
    made.verdict = [this, next = std::move(made.verdict)](const pipeline::window_verdict& given) {
      process_.on_window_verdict(given);
      next(given);
    };
  }
  if (process_.on_input) {
    made.input_finished = [this, next = std::move(made.input_finished)](const pipeline::input_report& input) {
      process_.on_input(input);
      return next && next(input);
    };
  }
  made.inputs_completed = process_.on_completed;
  made.prefixes = process_.on_prefixes;
  made.prefix_interval = process_.prefix_interval;
  if (events_.on_snapshot) {
    made.snapshot = [this](const pipeline::run_counts& now) {
      publisher_.call(events_.on_snapshot, results_of(report::run_report::kind::snapshot, now));
    };
  }
  if (publisher_.wants_notices()) made.notice = [this](const std::string& text) { publisher_.notify(text); };
  if (events_.on_progress) {
    made.progress = [this](const pipeline::run_progress& now) {
      publisher_.call(events_.on_progress, progress_of(now));
    };
    made.progress_interval = std::max(events_.progress_interval, std::chrono::milliseconds(1));
  }
  made.process_exits = process_.process_exits;
  made.write_kept = process_.write_kept;
  made.status = process_.on_status;
  made.status_requests = process_.status_requests;
  made.attach = process_.attach;
  return made;
}

void file_run::connect_units(pipeline::run_hooks& to) {
  using clock = std::chrono::steady_clock;
  units_->connect(to);
  const report::gates::watch_list& watched = plan_.watched;
  if (watched.growing && !watched.facts.empty() && watched.covers(report::gates::subject::kind::total)) {
    to.check_counts = [this, next = std::move(to.check_counts)](const pipeline::run_counts& now) {
      const bool ends = publisher_.watch_facts_so_far(now, units_->result());
      return (next && next(now)) || ends;
    };
  }
  if (units_->run().watermark() == nullptr) return;
  to.check_clock = [this, last = clock::now()]() mutable {
    const clock::time_point now = clock::now();
    units_->run().tick(std::chrono::nanoseconds(now - std::exchange(last, now)).count());
    return publisher_.must_end();
  };
}

// As a result that contains this input alone.
void file_run::publish(const pipeline::input_report& input) {
  pipeline::run_counts alone;
  alone.complete = input.complete;
  alone.partition = plan_.partition;
  alone.verified = input.verified;
  alone.unverified = input.unverified;
  alone.counted_unverified = input.counted_unverified;
  pipeline::add_utf8(alone.utf8, input.utf8);
  alone.inputs.push_back(input);
  publisher_.call(events_.on_input, results_of(report::run_report::kind::result, std::move(alone)));
}

results file_run::results_of(report::run_report::kind kind, pipeline::run_counts counts) const {
  auto made = std::make_shared<results::state>(
      results::state{.content = make_report(plan_, kind, std::move(counts)), .failed = {}});
  const bool has_lines = plan_.units && plan_.units->lines && !process_.units_by_input;
  if (kind == report::run_report::kind::snapshot && has_lines) made->content.units = units_->result();
  return results(std::move(made));
}

// Inputs that a condition or a stop request cuts short have not failed.
run_status file_run::status_of(const pipeline::outcome& finished) const {
  bool failed = !finished.result.complete;
  if (failed && (finished.ended_by_hook || stop_.stop_requested())) {
    failed = !finished.engine_failure.empty() || finished.pass_through_error ||
             std::ranges::any_of(finished.result.inputs, has_failed);
  }
  if (failed) return run_status::incomplete;
  if (!finished.result.complete && !finished.ended_by_hook) return run_status::stopped;
  return publisher_.has_failed() ? run_status::condition_held : run_status::complete;
}

std::optional<std::uint64_t> size_of_inputs(const counting_plan& planned) {
  const bool is_open_ended = planned.trees || planned.list;
  return is_open_ended ? std::nullopt : pipeline::source_bytes_of(planned.inputs);
}

}  // namespace gpuhist::library
