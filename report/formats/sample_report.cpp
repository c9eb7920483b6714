#include "report/formats/sample_report.hpp"

#include "config/size.hpp"
#include "config/text.hpp"
#include "report/formats/report_json.hpp"
#include "report/formats/text.hpp"
#include "report/formats/text_table.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace gpuhist::report {
namespace {

using ordered_json = nlohmann::ordered_json;

// A share as "12.34 %"; bounds are rounded outwards.
enum class rounding : std::uint8_t { nearest, down, up };
std::string percent(double share, rounding how) {
  constexpr double steps = 10'000;  // hundredths of a percent
  double scaled = share * steps;
  if (how == rounding::down) scaled = std::floor(scaled);
  if (how == rounding::up) scaled = std::ceil(scaled);
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.2f %%", scaled / 100);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::vector<table_row> rows_of(const sampled_scheme& scheme) {
  std::vector<table_row> rows;
  for (std::size_t i = 0; i < scheme.buckets.size(); ++i) {
    const sampled_share& each = scheme.shares[i];
    if (scheme.name == "bytes" && each.share == 0) continue;  // of 256 rows, empty ones are left out
    rows.push_back({printable(scheme.buckets[i]), percent(each.share, rounding::nearest),
                    percent(each.within.at_least, rounding::down), percent(each.within.at_most, rounding::up)});
  }
  return rows;
}

std::string lines_of(const std::vector<left_out>& unsampled) {
  constexpr std::size_t most = 10;
  if (unsampled.empty()) return {};
  std::uint64_t bytes = 0;
  for (const left_out& each : unsampled) bytes += each.stored_bytes;
  std::string text = "\nnot sampled: " + config::number_of(unsampled.size(), "input") + ", " +
                     config::format_size(bytes) + " as stored\n";
  for (std::size_t i = 0; i < std::min(most, unsampled.size()); ++i) {
    text += "  " + printable(unsampled[i].name) + ": " + printable(unsampled[i].cause) + "\n";
  }
  if (unsampled.size() > most) text += "  and " + config::grouped(unsampled.size() - most) + " more\n";
  return text;
}

}  // namespace

std::string render_sample_table(const sample_report& content, const render_target& target) {
  std::string text;
  for (const sampled_scheme& each : content.schemes) {
    const std::vector<table_row> rows = rows_of(each);
    const text_table table({{.heading = content.schemes.size() > 1 ? each.name : "bucket", .to_the_right = false},
                            {.heading = "share"},
                            {.heading = "at least"},
                            {.heading = "at most"}},
                           rows, text_width(target));
    text += table_lines(table, rows, target.color) + "\n";
  }
  text += "read " + config::format_size(content.read_bytes) + " of " + config::format_size(content.text_bytes) + ": " +
          config::number_of(content.draws, "draw") + " of " + config::number_of(content.cells, "cell") + ", seed " +
          std::to_string(content.seed) +
          "\nall shares are within their bounds at the same time with a probability of " +
          shortest(content.confidence * 100) + " %\n";
  if (content.failed_draws > 0) {
    text +=
        config::number_of(content.failed_draws, "draw") + " could not be read; the bounds allow for any text there\n";
  }
  return text + lines_of(content.unsampled);
}

std::string render_sample_json(const sample_report& content) {
  ordered_json made = {
      {"schema", "gpuhist.sample/1"},     {"confidence", content.confidence},    {"seed", content.seed},
      {"text_bytes", content.text_bytes}, {"read_bytes", content.read_bytes},    {"draws", content.draws},
      {"cells", content.cells},           {"failed_draws", content.failed_draws}};
  ordered_json& schemes = made["buckets"] = ordered_json::object();
  for (const sampled_scheme& scheme : content.schemes) {
    ordered_json& buckets = schemes[scheme.name] = ordered_json::object();
    for (std::size_t i = 0; i < scheme.buckets.size(); ++i) {
      const sampled_share& each = scheme.shares[i];
      buckets[scheme.buckets[i]] = {
          {"share", each.share}, {"at_least", each.within.at_least}, {"at_most", each.within.at_most}};
    }
  }
  ordered_json& unsampled = made["unsampled"] = ordered_json::array();
  for (const left_out& each : content.unsampled) {
    ordered_json input = {{"name", each.name}, {"stored_bytes", each.stored_bytes}, {"cause", each.cause}};
    if (!config::is_utf8(each.name)) input["name_base64"] = base64(each.name);
    unsampled.push_back(std::move(input));
  }
  return as_line(made);
}

}  // namespace gpuhist::report
