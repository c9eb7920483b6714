// `gpuhist [FILE...]`: typed options -> plan -> run -> report.
#include "config/command_table.hpp"
#include "config/suggest.hpp"
#include "config/usage_error.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/flow/inputs/input_list.hpp"
#include "pipeline/flow/inputs/source_bytes.hpp"
#include "pipeline/flow/stop_signals.hpp"
#include "pipeline/program/commands/commands.hpp"
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
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace gpuhist::pipeline {
namespace {

bool consumer_left(const outcome& done) { return done.pass_through_fault && done.pass_through_fault->error == EPIPE; }

// Beside the report, which tells of inputs only.
void complain_of_output(const outcome& done) {
  if (done.pass_through_fault && !consumer_left(done)) {
    complain("cannot write standard output: " + std::system_category().message(done.pass_through_fault->error) +
             " at offset " + std::to_string(done.pass_through_fault->offset));
  } else if (done.not_passed_through > 0 && !consumer_left(done)) {
    complain("standard output takes nothing: the last " + grouped(done.not_passed_through) +
             " bytes that were counted were not handed on");
  }
}

void complain_of_inputs(const outcome& done) {
  std::size_t unread = 0;
  if (consumer_left(done)) return;  // as quietly as tee
  for (const input_report& each : done.result.inputs) {
    if (each.error_kind == failure_kind::not_read && ++unread > 1) continue;  // one line for all of them, below
    if (!each.error.empty()) complain(printable(each.name) + ": " + printable(each.error));
  }
  if (unread > 1) complain("and " + std::to_string(unread - 1) + " more inputs were not read");
  if (!done.engine_failure.empty()) complain(printable(done.engine_failure));
  if (!done.engine_warning.empty()) complain("warning: " + printable(done.engine_warning));
}

// "skipped 3 times a FIFO, the first one: logs/pipe". Directories are in the report only: what is in them was counted.
void print_skipped(const run_counts& result) {
  for (const skipped_names& each : result.skipped) {
    if (each.what.starts_with("directory in") && each.bytes == 0) continue;
    const bool several = each.count > 1;
    complain("skipped " + (several ? grouped(each.count) + " times a " : "a ") + each.what +
             (each.bytes > 0 ? " (" + grouped(each.bytes) + " bytes)" : "") + (several ? ", the first one: " : ": ") +
             printable(each.first));
  }
}

// A slip in the name of a command, or one that does not come first, reads as a file that is not there.
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

bool reads_what_is_typed(const plan& planned) {
  return std::ranges::find(planned.inputs, "-") != planned.inputs.end() && ::isatty(STDIN_FILENO) == 1;
}

// A line that is rewritten in place would stand among what is handed on.
bool shares_terminal(const plan& planned) {
  return planned.passes_through != config::pass_through_mode::nothing && ::isatty(STDOUT_FILENO) == 1;
}

progress make_progress(const plan& planned, console& screen) {
  const progress_style style = choose_progress_style({.requested = planned.progress,
                                                      .quiet = planned.quiet || shares_terminal(planned),
                                                      .terminal = screen.is_terminal() && !terminal_is_dumb(),
                                                      .foreground = screen.is_in_foreground(),
                                                      .typed_on = reads_what_is_typed(planned)});
  const bool is_open_ended = planned.trees || planned.list;  // what will be found nobody knows
  return {screen, style,
          style == progress_style::none || is_open_ended ? std::nullopt : source_bytes_of(planned.inputs)};
}

// Tells people what holds and, where the format has lines for it, whoever reads the report.
std::function<void(const gates::firing&)> alert_printer(const plan& planned, report_writer& reports, console& screen) {
  return [&](const gates::firing& fired) {
    screen.say("gpuhist: " + firing_for_people(fired) + "\n");
    if (!planned.format->carries_alerts) return;
    reports.write(alert_line(fired, reports.run()));
  };
}

// An input that was left because a condition held is none that failed.
ending::status status_of(const outcome& done, const gates::watcher& watched) {
  const auto is_wrong = [](const input_report& each) { return !each.complete && !io::is_cut_short(each.error_kind); };
  const bool failed = done.ended_by_hook
                          ? std::ranges::any_of(done.result.inputs, is_wrong) || !done.engine_failure.empty()
                          : !done.result.complete;
  if (failed) return ending::input_failed;
  return watched.has_failed() ? ending::gate_failed : ending::counted_all;
}

// Counts, and tells on the screen how far it is. Whatever ends it, the screen is clear afterwards.
outcome run_before_people(const plan& planned, report_writer& reports, console& screen, gates::watcher& watched) {
  progress shown = make_progress(planned, screen);
  run_hooks hooks;
  hooks.snapshot = [&](const run_counts& now) {
    reports.write_snapshot(make_report(planned, report::kind::snapshot, now));
  };
  if (reports.may_keep()) hooks.write_kept = [&] { reports.write_kept(); };
  window_report windows(planned, watched, reports.run(), [&](const std::string& line) { reports.write(line); });
  hooks.window = [&](const closed_window& window) { return windows.tell(window); };
  hooks.verdict = [&](const window_verdict& verdict) { windows.tell(verdict); };
  hooks.remark = [&](const std::string& what) {
    if (!planned.quiet) screen.say("gpuhist: " + printable(what) + "\n");
  };
  if (planned.watched.covers(gates::unit::kind::input)) {
    hooks.input_finished = [&](const input_report& input) { return watched.watch(gates::unit_of(input)); };
  }
  if (planned.watched.growing &&
      (planned.watched.covers(gates::unit::kind::input) || planned.watched.covers(gates::unit::kind::total))) {
    hooks.counted_so_far = [&](const run_counts& now) { return gates::watch_so_far(now, planned.watched, watched); };
  }
  hooks.watch_signals = true;
  hooks.process_ends = true;
  if (shown.is_shown()) hooks.progress = [&](const run_progress& now) { shown.update(now); };
  hooks.progress_interval = shown.interval();
  hooks.status = [&](const run_progress& now) { screen.say("gpuhist: " + status_line(now) + "\n"); };
  return run(planned, hooks);
}

// A signal that comes when everything was read does not interrupt the report.
std::string_view after_signal(const outcome& done) {
  return done.signal != 0 ? ": the counts are of what was read until then" : ", after the report was written";
}

report result_of(const plan& planned, const outcome& done) {
  report result = make_report(planned, report::kind::result, done.result);
  result.causes_printed = !consumer_left(done);  // by complain_of_inputs
  result.stats = done.stats;
  if (!result.stats) return result;
  for (const scheme_view& each : planned.schemes) result.stats->schemes.push_back(each.scheme.name);
  return result;
}

// What is said and written when the run has ended.
ending conclude(const plan& planned, const outcome& done, destination& where, report_writer& reports, console& screen,
                gates::watcher& watched) {
  screen.clear();
  reports.note_run_finished();
  if (!done.ended_by_hook) gates::watch_totals(done.result, planned.watched, watched);
  complain_of_output(done);
  complain_of_inputs(done);
  if (!planned.quiet) print_skipped(done.result);
  suggest_command(planned.inputs);
  reports.finish_run();
  const report result = result_of(planned, done);
  reports.write_result(result);
  where.commit();
  if (result.stats && !planned.format->carries_stats)
    write_to_standard_error(render_stats(*result.stats, target_for_standard_error()));
  if (done.ended_by_hook) complain("ended by --fail-fast: the counts are of what was read until then");
  // main ends by SIGPIPE then, unless that is ignored
  if (consumer_left(done)) throw destination_error(EPIPE, std::system_category(), "cannot write standard output");
  const int signal = kept_stop_signal::received();
  if (signal != 0) complain("ended by SIG" + std::string(::sigabbrev_np(signal)) + std::string(after_signal(done)));
  return {.exit_status = status_of(done, watched), .signal = signal, .at_once = done.end_at_once};
}

// A file that does not exist yet, but would be created in place (live output, --append) and then be found as an input.
void refuse_new_output_as_input(const plan& planned) {
  namespace fs = std::filesystem;
  if (!planned.output || (planned.how != writing::live && planned.how != writing::append)) return;
  std::error_code ignored;
  if (fs::exists(*planned.output, ignored) || names_descriptor(*planned.output)) return;
  const fs::path output = fs::absolute(*planned.output, ignored).lexically_normal();
  const auto is_output = [&](const std::string& each) {
    return each != "-" && fs::absolute(each, ignored).lexically_normal() == output;
  };
  if (std::ranges::none_of(planned.inputs, is_output) && !(planned.list && is_output(*planned.list))) return;
  throw config::usage_error(printable(*planned.output) + ": is an input and the output, and there is no such file; " +
                            "give another --output, or leave it out of the inputs");
}

}  // namespace

ending count(const config::options& typed, const io::open_descriptors& given) {
  plan planned = make_plan(typed);
  refuse_new_output_as_input(planned);
  destination where(planned.output, planned.how, given);
  planned.descriptors = given;
  planned.outputs = where.files();
  refuse_outputs_as_inputs(planned);
  const kept_stop_signal stopped;  // not before the destination is there: to open a FIFO waits for its reader
  if (!planned.measuring.warning.empty()) complain("warning: " + planned.measuring.warning);
  locale_is_utf8();  // asked for before there are threads
  if (!planned.quiet && reads_what_is_typed(planned)) {
    complain("counting what you type; Ctrl-D ends it, gpuhist --help tells more");
  }
  console screen;
  const bool is_stage = planned.passes_through != config::pass_through_mode::nothing;
  report_writer reports(where, *planned.format, screen,
                        is_stage ? report_writer::fault::is_put_off : report_writer::fault::ends_run,
                        planned.format->names_run ? make_run_id() : std::string());
  gates::watcher watched(planned.watched, planned.partition, planned.measuring,
                         alert_printer(planned, reports, screen));
  const outcome done = run_before_people(planned, reports, screen, watched);
  try {
    return conclude(planned, done, where, reports, screen, watched);
  } catch (...) {
    if (done.end_at_once) throw unclean_end(std::current_exception());
    throw;
  }
}

}  // namespace gpuhist::pipeline
