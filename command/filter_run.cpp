#include "command/filter_run.hpp"

#include "command/run_messages.hpp"
#include "library/results.hpp"
#include "pipeline/flow/stop_signals.hpp"
#include "report/formats/report.hpp"
#include "report/formats/text.hpp"
#include "report/output/progress.hpp"
#include "report/output/terminal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>

namespace gpuhist::pipeline {
namespace {

std::string units_text(std::uint64_t number, std::uint64_t bytes) {
  return grouped(number) + " (" + number_of(bytes, "byte") + ")";
}

// "kept 9,990 (1,020,304 bytes) of 10,000 (1,024,000 bytes), each line"
std::string summary_of_filter(const plan& planned, const units::unit_totals& found) {
  const units::unit_totals kept = units::kept_of(found, planned.units->filter->units);
  std::string text = "kept " + units_text(kept.seen, kept.bytes) + " of " + units_text(found.seen, found.bytes) +
                     ", each " + planned.units->each;
  if (found.unverified > 0) {
    text += "; dropped " + units_text(found.unverified, found.unverified_bytes) + " with unverified text";
  }
  return text;
}

void write_result(const report& result, dropped_units& to) {
  to.writer.write_result(result);
  to.file.commit();
}

}  // namespace

bool lacks_damaged_text_only(const plan& planned, const finished_run& finished) {
  const file_outcome& outcome = finished.outcome;
  const report& result = outcome.result.shared().content;
  const bool is_whole_run = finished.signal == 0 && outcome.status == run_status::incomplete &&
                            outcome.result.error().empty() && !outcome.pass_through_error &&
                            outcome.not_passed_through == 0;
  if (!planned.skip_damage || !is_whole_run || result.units->early_ends > 0) return false;
  return std::ranges::all_of(result.inputs, [](const input_report& each) {
    const bool has_skipped = each.error_kind == failure_kind::refused && each.number_of_lost_ranges > 0;
    return each.complete || each.error_kind == failure_kind::damaged || has_skipped;
  });
}

dropped_units::dropped_units(const std::string& name, console& screen, const io::open_descriptors& inherited)
    : file(name, writing::whole, inherited),
      writer(file, *find_report_format("jsonl"), screen, report_writer::fault::ends_run, make_run_id()) {}

std::unique_ptr<dropped_units> open_result(const config::options& typed, console& screen,
                                           const io::open_descriptors& inherited) {
  return typed.result ? std::make_unique<dropped_units>(*typed.result, screen, inherited) : nullptr;
}

std::string name_of_result(const config::options& typed) {
  return typed.where("--result") + " " + printable(*typed.result);
}

file_events events_of_filter(const plan& planned, console& screen) {
  file_events made;
  if (planned.quiet) return made;
  made.on_notice = [&screen](std::string_view notice) { screen.say("gpuhist: " + printable(notice) + "\n"); };
  return made;
}

process_hooks hooks_of_filter(dropped_units* dropped, console& screen) {
  process_hooks made{.watch_signals = true, .process_exits = true};
  if (dropped != nullptr) {
    made.unit_lines = [dropped](const report& frame) { return dropped->writer.unit_lines(frame); };
  }
  made.on_status = [&screen](const run_progress& now) { screen.say("gpuhist: " + status_line(now) + "\n"); };
  return made;
}

ending conclude_filter(const plan& planned, const finished_run& finished, const std::string& output_name,
                       dropped_units* dropped, const std::function<bool()>& publish,
                       const std::function<std::string()>& prefix) {
  const file_outcome& outcome = finished.outcome;
  const report& result = outcome.result.shared().content;
  print_failures(planned, outcome, output_name, passed_text::kept);
  if (!planned.quiet) print_skipped(planned, outcome);
  suggest_command(planned.inputs);
  const bool is_complete = publish() && outcome.status == run_status::complete;
  if (dropped != nullptr) write_result(result, *dropped);
  if (result.stats) write_to_standard_error(render_stats(*result.stats, target_for_standard_error()));
  if (consumer_left(outcome)) throw destination_error(EPIPE, std::system_category(), "cannot write standard output");
  if (!planned.quiet && !outcome.pass_through_error) {
    complain((prefix ? prefix() : "") + summary_of_filter(planned, result.units->totals));
  }
  const int signal = kept_stop_signal::received();
  if (signal != 0) complain("ended by SIG" + std::string(::sigabbrev_np(signal)));
  return {.exit_status = is_complete ? ending::counted_all : ending::input_failed,
          .signal = signal,
          .at_once = finished.end_at_once};
}

}  // namespace gpuhist::pipeline
