// `gpuhist [FILE...]`: typed options -> plan -> run -> report.
#include "config/command_table.hpp"
#include "config/suggest.hpp"
#include "config/usage_error.hpp"
#include "pipeline/counts/input_failure.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/flow/inputs/input_list.hpp"
#include "pipeline/flow/inputs/source_bytes.hpp"
#include "pipeline/flow/stop_signals.hpp"
#include "pipeline/program/commands/commands.hpp"
#include "pipeline/program/input_complaints.hpp"
#include "pipeline/program/plan.hpp"
#include "pipeline/program/window_report.hpp"
#include "pipeline/report/conditions/report_units.hpp"
#include "pipeline/report/conditions/watcher.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/formats/report_alert.hpp"
#include "pipeline/report/formats/run_id.hpp"
#include "pipeline/report/formats/text.hpp"
#include "pipeline/report/output/destination.hpp"
#include "pipeline/report/output/messages.hpp"
#include "pipeline/report/output/progress.hpp"
#include "pipeline/report/output/progress_line.hpp"
#include "pipeline/report/output/report_writer.hpp"
#include "pipeline/report/output/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace gpuhist::pipeline {
namespace {

bool consumer_left(const outcome& finished) {
  return finished.pass_through_error && finished.pass_through_error->error == EPIPE;
}

// Failures of --pass-through, which are not in the report.
void complain_of_output(const outcome& finished) {
  if (finished.pass_through_error && !consumer_left(finished)) {
    complain("cannot write standard output: " + std::system_category().message(finished.pass_through_error->error) +
             " at offset " + std::to_string(finished.pass_through_error->offset));
  } else if (finished.not_passed_through > 0 && !consumer_left(finished)) {
    complain("standard output takes nothing: the last " + grouped(finished.not_passed_through) +
             " bytes that were counted were not passed through");
  }
}

void complain_of_inputs(const outcome& finished) {
  std::size_t unread = 0;
  input_complaints failed;
  if (consumer_left(finished)) return;  // like tee, without a message
  for (const input_report& each : finished.result.inputs) {
    if (each.error_kind == failure_kind::not_read && ++unread > 1) continue;  // the others share one line, below
    failed.add(each);
  }
  failed.finish();
  if (unread > 1) complain("and " + std::to_string(unread - 1) + " more inputs were not read");
  if (!finished.engine_failure.empty()) complain(printable(finished.engine_failure));
  if (!finished.engine_warning.empty()) complain("warning: " + printable(finished.engine_warning));
}

// "skipped 3 times a FIFO, the first one: logs/pipe". Directories are only in the report: their files were counted.
void print_skipped(const run_counts& result) {
  for (const skipped_names& each : result.skipped) {
    if (each.cause.starts_with("directory in") && each.bytes == 0) continue;
    const bool several = each.count > 1;
    complain("skipped " + (several ? grouped(each.count) + " times a " : "a ") + each.cause +
             (each.bytes > 0 ? " (" + grouped(each.bytes) + " bytes)" : "") + (several ? ", the first one: " : ": ") +
             printable(each.first));
  }
}

void print_empty_trees(const plan& planned, const skipped_names& empty) {
  if (empty.count == 0) return;
  const io::path_filter& filter = planned.trees->filter;
  const bool is_filtered = !filter.include.empty() || !filter.exclude.empty();
  const std::string files = is_filtered ? " no files that --include and --exclude select" : " no files";
  complain(empty.count == 1
               ? printable(empty.first) + ": the directory holds" + files
               : grouped(empty.count) + " directories hold" + files + ", the first one: " + printable(empty.first));
}

// A misspelled command, or a command that is not the first argument, is taken for the name of a missing file.
void suggest_command(const std::vector<std::string>& inputs) {
  std::vector<std::string_view> names;
  for (const config::command_row& each : config::command_table()) {
    if (!each.name.empty()) names.push_back(each.name);
  }
  for (const std::string& each : inputs) {
    if (::access(each.c_str(), F_OK) == 0) continue;
    if (each == "count") complain("counting needs no command: gpuhist [OPTIONS] [FILE...]");
    const auto meant = config::likely_name(each, names);
    if (!meant) continue;
    complain("did you mean the command 'gpuhist " + std::string(*meant) + "'? Its name is the first argument");
  }
}

bool reads_from_terminal(const plan& planned) {
  return std::ranges::find(planned.inputs, "-") != planned.inputs.end() && ::isatty(STDIN_FILENO) == 1;
}

// The progress line would be written between the bytes that are passed through.
bool shares_terminal(const plan& planned) {
  return planned.passes_through != config::pass_through_mode::nothing && ::isatty(STDOUT_FILENO) == 1;
}

progress make_progress(const plan& planned, console& screen) {
  const progress_style style = choose_progress_style({.requested = planned.progress,
                                                      .quiet = planned.quiet || shares_terminal(planned),
                                                      .terminal = screen.is_terminal() && !terminal_is_dumb(),
                                                      .foreground = screen.is_in_foreground(),
                                                      .typed_on = reads_from_terminal(planned)});
  const bool is_open_ended = planned.trees || planned.list;  // the total size is unknown
  return {screen, style,
          style == progress_style::none || is_open_ended ? std::nullopt : source_bytes_of(planned.inputs)};
}

// Prints a condition that holds on standard error and, if the format has lines for alerts, writes it to the output.
std::function<void(const gates::firing&)> alert_printer(const plan& planned, report_writer& reports, console& screen) {
  return [&](const gates::firing& fired) {
    screen.say("gpuhist: " + firing_for_people(fired) + "\n");
    if (!planned.format->carries_alerts) return;
    reports.write(alert_line(fired, reports.run()));
  };
}

// --fail-fast ends the reading: inputs that it cuts short have not failed.
ending::status status_of(const outcome& finished, const gates::watcher& watched) {
  const auto has_failed = [](const input_report& each) { return !each.complete && !io::is_cut_short(each.error_kind); };
  const bool failed = finished.ended_by_hook
                          ? std::ranges::any_of(finished.result.inputs, has_failed) || !finished.engine_failure.empty()
                          : !finished.result.complete;
  if (failed) return ending::input_failed;
  return watched.has_failed() ? ending::gate_failed : ending::counted_all;
}

// Runs the plan and shows its progress. The progress line is erased when the run ends, also by an exception.
outcome run_with_progress(const plan& planned, report_writer& reports, console& screen, gates::watcher& watched) {
  progress shown = make_progress(planned, screen);
  run_hooks hooks;
  hooks.snapshot = [&](const run_counts& now) {
    reports.write_snapshot(make_report(planned, report::kind::snapshot, now));
  };
  if (reports.may_keep()) hooks.write_kept = [&] { reports.write_kept(); };
  window_report windows(planned, watched, reports.run(), [&](const std::string& line) { reports.write(line); });
  hooks.window = [&](const closed_window& window) { return windows.publish(window); };
  hooks.verdict = [&](const window_verdict& verdict) { windows.publish(verdict); };
  hooks.notice = [&](const std::string& notice) {
    if (!planned.quiet) screen.say("gpuhist: " + printable(notice) + "\n");
  };
  if (planned.watched.covers(gates::unit::kind::input)) {
    hooks.input_finished = [&](const input_report& input) { return watched.watch(gates::unit_of(input)); };
  }
  if (planned.watched.growing &&
      (planned.watched.covers(gates::unit::kind::input) || planned.watched.covers(gates::unit::kind::total))) {
    hooks.check_counts = [&](const run_counts& now) { return gates::watch_so_far(now, planned.watched, watched); };
  }
  hooks.watch_signals = true;
  hooks.process_exits = true;
  if (shown.is_shown()) hooks.progress = [&](const run_progress& now) { shown.update(now); };
  hooks.progress_interval = shown.interval();
  hooks.status = [&](const run_progress& now) { screen.say("gpuhist: " + status_line(now) + "\n"); };
  return run(planned, hooks);
}

// A signal that arrives after the last input was read does not interrupt the report.
std::string_view after_signal(const outcome& finished) {
  return finished.signal != 0 ? ": the counts cover the bytes that were read until then"
                              : ", after the report was written";
}

report result_of(const plan& planned, const outcome& finished) {
  report result = make_report(planned, report::kind::result, finished.result);
  result.causes_printed = !consumer_left(finished);  // by complain_of_inputs
  result.stats = finished.stats;
  if (!result.stats) return result;
  for (const scheme_view& each : planned.schemes) result.stats->schemes.push_back(each.scheme.name);
  return result;
}

// Prints messages and writes the report after the run has ended.
ending conclude(const plan& planned, const outcome& finished, destination& output, report_writer& reports,
                console& screen, gates::watcher& watched) {
  screen.clear();
  reports.note_run_finished();
  if (!finished.ended_by_hook) gates::watch_totals(finished.result, planned.watched, watched);
  complain_of_output(finished);
  complain_of_inputs(finished);
  if (!planned.quiet) {
    print_skipped(finished.result);
    print_empty_trees(planned, finished.empty_trees);
  }
  suggest_command(planned.inputs);
  reports.finish_run();
  const report result = result_of(planned, finished);
  reports.write_result(result);
  output.commit();
  if (result.stats && !planned.format->carries_stats)
    write_to_standard_error(render_stats(*result.stats, target_for_standard_error()));
  if (finished.ended_by_hook) complain("ended by --fail-fast: the counts cover the bytes that were read until then");
  // main() ends the process by SIGPIPE, unless that signal is ignored
  if (consumer_left(finished)) throw destination_error(EPIPE, std::system_category(), "cannot write standard output");
  const int signal = kept_stop_signal::received();
  if (signal != 0) complain("ended by SIG" + std::string(::sigabbrev_np(signal)) + std::string(after_signal(finished)));
  return {.exit_status = status_of(finished, watched), .signal = signal, .at_once = finished.end_at_once};
}

}  // namespace

