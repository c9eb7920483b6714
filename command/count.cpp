// `gpuhist [FILE...]`: typed options -> plan -> run -> report.
#include "command/alert_command.hpp"
#include "command/command_frame.hpp"
#include "command/commands.hpp"
#include "command/plan.hpp"
#include "command/resumed_result.hpp"
#include "command/run_messages.hpp"
#include "command/signals.hpp"
#include "config/text.hpp"
#include "library/event_publisher.hpp"
#include "library/file_run.hpp"
#include "library/results.hpp"
#include "report/formats/report.hpp"
#include "report/formats/report_alert.hpp"
#include "report/formats/report_groups.hpp"
#include "report/formats/report_json.hpp"
#include "report/output/destination.hpp"
#include "report/output/messages.hpp"
#include "report/output/progress.hpp"
#include "report/output/report_writer.hpp"
#include "report/output/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::command {
namespace {

bool reads_from_terminal(const plan& planned) {
  return std::ranges::find(planned.inputs, "-") != planned.inputs.end() && ::isatty(STDIN_FILENO) == 1;
}

// The progress line would be written between the bytes that are passed through.
bool shares_terminal(const plan& planned) { return planned.passes_through.has_value() && ::isatty(STDOUT_FILENO) == 1; }

report::table_sections sections_of(const plan& planned) {
  return {.inputs = !planned.totals_only, .listing = &planned.listing};
}

report::progress make_progress(const plan& planned, report::console& screen) {
  const report::progress_style style =
      report::choose_progress_style({.requested = planned.progress,
                                     .quiet = planned.quiet || shares_terminal(planned),
                                     .terminal = screen.is_terminal() && !report::terminal_is_dumb(),
                                     .foreground = screen.is_in_foreground(),
                                     .typed_on = reads_from_terminal(planned)});
  return {screen, style, style == report::progress_style::none ? std::nullopt : library::size_of_inputs(planned)};
}

// What a run writes to, and passes alerts to.
struct run_outputs {
  report::report_writer& reports;
  report::console& screen;
  alert_command* commands = nullptr;  // null without --exec
};

// Null without --exec. Must be destroyed before the command frame, which keeps the stop signal.
std::unique_ptr<alert_command> make_alert_command(const config::options& typed) {
  if (!typed.exec) return nullptr;
  return std::make_unique<alert_command>(alert_command_setting{.command = *typed.exec,
                                                               .stop_descriptor = kept_stop_signal::notification(),
                                                               .report =
                                                                   [](std::string_view message) {
                                                                     report::erase_line_of_status();
                                                                     report::complain(message);
                                                                   },
                                                               .before_start = report::erase_line_of_status});
}

// Prints a condition that holds on standard error and, if the format has lines for alerts, writes it to the output.
// Passes it to the command of --exec.
void print_alert(const plan& planned, const alert& reported, const run_outputs& to) {
  const report::gates::firing fired = library::firing_of(reported);
  const std::size_t width = report::text_width(report::target_for_standard_error());
  to.screen.say("gpuhist: " + report::firing_for_people(fired, width) + "\n");
  if (!planned.format->carries_alerts && to.commands == nullptr) return;
  std::string line = report::alert_line(fired, to.reports.run());
  if (planned.format->carries_alerts) to.reports.write(line);
  if (to.commands != nullptr) to.commands->pass({.condition = fired.condition, .line = std::move(line)});
}

void write_window(const window& closed, report::report_writer& reports) {
  const window::state& counted = closed.shared();
  reports.write(report::window_line(*counted.frame, reports.run(), counted.content,
                                    counted.baseline ? &*counted.baseline : nullptr));
}

// The counts of a snapshot, which may be kept.
std::shared_ptr<const report::run_report> report_of(const results& counts) {
  const auto kept = std::make_shared<const results>(counts);
  return {kept, &kept->shared().content};
}

file_events events_of(const plan& planned, const run_outputs& to, report::progress& shown) {
  report::report_writer& reports = to.reports;
  report::console& screen = to.screen;
  file_events made;
  made.on_window = [&](const window& closed) { write_window(closed, reports); };
  made.on_verdict = [&](const verdict& given) {
    reports.write(
        report::verdict_line(reports.run(), {.first = given.first, .last = given.last, .verified = given.verified}));
  };
  made.on_alert = [&](const alert& reported) { print_alert(planned, reported, to); };
  made.on_snapshot = [&](const results& now) { reports.write_snapshot(report_of(now)); };
  made.on_notice = [&](std::string_view notice) {
    if (!planned.quiet) screen.say("gpuhist: " + report::printable(notice) + "\n");
  };
  if (!shown.is_shown()) return made;
  made.progress_interval = shown.interval();
  made.on_progress = [&](const gpuhist::progress& now) {
    shown.update({.source_bytes = now.source_bytes, .text_bytes = now.text_bytes, .seconds = now.elapsed.count()});
  };
  return made;
}

// The schemes and measures of the lines of inputs, and what they are counted with, without counts.
std::shared_ptr<const report::run_report> frame_of_inputs(const plan& planned, resumed_result* earlier) {
  pipeline::run_counts none;
  none.partition = planned.partition;
  report::run_report made = library::make_report(planned, report::run_report::kind::result, std::move(none));
  made.counted_with = counted_with(planned);
  if (earlier != nullptr) made.state_of = [earlier](const std::string& name) { return earlier->state_of(name); };
  return std::make_shared<const report::run_report>(std::move(made));
}

library::process_hooks hooks_of(const plan& planned, resumed_result* earlier, report::report_writer& reports,
                                library::process_hooks made) {
  if (earlier != nullptr) made.earlier = &earlier->counts();
  if (planned.format->input_line != nullptr) {
    made.on_completed =
        [&reports, frame = frame_of_inputs(planned, earlier)](std::span<const pipeline::completed_input> completed) {
          reports.write_inputs(*frame, completed);
        };
  }
  if (planned.units && planned.units->lists_selected() && planned.format->unit_lines != nullptr) {
    made.unit_lines = [&](const report::run_report& frame) { return reports.unit_lines(frame); };
  }
  if (planned.units && planned.units->lines && planned.units->lines->closes_windows() &&
      planned.format->carries_alerts) {
    made.on_event_window = [&reports](const report::run_report& frame, const report::units::closed_event_window& closed,
                                      const report::measures::byte_counts* baseline) {
      reports.write(report::event_window_line(frame, reports.run(), closed, baseline));
    };
  }
  if (reports.may_keep()) made.write_kept = [&] { reports.write_kept(); };
  return made;
}

// Runs the plan and shows its progress. The progress line is erased when the run ends, also by an exception.
library::finished_run run_with_progress(const plan& planned, resumed_result* earlier, const run_outputs& to,
                                        const command_frame& frame) {
  report::progress shown = make_progress(planned, to.screen);
  const file_events events = events_of(planned, to, shown);
  return library::file_run(planned, events, frame.stop().get_token(),
                           hooks_of(planned, earlier, to.reports, frame.hooks(to.screen)))
      .run();
}

ending::status exit_status_of(run_status status, bool has_changes) {
  switch (status) {
    case run_status::complete:
      return has_changes ? ending::gate_failed : ending::counted_all;
    case run_status::condition_held:
      return ending::gate_failed;
    case run_status::incomplete:
    case run_status::stopped:
      break;
  }
  return ending::input_failed;
}

// A signal that arrives after the last input was read does not interrupt the report.
std::string_view after_signal(const library::finished_run& finished) {
  return finished.is_stopped ? ": the counts cover the bytes that were read until then"
                             : ", after the report was written";
}

// Prints messages and writes the report after the run has ended.
ending::status conclude(const plan& planned, const library::finished_run& finished, report::destination& output,
                        report::report_writer& reports, report::console& screen) {
  screen.clear();
  reports.note_run_finished();
  print_failures(planned, finished.outcome);
  if (!planned.quiet) print_skipped(planned, finished.outcome);
  suggest_command(planned.inputs);
  reports.finish_run();
  const report::run_report& result = finished.outcome.result.shared().content;
  // print_failures() has printed the causes
  report::table_sections sections = sections_of(planned);
  sections.causes = consumer_left(finished.outcome);
  reports.write_result(result, sections);
  output.commit();
  if (result.stats && !planned.format->carries_stats)
    report::write_to_standard_error(report::render_stats(*result.stats, report::target_for_standard_error()));
  if (finished.outcome.ended_by_condition)
    report::complain("ended by --fail-fast: the counts cover the bytes that were read until then");
  // main() ends the process by SIGPIPE, unless that signal is ignored
  if (consumer_left(finished.outcome))
    throw io::destination_error(EPIPE, std::system_category(), "cannot write standard output");
  const bool has_changes = result.units && result.units->changes && result.units->changes->has_findings();
  return exit_status_of(finished.outcome.status, has_changes);
}

// The output. That of --resume is locked until the end: two runs would both count what is missing.
std::unique_ptr<report::destination> open_output(const plan& planned, const config::options& typed) {
  auto made = std::make_unique<report::destination>(planned.output, planned.manner, planned.descriptors);
  if (!typed.resumed_file || (made->lock_until_end() && made->has_name())) return made;
  throw std::runtime_error(report::printable(*planned.output) +
                           ": another run continues this file; wait for its end, or give another --resume FILE");
}

// Null without --resume. The run leaves out the inputs that the result has. `output`: the file, which is replaced by
// one that has only the lines of complete inputs.
std::shared_ptr<resumed_result> resume(const config::options& typed, plan& planned,
                                       std::unique_ptr<report::destination>& output) {
  if (!typed.resumed_file) return nullptr;
  auto earlier = std::make_shared<resumed_result>(*typed.resumed_file, planned);
  if (earlier->has_older_lines()) {
    report::complain(
        "warning: " + report::printable(*typed.resumed_file) +
        ": has lines that do not state the options they were counted with (of an earlier version, or of gpuhist " +
        "report); only the names of buckets, --ignore-case, --byte-counts and --measures are compared");
  }
  if (earlier->changed() > 0 && !planned.quiet) {
    const bool is_one = earlier->changed() == 1;
    report::complain(report::printable(*typed.resumed_file) + ": " + config::number_of(earlier->changed(), "input") +
                     (is_one ? " has" : " have") +
                     " changed since the lines were written, and must be counted again: " +
                     report::printable(earlier->first_changed()) + (is_one ? "" : ", ..."));
  }
  if (earlier->has_duplicates()) {
    planned.looked_up = std::make_shared<const pipeline::looked_up_inputs>(library::look_up_inputs(planned));
    earlier->refuse_duplicates(*planned.looked_up);
  }
  planned.is_counted = [earlier](const std::string& name) { return earlier->take(name); };
  earlier->rewrite();
  output = open_output(planned, typed);
  earlier->refuse_other_lines();  // of a run that had the lock in between
  library::set_outputs(planned, output->files());
  return earlier;
}

std::string name_of_run(const plan& planned, const resumed_result* earlier) {
  if (!planned.format->names_run) return {};
  return earlier != nullptr && !earlier->run().empty() ? earlier->run() : report::make_run_id();
}

}  // namespace

