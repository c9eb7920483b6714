#include "command/plan.hpp"

#include "command/resolve_listing.hpp"
#include "command/resolve_report.hpp"
#include "command/temporary_folder.hpp"
#include "command/typed_options.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {
namespace {

namespace fs = std::filesystem;

// With --pass-through, standard output carries the data, and the report goes elsewhere: by default to standard error.
std::string resolve_report_of_filter(const config::options& typed) {
  if (!typed.output) return "/dev/stderr";
  if (names_standard_output(*typed.output)) {
    throw config::usage_error(typed.where("--output") + ": " + *typed.output +
                              " is the output of --pass-through; give a file, fd:2 or another descriptor");
  }
  return *typed.output;
}

}  // namespace

bool names_standard_output(std::string_view name) {
  constexpr std::array names = {"fd:1", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  return std::ranges::find(names, name) != names.end();
}

plan make_plan(const config::options& typed) {
  run_request requested = request_of(typed);
  const report_format* const format = resolve_report_format(typed);
  input_listing listing = resolve_listing(typed, requested.run.counting, requested.run.utf8, *format);
  if (listing.needs_byte_counts()) requested.run.counting.byte_counts = true;
  requested.run.counting.temporary_folder = temporary_folder().path;
  plan planned;
  static_cast<counting_plan&>(planned) = make_plan(requested.run, names_of(typed));
  planned.listing = std::move(listing);
  planned.spilled_to = temporary_folder();
  planned.measuring.warning = requested.warning;
  planned.format = format;
  check_format_of_windows(typed, *planned.format);
  check_format_of_units(typed, *planned.format);
  planned.output = typed.output;
  if (typed.pass_through != config::pass_through_mode::nothing) planned.output = resolve_report_of_filter(typed);
  planned.output_name = planned.output ? "the output " + printable(*planned.output) : "standard output";
  planned.manner = resolve_writing(typed, *planned.format);
  planned.snapshot_by_signal = writes_snapshots(typed, *planned.format);
  planned.stats = typed.stats;
  planned.totals_only = typed.totals_only;
  planned.progress = typed.progress;
  planned.quiet = typed.quiet;
  return planned;
}

void refuse_new_output_as_input(const plan& planned) {
  if (!planned.output || (planned.manner != writing::live && planned.manner != writing::append)) return;
  std::error_code ignored;
  if (fs::exists(*planned.output, ignored) || names_descriptor(*planned.output)) return;
  const fs::path output = fs::absolute(*planned.output, ignored).lexically_normal();
  const auto is_output = [&](const std::string& input) {
    return input != "-" && fs::absolute(input, ignored).lexically_normal() == output;
  };
  if (std::ranges::none_of(planned.inputs, is_output) && !(planned.list && is_output(*planned.list))) return;
  throw config::usage_error(printable(*planned.output) +
                            ": is an input and the output, and there is no such file; give " +
                            "another --output, or leave it out of the inputs");
}

}  // namespace gpuhist::pipeline