ending count(const config::options& typed, const io::open_descriptors& open_descriptors) {
  plan planned = make_plan(typed);
  refuse_new_output_as_input(planned);
  destination output(planned.output, planned.manner, open_descriptors);
  planned.descriptors = open_descriptors;
  planned.outputs = output.files();
  refuse_outputs_as_inputs(planned);
  const kept_stop_signal stop_signal;  // after the destination: opening a FIFO waits for its reader
  if (!planned.measuring.warning.empty()) complain("warning: " + planned.measuring.warning);
  locale_is_utf8();  // keeps its result; not thread-safe, so before threads start
  if (!planned.quiet && reads_from_terminal(planned)) {
    complain("counting what you type; Ctrl-D ends it; see also gpuhist --help");
  }
  console screen;
  const bool is_stage = planned.passes_through != config::pass_through_mode::nothing;
  report_writer reports(output, *planned.format, screen,
                        is_stage ? report_writer::fault::is_put_off : report_writer::fault::ends_run,
                        planned.format->names_run ? make_run_id() : std::string());
  gates::watcher watched(planned.watched, planned.partition, planned.measuring, alert_printer(planned, reports, screen),
                         planned.schemes);
  const outcome finished = run_with_progress(planned, reports, screen, watched);
  try {
    return conclude(planned, finished, output, reports, screen, watched);
  } catch (...) {
    if (finished.end_at_once) throw unclean_end(std::current_exception());
    throw;
  }
}

}  // namespace gpuhist::pipeline