ending count(const config::options& typed, const io::open_descriptors& open_descriptors,
             const run_completion& complete) {
  plan planned = make_plan(typed.resumed_file ? options_of_resumed_run(typed) : typed);
  refuse_new_output_as_input(planned);
  planned.descriptors = open_descriptors;
  std::unique_ptr<report::destination> opened = open_output(planned, typed);
  library::set_outputs(planned, opened->files());
  const std::shared_ptr<resumed_result> earlier = resume(typed, planned, opened);
  report::destination& output = *opened;
  const command_frame frame(planned.measuring.warning);
  if (!planned.quiet && reads_from_terminal(planned)) {
    report::complain("counting what you type; Ctrl-D ends it; see also gpuhist --help");
  }
  report::console screen;
  const bool is_stage = planned.passes_through.has_value();
  report::report_writer reports(
      output, *planned.format, screen,
      is_stage ? report::report_writer::fault::is_put_off : report::report_writer::fault::ends_run,
      name_of_run(planned, earlier.get()), sections_of(planned));
  const std::unique_ptr<alert_command> commands = make_alert_command(typed);
  const run_outputs to{.reports = reports, .screen = screen, .commands = commands.get()};
  library::finished_run finished = run_with_progress(planned, earlier.get(), to, frame);
  if (complete && !finished.is_stopped) {
    const auto prepare = [&](plan& next) {
      next.descriptors = open_descriptors;
      library::set_outputs(next, output.files());
    };
    const auto read_more = [&](plan& next) {
      prepare(next);
      return run_with_progress(next, nullptr, to, frame);
    };
    const auto read_again = [&](plan& next) {
      prepare(next);
      library::finished_run made = library::file_run(next, {}, frame.stop().get_token(), frame.hooks(screen)).run();
      print_failures(next, made.outcome);
      return made;
    };
    complete(finished, {.read_more = read_more, .read_again = read_again});
  }
  const auto conclude_and_wait = [&] {
    const ending::status status = conclude(planned, finished, output, reports, screen);
    if (commands != nullptr) commands->finish();  // a signal may end this wait
    return status;
  };
  return frame.end(finished, conclude_and_wait, after_signal(finished));
}

}  // namespace gpuhist::command
