#include "library/event_publisher.hpp"

#include "library/results.hpp"
#include "library/signals.hpp"
#include "library/unit_reports.hpp"
#include "report/conditions/watcher.hpp"
#include "report/units/group_watch.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::library {

namespace {

using report::gates::firing;
using report::gates::gate;
using report::gates::subject;

constexpr std::array<std::pair<subject::kind, alert::unit>, 4> alert_units = {
    {{subject::kind::total, alert::unit::totals},
     {subject::kind::input, alert::unit::input},
     {subject::kind::window, alert::unit::window},
     {subject::kind::event_window, alert::unit::event_window}}};

}  // namespace

alert alert_of(const firing& fired) {
  alert made{.fails = fired.effect == gate::kind::fail,
             .condition = fired.condition,
             .of = {},
             .input = fired.source,
             .window = fired.window,
             .event_start = fired.event_start,
             .first_offset = fired.begin,
             .end_offset = fired.end};
  for (const auto& [kind, named] : alert_units) {
    if (kind == fired.type) made.of = named;
  }
  if (fired.lines) made.lines = {.first = fired.lines->first, .last = fired.lines->last};
  for (const report::gates::named_value& each : fired.values)
    made.values.push_back({.name = each.name, .value = each.value});
  if (const auto& line = fired.line) {
    made.line = {.input = *line->input, .line = line->line, .offset = line->offset, .text = line->text};
  }
  return made;
}

firing firing_of(const alert& reported) {
  firing made{.effect = reported.fails ? gate::kind::fail : gate::kind::alert,
              .condition = reported.condition,
              .type = {},
              .source = reported.input,
              .window = reported.window,
              .begin = reported.first_offset,
              .end = reported.end_offset,
              .event_start = reported.event_start,
              .values = {}};
  for (const auto& [kind, named] : alert_units) {
    if (named == reported.of) made.type = kind;
  }
  if (reported.lines) made.lines = {.first = reported.lines->first, .last = reported.lines->last};
  for (const alert::named_value& each : reported.values)
    made.values.push_back({.name = each.name, .value = each.value});
  if (const auto& line = reported.line) {
    made.line = {.input = std::make_shared<const std::string>(line->input),
                 .line = line->line,
                 .offset = line->offset,
                 .text = line->text};
  }
  return made;
}

callback_sink::callback_sink(std::function<void(std::span<const std::byte>)> sink) : sink_(std::move(sink)) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::system_category());
  reading_ = io::descriptor(ends[0]);
  writing_ = io::descriptor(ends[1]);
  thread_ = start_without_signals([this] { forward(); });
}

callback_sink::~callback_sink() {
  writing_ = {};
  if (thread_.joinable()) thread_.join();
}

void callback_sink::finish() {
  writing_ = {};
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

void callback_sink::forward() noexcept {
  constexpr std::size_t block = std::size_t{256} << 10U;
  try {
    std::vector<std::byte> buffer(block);
    for (;;) {
      const ssize_t size = ::read(reading_.get(), buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) throw std::system_error(errno, std::system_category());
      if (size == 0) break;
      sink_(std::span(buffer).first(static_cast<std::size_t>(size)));
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  reading_ = {};  // a writer then fails
}

std::shared_ptr<const report::run_report> frame_of(const counting_plan& planned) {
  pipeline::run_counts none;
  none.partition = planned.partition;
  report::run_report made = make_report(planned, report::run_report::kind::snapshot, std::move(none));
  made.byte_counts = false;  // windows are reported by their schemes
  return std::make_shared<const report::run_report>(std::move(made));
}

event_publisher::event_publisher(const counting_plan& planned, counting_events events)
    : plan_(planned),
      events_(std::move(events)),
      watched_(
          planned.watched, planned.partition, planned.measuring,
          [this](const report::gates::firing& fired) { call(events_.on_alert, alert_of(fired)); }, planned.schemes),
      frame_(frame_of(planned)),
      baselines_(planned.measuring.previous_windows, planned.windows && planned.windows->per_input),
      event_watch_(planned.watched, planned.measuring, watched_, planned.units ? &planned.units->watched : nullptr) {}

void event_publisher::connect(pipeline::run_hooks& to) {
  to.window = [this](const pipeline::closed_window& closed) { return publish(closed); };
  to.verdict = [this](const pipeline::window_verdict& given) {
    call(events_.on_verdict, gpuhist::verdict{.first = given.first, .last = given.last, .verified = given.verified});
  };
  const bool inputs = plan_.watched.covers(report::gates::subject::kind::input);
  if (inputs)
    to.input_finished = [this](const pipeline::input_report& input) {
      return report::gates::watch_input(input, plan_.watched, watched_);
    };
  if (plan_.watched.growing && (inputs || plan_.watched.covers(report::gates::subject::kind::total))) {
    to.check_counts = [this](const pipeline::run_counts& now) {
      return report::gates::watch_so_far(now, plan_.watched, watched_);
    };
  }
}

void event_publisher::watch(const pipeline::input_report& earlier) {
  if (!plan_.watched.covers(report::gates::subject::kind::input)) return;
  report::gates::watch_input(earlier, plan_.watched, watched_);
}

void event_publisher::watch_totals(const pipeline::run_counts& result, const report::units::unit_result* units) {
  if (units == nullptr) {
    report::gates::watch_totals(result, plan_.watched, watched_);
    return;
  }
  if (units->groups && !plan_.units->lines->closes_windows()) {
    for (const report::units::event_window& each : units->groups->windows) watch(each);
  }
  const pipeline::observed_numbers found = report::units::numbers_of(*units);
  report::gates::watch_totals(result, plan_.watched, watched_, &found);
}

bool event_publisher::watch_facts_so_far(const pipeline::run_counts& now, const report::units::unit_result& units) {
  return report::gates::watch_facts_so_far(now, plan_.watched, watched_, report::units::numbers_of(units));
}

void event_publisher::watch(const report::units::event_window& closed) {
  if (event_watch_.watch(closed)) must_end_ = true;
}

void event_publisher::publish(const report::units::closed_event_window& closed) {
  if (wants_event_windows()) call(events_.on_event_window, lines_of(closed.of, *frame_));
}

void event_publisher::publish(std::span<const report::units::unit_record> found) {
  if (!events_.on_unit) return;
  for (const report::units::unit_record& each : found) call(events_.on_unit, unit_of(each, frame_));
}

void event_publisher::publish(const report::units::input_fault& found) {
  notify("warning: " + *found.input + ": " + found.cause);
}

// A window is published before its alerts. Returns whether the reading ends.
bool event_publisher::publish(const pipeline::closed_window& closed) {
  const report::measures::byte_counts* const baseline = baselines_.before(closed);
  if (events_.on_window) {
    call(events_.on_window, window(std::make_shared<const window::state>(window::state{
                                .frame = frame_,
                                .content = closed,
                                .baseline = baseline == nullptr ? std::nullopt : std::optional(*baseline)})));
  }
  const bool ends = report::gates::watch_window(closed, plan_.watched, watched_, baseline);
  baselines_.close(closed);
  return ends;
}

}  // namespace gpuhist::library
