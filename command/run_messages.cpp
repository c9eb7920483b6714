#include "command/run_messages.hpp"

#include "config/command_table.hpp"
#include "config/suggest.hpp"
#include "library/results.hpp"
#include "report/formats/report.hpp"
#include "report/formats/text.hpp"
#include "report/output/messages.hpp"

#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace gpuhist::command {

void input_complaints::add(const pipeline::input_report& input) {
  if (shows_notices_) {
    for (const std::string& line : notices_.of(input)) report::complain(line);
  }
  while (!archives_.empty() && !input.name.starts_with(archives_.back().name + "/")) leave();
  if (input.error.empty()) return;
  const bool is_of_content =
      input.error_kind == io::failure_kind::damaged || input.error_kind == io::failure_kind::refused;
  if (is_of_content && repeats(input)) return;
  report::complain(report::printable(input.name) + ": " + report::printable(input.error));
  archives_.push_back({.name = input.name});
}

void input_complaints::finish() {
  while (!archives_.empty()) leave();
  for (const std::string& line : notices_.of_others()) report::complain(line);
}

// Whether the message of an archive around the member has the cause.
bool input_complaints::repeats(const pipeline::input_report& member) {
  if (archives_.empty() || member.error_origin == io::failure_origin::input) return false;
  if (member.error_origin == io::failure_origin::archive_after_end) ++archives_.back().unverified;
  return true;
}

void input_complaints::leave() {
  const archive& last = archives_.back();
  if (last.unverified > 0) {
    report::complain(report::printable(last.name) +
                     ": members that were read to their end, but are not verified for the same reason: " +
                     config::grouped(last.unverified));
  }
  archives_.pop_back();
}

namespace {

std::string were(std::uint64_t number) { return number == 1 ? " was" : " were"; }

// Failures of --pass-through, which are not in the report.
void complain_of_output(const file_outcome& finished, std::string_view output, passed_text passed) {
  if (finished.pass_through_error) {
    report::complain("cannot write " + std::string(output) + ": " +
                     std::system_category().message(finished.pass_through_error->error) + " at offset " +
                     std::to_string(finished.pass_through_error->offset));
  } else if (finished.not_passed_through > 0 && passed == passed_text::kept) {
    report::complain("the last " + config::number_of(finished.not_passed_through, "byte") + " of the kept text" +
                     were(finished.not_passed_through) + " not written to " + std::string(output));
  } else if (finished.not_passed_through > 0) {
    report::complain(std::string(output) + " takes nothing: the last " +
                     config::number_of(finished.not_passed_through, "byte") + " that" +
                     were(finished.not_passed_through) + " counted" + were(finished.not_passed_through) +
                     " not passed through");
  }
}

void complain_of_inputs(const file_outcome& finished, bool shows_notices) {
  std::size_t unread = 0;
  input_complaints failed(shows_notices);
  for (const pipeline::input_report& each : finished.result.shared().content.inputs) {
    if (each.error_kind == io::failure_kind::not_read && ++unread > 1) continue;  // the others share one line, below
    failed.add(each);
  }
  failed.finish();
  if (unread > 1)
    report::complain("and " + config::number_of(unread - 1, "more input") + were(unread - 1) + " not read");
  if (!finished.result.error().empty()) report::complain(report::printable(finished.result.error()));
  if (!finished.warning.empty()) report::complain("warning: " + report::printable(finished.warning));
}

// With --without-field fail: the first line without field.
void complain_of_missing_field(const plan& planned, const file_outcome& finished) {
  const report::run_report& result = finished.result.shared().content;
  if (!result.units || !result.units->missing) return;
  const report::units::input_fault& first = *result.units->missing;
  report::complain("--without-field fail: " + report::printable(*first.input + ": " + first.cause) +
                   "; correct the line, or give --without-field drop or keep" +
                   (planned.units->filter ? "" : " to gpuhist filter"));
}

// "skipped 3 times a FIFO, the first one: logs/pipe". Directories are only in the report: their files were counted.
void print_skipped(const pipeline::skipped_names& names) {
  if (names.kind == io::skipped_kind::directory && names.bytes == 0) return;
  const bool several = names.count > 1;
  report::complain("skipped " + (several ? config::grouped(names.count) + " times a " : "a ") + names.cause +
                   (names.bytes > 0 ? " (" + config::number_of(names.bytes, "byte") + ")" : "") +
                   (several ? ", the first one: " : ": ") + report::printable(names.first));
}

void print_empty_trees(const plan& planned, const skipped_inputs& empty) {
  if (empty.count == 0) return;
  const io::path_filter& filter = planned.trees->filter;
  const bool is_filtered = !filter.include.empty() || !filter.exclude.empty();
  const std::string files = is_filtered ? " no files that --include and --exclude select" : " no files";
  report::complain(empty.count == 1 ? report::printable(empty.first) + ": the directory holds" + files
                                    : config::grouped(empty.count) + " directories hold" + files +
                                          ", the first one: " + report::printable(empty.first));
}

}  // namespace

bool consumer_left(const file_outcome& finished) {
  return finished.pass_through_error && finished.pass_through_error->error == EPIPE;
}

void print_failures(const plan& planned, const file_outcome& finished, std::string_view output, passed_text passed) {
  if (consumer_left(finished)) return;
  complain_of_output(finished, output, passed);
  complain_of_inputs(finished, !planned.quiet);
  complain_of_missing_field(planned, finished);
}

bool complain_of_missing_fields(std::uint64_t lines, const std::string& folder) {
  if (lines == 0) return false;
  report::complain(folder + ": --without-field fail: " + config::number_of(lines, "line") +
                   (lines == 1 ? " is" : " are") +
                   " without field; correct the inputs, or leave the option out, and count in another folder");
  return true;
}

void print_skipped(const plan& planned, const file_outcome& finished) {
  for (const pipeline::skipped_names& each : finished.result.shared().content.skipped) print_skipped(each);
  print_empty_trees(planned, finished.empty_trees);
}

// A misspelled command, or a command that is not the first argument, is taken for the name of a missing file.
void suggest_command(const std::vector<std::string>& inputs) {
  std::vector<std::string_view> names;
  for (const config::command_row& each : config::command_table()) {
    if (!each.name.empty()) names.push_back(each.name);
  }
  for (const std::string& each : inputs) {
    if (::access(each.c_str(), F_OK) == 0) continue;
    if (each == "count") report::complain("counting needs no command: gpuhist [OPTIONS] [FILE...]");
    const auto meant = config::likely_name(each, names);
    if (!meant) continue;
    report::complain("did you mean the command 'gpuhist " + std::string(*meant) + "'? Its name is the first argument");
  }
}

}  // namespace gpuhist::command
