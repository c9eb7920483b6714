#include "library/event_publisher.hpp"

#include "library/alerts.hpp"
#include "library/unit_reports.hpp"
#include "library/window.hpp"
#include "report/conditions/watcher.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {
namespace {

// "a.jsonl: line 7 is without field 'text': malformed JSON; so are 3 lines in all"
std::string notice_of(const units::lines_without_field& found, const std::string& field) {
  std::string text = *found.input + ": line " + std::to_string(found.first_line) + " is without field '" + field +
                     "': " + found.first_cause;
  if (found.lines > 1) text += "; " + std::to_string(found.lines) + " lines are without field";
  return "warning: " + text;
}

}  // namespace

std::shared_ptr<const report> frame_of(const counting_plan& planned) {
  run_counts none;
  none.partition = planned.partition;
  report made = make_report(planned, report::kind::snapshot, std::move(none));
  made.byte_counts = false;  // windows are reported by their schemes
  return std::make_shared<const report>(std::move(made));
}

event_publisher::event_publisher(const counting_plan& planned, counting_events events)
    : plan_(planned),
      events_(std::move(events)),
      watched_(
          planned.watched, planned.partition, planned.measuring,
          [this](const gates::firing& fired) { call(events_.on_alert, alert_of(fired)); }, planned.schemes),
      frame_(frame_of(planned)),
      baselines_(planned.measuring.previous_windows, planned.windows && planned.windows->per_input) {}

void event_publisher::connect(run_hooks& to) {
  to.window = [this](const closed_window& closed) { return publish(closed); };
  to.verdict = [this](const window_verdict& given) {
    call(events_.on_verdict, gpuhist::verdict{.first = given.first, .last = given.last, .verified = given.verified});
  };
  const bool inputs = plan_.watched.covers(gates::unit::kind::input);
  if (inputs) to.input_finished = [this](const input_report& input) { return watched_.watch(gates::unit_of(input)); };
  if (plan_.watched.growing && (inputs || plan_.watched.covers(gates::unit::kind::total))) {
    to.check_counts = [this](const run_counts& now) { return gates::watch_so_far(now, plan_.watched, watched_); };
  }
}

void event_publisher::watch(const input_report& earlier) {
  if (plan_.watched.covers(gates::unit::kind::input)) watched_.watch(gates::unit_of(earlier));
}

void event_publisher::watch_totals(const run_counts& result) { gates::watch_totals(result, plan_.watched, watched_); }

void event_publisher::publish(std::span<const units::unit_record> found) {
  if (!events_.on_unit) return;
  for (const units::unit_record& each : found) call(events_.on_unit, unit_of(each));
}

void event_publisher::publish(const units::lines_without_field& found) {
  notify(notice_of(found, plan_.units->field->name));
}

// A window is published before its alerts. Returns whether the reading ends.
bool event_publisher::publish(const closed_window& closed) {
  const measures::byte_counts* const baseline = baselines_.before(closed);
  if (events_.on_window) {
    call(events_.on_window, window(std::make_shared<const window::state>(window::state{
                                .frame = frame_,
                                .content = closed,
                                .baseline = baseline == nullptr ? std::nullopt : std::optional(*baseline)})));
  }
  const bool ends = watch(closed, baseline);
  baselines_.close(closed);
  return ends;
}

bool event_publisher::watch(const closed_window& closed, const measures::byte_counts* baseline) {
  const window_head& head = closed.head;
  return watched_.watch({.type = gates::unit::kind::window,
                         .source = head.source ? std::string_view(*head.source) : std::string_view(),
                         .window = head.index,
                         .begin = head.first_offset,
                         .end = head.end_offset,
                         .lines = closed.lines,
                         .counts = closed.counts,
                         .baseline = baseline});
}

}  // namespace gpuhist::pipeline
