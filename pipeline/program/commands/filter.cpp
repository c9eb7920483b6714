// `gpuhist filter [FILE...]`: typed options -> plan -> run, which writes the text of the units that are kept -> result.
#include "config/quote.hpp"
#include "config/usage_error.hpp"
#include "io/output_files.hpp"
#include "pipeline/flow/stop_signals.hpp"
#include "pipeline/library/file_run.hpp"
#include "pipeline/library/results.hpp"
#include "pipeline/program/commands/commands.hpp"
#include "pipeline/program/plan.hpp"
#include "pipeline/program/run_messages.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/formats/run_id.hpp"
#include "pipeline/report/formats/text.hpp"
#include "pipeline/report/output/destination.hpp"
#include "pipeline/report/output/messages.hpp"
#include "pipeline/report/output/progress_line.hpp"
#include "pipeline/report/output/report_writer.hpp"
#include "pipeline/report/output/terminal.hpp"

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {
namespace {

namespace fs = std::filesystem;

// The file of --result.
struct result_file {
  result_file(const std::string& name, console& screen, const io::open_descriptors& inherited)
      : file(name, writing::whole, inherited),
        writer(file, *find_report_format("jsonl"), screen, report_writer::fault::ends_run, make_run_id()) {}

  destination file;
  report_writer writer;
};

file_events events_of(const plan& planned, console& screen) {
  file_events made;
  if (planned.quiet) return made;
  made.on_notice = [&screen](std::string_view notice) { screen.say("gpuhist: " + printable(notice) + "\n"); };
  return made;
}

process_hooks hooks_of(result_file* dropped, console& screen) {
  process_hooks made{.watch_signals = true, .process_exits = true};
  if (dropped != nullptr) {
    made.on_units = [dropped](const report& frame, std::span<const units::unit_record> found) {
      dropped->writer.write_units(frame, found);
    };
  }
  made.on_status = [&screen](const run_progress& now) { screen.say("gpuhist: " + status_line(now) + "\n"); };
  return made;
}

std::string units_text(std::uint64_t number, std::uint64_t bytes) {
  return grouped(number) + " (" + grouped(bytes) + " bytes)";
}

// "kept 9,990 (1,020,304 bytes) of 10,000 (1,024,000 bytes): line"
std::string summary_of(const plan& planned, const unit_summary& found) {
  const bool keeps_selected = planned.units->filter->units == units::filtering::kept::selected;
  const std::uint64_t kept = keeps_selected ? found.selected : found.seen - found.selected;
  const std::uint64_t bytes = keeps_selected ? found.selected_bytes : found.bytes - found.selected_bytes;
  return "kept " + units_text(kept, bytes) + " of " + units_text(found.seen, found.bytes) + ", each " +
         planned.units->each;
}

// The text and the result would overwrite each other. Devices and FIFOs take both.
void refuse_one_file_for_both(const config::options& typed) {
  if (!typed.result) return;
  const auto refuse = [&](const std::string& output) {
    throw config::usage_error(typed.where("--result") + ": " + printable(*typed.result) + " is also " + output +
                              "; give another file");
  };
  const bool is_standard_output = names_standard_output(*typed.result);
  if (!typed.output) return is_standard_output ? refuse("the output of the text") : void();
  if (is_standard_output && names_standard_output(*typed.output)) return refuse("--output");
  std::error_code ignored;
  const fs::path result = fs::absolute(*typed.result, ignored);
  const fs::path output = fs::absolute(*typed.output, ignored);
  if (fs::exists(result, ignored) ? fs::is_regular_file(result, ignored) && fs::equivalent(result, output, ignored)
                                  : result.lexically_normal() == output.lexically_normal()) {
    refuse("--output");
  }
}

// Neither the text nor the result is an input.
void set_both_outputs(plan& planned, const destination& text, const config::options& typed,
                      const result_file* dropped) {
  if (dropped == nullptr) return set_outputs(planned, text.files());
  const std::string output_name =
      std::exchange(planned.output_name, typed.where("--result") + " " + printable(*typed.result));
  set_outputs(planned, dropped->file.files());
  planned.output_name = output_name;
  set_outputs(planned, text.files());
  planned.output_name += " or " + typed.where("--result");
  const auto both = std::make_shared<io::output_files>();
  both->include(text.files());
  both->include(dropped->file.files());
  set_outputs(planned, both);
}

// Text that misses a part must not look like a whole: a regular file gets its name only if the run was complete.
void publish(const finished_run& finished, const std::string& name, destination& text) {
  if (finished.outcome.status == run_status::complete) return text.commit();
  if (!text.pending_path().empty()) complain(name + " was not written, because the text is not complete");
}

ending conclude(const plan& planned, const finished_run& finished, destination& text, result_file* dropped) {
  const file_outcome& outcome = finished.outcome;
  const std::string name = planned.output ? printable(*planned.output) : "standard output";
  print_failures(outcome, name, passed_text::kept);
  if (!planned.quiet) print_skipped(planned, outcome);
  suggest_command(planned.inputs);
  publish(finished, name, text);
  if (dropped != nullptr) {
    dropped->writer.write_result(outcome.result.shared().content);
    dropped->file.commit();
  }
  const report& result = outcome.result.shared().content;
  if (result.stats) write_to_standard_error(render_stats(*result.stats, target_for_standard_error()));
  if (consumer_left(outcome)) throw destination_error(EPIPE, std::system_category(), "cannot write standard output");
  if (!planned.quiet && !outcome.pass_through_error) complain(summary_of(planned, *outcome.result.units()));
  const int signal = kept_stop_signal::received();
  if (signal != 0) complain("ended by SIG" + std::string(::sigabbrev_np(signal)));
  return {.exit_status = outcome.status == run_status::complete ? ending::counted_all : ending::input_failed,
          .signal = signal,
          .at_once = finished.end_at_once};
}

}  // namespace

ending filter_inputs(const config::options& typed, const io::open_descriptors& open_descriptors) {
  plan planned = make_plan(typed);
  refuse_one_file_for_both(typed);
  destination text(typed.output, writing::whole, open_descriptors);
  planned.descriptors = open_descriptors;
  console screen;
  std::unique_ptr<result_file> dropped;
  if (typed.result) dropped = std::make_unique<result_file>(*typed.result, screen, open_descriptors);
  set_both_outputs(planned, text, typed, dropped.get());
  const kept_stop_signal stop_signal;  // after the destinations: opening a FIFO waits for its reader
  if (!planned.measuring.warning.empty()) complain("warning: " + planned.measuring.warning);
  locale_is_utf8();  // keeps its result; not thread-safe, so before threads start
  planned.pass_through_descriptor = text.descriptor();
  const file_events events = events_of(planned, screen);
  const finished_run finished = file_run(planned, events, {}, hooks_of(dropped.get(), screen)).run();
  try {
    return conclude(planned, finished, text, dropped.get());
  } catch (...) {
    if (finished.end_at_once) throw unclean_end(std::current_exception());
    throw;
  }
}

}  // namespace gpuhist::pipeline
