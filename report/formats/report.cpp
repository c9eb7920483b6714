// The table of report formats, and functions that the formats share.
#include "report/formats/report.hpp"

#include "config/text.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::pipeline {
namespace {

constexpr std::array formats = {
    report_format{.name = "table", .render = render_table, .unit_lines = unit_text_lines},
    report_format{.name = "json", .render = render_json, .carries_stats = true},
    report_format{.name = "jsonl",
                  .render = render_jsonl,
                  .unit_lines = unit_json_lines,
                  .input_line = input_json_line,
                  .carries_stats = true,
                  .carries_alerts = true,
                  .names_run = true},
    report_format{.name = "csv", .render = render_csv},
    report_format{.name = "prometheus", .render = render_prometheus, .whole = true},
};

}  // namespace

std::span<const report_format> report_formats() { return formats; }

const report_format* find_report_format(std::string_view name) {
  const auto* const found =
      std::find_if(formats.begin(), formats.end(), [&](const report_format& each) { return each.name == name; });
  return found == formats.end() ? nullptr : found;
}

gpu::tally shown_counts(const report& content, const gpu::tally& verified, const gpu::tally& unverified) {
  if (content.type == report::kind::result || unverified.counts.empty()) return verified;
  if (verified.counts.empty()) return unverified;
  return gpu::tally(verified) += unverified;
}

std::uint64_t skipped_in_all(const run_counts& counts) {
  std::uint64_t all = 0;
  for (const skipped_names& each : counts.skipped) all += each.count;
  return all;
}

std::string_view cause_of(const skipped_names& names) {
  return names.cause.empty() ? std::string_view("unknown") : std::string_view(names.cause);
}

std::string printable(std::string_view raw) { return config::on_one_line(raw); }

}  // namespace gpuhist::pipeline
