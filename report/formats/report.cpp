#include "report/formats/report.hpp"

#include "config/text.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>

namespace gpuhist::report {
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

// Multiplication by an odd number is reversible modulo 2^64: runs that differ in time or process id have different
// products.
std::uint64_t bits_of_clock_and_process() {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;  // 2^64 divided by the golden ratio
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return (static_cast<std::uint64_t>(nanoseconds) ^ (static_cast<std::uint64_t>(::getpid()) << 40U)) * odd;
}

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  const ssize_t size = ::getrandom(&bits, sizeof bits, GRND_NONBLOCK);
  return size == static_cast<ssize_t>(sizeof bits) ? bits : bits_of_clock_and_process();
}

}  // namespace

std::span<const report_format> report_formats() { return formats; }

const report_format* find_report_format(std::string_view name) {
  const auto* const found =
      std::find_if(formats.begin(), formats.end(), [&](const report_format& each) { return each.name == name; });
  return found == formats.end() ? nullptr : found;
}

std::size_t text_width(const render_target& target) {
  constexpr std::size_t narrowest = 40;
  constexpr std::size_t any = std::size_t{1} << 20U;
  return target.terminal ? std::max<std::size_t>(narrowest, target.width) : any;
}

gpu::tally shown_counts(const run_report& content, const gpu::tally& verified, const gpu::tally& unverified) {
  if (content.type == run_report::kind::result || unverified.counts.empty()) return verified;
  if (verified.counts.empty()) return unverified;
  return gpu::tally(verified) += unverified;
}

std::vector<measures::measurement> measurements_of(const run_report& content, const gpu::tally& counts) {
  if (content.measuring.asked.empty()) return {};
  return measures::take_measures(content.measuring, measures::counts_of(counts));
}

std::uint64_t skipped_in_all(const pipeline::run_counts& counts) {
  std::uint64_t all = 0;
  for (const pipeline::skipped_names& each : counts.skipped) all += each.count;
  return all;
}

std::string_view cause_of(const pipeline::skipped_names& names) {
  return names.cause.empty() ? std::string_view("unknown") : std::string_view(names.cause);
}

std::string printable(std::string_view raw) { return config::on_one_line(raw); }

std::string make_run_id() {
  constexpr std::size_t digits = 16;
  std::array<char, digits> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), random_bits(), 16).ptr;
  const auto size = static_cast<std::size_t>(end - text.data());
  return std::string(digits - size, '0') + std::string(text.data(), size);
}

}  // namespace gpuhist::report
