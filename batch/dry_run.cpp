#include "batch/dry_run.hpp"

#include "config/size.hpp"
#include "report/formats/report.hpp"
#include "report/formats/report_json.hpp"
#include "report/formats/text.hpp"
#include "report/output/progress.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

// "6 of 8 inputs: many frames, ..."; of a single manner without numbers.
std::string manners_text(const format_group& group) {
  std::string text;
  for (std::size_t i = 0; i < reading_manners; ++i) {
    if (group.manners[i] == 0) continue;
    if (!text.empty()) text += "; ";
    if (group.manners[i] != group.examined) text += grouped(group.manners[i]) + " of " + grouped(group.examined) + ": ";
    text += description_of(static_cast<reading_manner>(i));
  }
  if (group.examined < group.inputs) text += " (" + grouped(group.examined) + " examined)";
  return text;
}

std::string groups_text(const dry_run& shown) {
  std::size_t width = 0;
  for (const format_group& each : shown.groups) width = std::max(width, each.format.size());
  std::string text;
  for (const format_group& each : shown.groups) {
    text += "  " + each.format + std::string(width - each.format.size() + 2, ' ') + number_of(each.inputs, "input") +
            ", " + config::format_size(each.bytes) + ": " + manners_text(each) + "\n";
  }
  return text;
}

std::uint64_t sampled_bytes(const job_estimate& estimated, std::uint64_t format_sample::*bytes) {
  std::uint64_t sum = 0;
  for (const format_estimate& each : estimated.formats) sum += each.sample.*bytes;
  return sum;
}

std::string estimate_text(const dry_run& shown) {
  const job_estimate& estimated = shown.estimated;
  const std::uint64_t sampled = sampled_bytes(estimated, &format_sample::source_bytes);
  if (sampled == 0) return "estimate   none: there is nothing to read\n";
  const std::uint64_t from_disk = std::min(sampled, sampled_bytes(estimated, &format_sample::disk_bytes));
  std::string text = "estimate   from a sample of " + config::format_size(sampled) + ", counted by " +
                     number_of(shown.threads, "thread") + " in " + fixed(estimated.sample_seconds, 1) + " s; " +
                     std::to_string((sampled - from_disk) * 100 / sampled) + " % of it was in the page cache\n";
  text += "  time     about " + for_people(estimated.seconds) + "\n";
  text += "  text     about " + config::format_size(static_cast<std::uint64_t>(estimated.text_bytes)) + "\n";
  text += "  limit    " + printable(estimated.limited_by) + "\n";
  text += "  GPU      " + std::string(name_of(estimated.gpu.pays)) + ": " + estimated.gpu.reason + "\n";
  return text;
}

json group_as_json(const format_group& group, const format_estimate& estimated) {
  json manners = json::object();
  for (std::size_t i = 0; i < reading_manners; ++i) {
    if (group.manners[i] > 0) manners[std::string(name_of(static_cast<reading_manner>(i)))] = group.manners[i];
  }
  json out{{"format", group.format},
           {"inputs", group.inputs},
           {"bytes", group.bytes},
           {"examined", group.examined},
           {"manners", std::move(manners)}};
  out["estimate"] = {{"seconds", json_number(estimated.seconds)},
                     {"text_bytes", static_cast<std::uint64_t>(estimated.text_bytes)}};
  out["sample"] = {{"inputs", estimated.sample.inputs},
                   {"source_bytes", estimated.sample.source_bytes},
                   {"disk_bytes", estimated.sample.disk_bytes},
                   {"text_bytes", estimated.sample.text_bytes},
                   {"seconds", json_number(estimated.sample.seconds)},
                   {"limited_by", estimated.sample.limited_by}};
  return out;
}

}  // namespace

std::string text_of_dry_run(const dry_run& shown) {
  std::string text = "inputs     " + grouped(shown.inputs) + ", " + number_of(shown.bytes, "byte") + "\n";
  if (shown.counted > 0) text += "counted    " + grouped(shown.counted) + " of them by an earlier run\n";
  text += groups_text(shown) + estimate_text(shown);
  text += "manifest   " + shown.planned.identity +
          ", fingerprints: " + std::string(name_of(shown.planned.fingerprint)) + "\n";
  return text;
}

std::string json_of_dry_run(const dry_run& shown) {
  json formats = json::array();
  for (std::size_t i = 0; i < shown.groups.size(); ++i) {
    formats.push_back(group_as_json(shown.groups[i], shown.estimated.formats[i]));
  }
  const job_estimate& estimated = shown.estimated;
  json out{{"kind", "plan"},
           {"schema", "gpuhist.plan/1"},
           {"inputs", shown.inputs},
           {"bytes", shown.bytes},
           {"counted", shown.counted},
           {"manifest", shown.planned.identity},
           {"fingerprint", name_of(shown.planned.fingerprint)},
           {"threads", shown.threads},
           {"formats", std::move(formats)}};
  out["estimate"] = {{"seconds", json_number(estimated.seconds)},
                     {"text_bytes", static_cast<std::uint64_t>(estimated.text_bytes)},
                     {"sample_seconds", json_number(estimated.sample_seconds)},
                     {"limited_by", estimated.limited_by}};
  out["gpu"] = {{"pays", name_of(estimated.gpu.pays)}, {"reason", estimated.gpu.reason}};
  return as_line(out);
}

}  // namespace gpuhist::pipeline
