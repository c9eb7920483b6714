#include "batch/dry_run.hpp"

#include "batch/job_planning.hpp"
#include "config/size.hpp"
#include "io/format.hpp"
#include "library/file_run.hpp"
#include "library/results.hpp"
#include "report/formats/report.hpp"
#include "report/formats/report_json.hpp"
#include "report/formats/text.hpp"
#include "report/output/progress.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string_view>

namespace gpuhist::batch {

namespace {

using seconds = std::chrono::duration<double>;
using clock = std::chrono::steady_clock;

constexpr seconds whole_budget(2);
constexpr std::size_t most_inputs = 256;  // of a format

pipeline::looked_up_inputs sample_of(const library::counting_plan& planned, const manifest& inputs,
                                     const format_group& group) {
  std::vector<std::size_t> with_bytes;
  for (const std::size_t each : group.entries) {
    if (inputs.entries[each].stored_bytes() > 0) with_bytes.push_back(each);
  }
  std::vector<std::size_t> chosen;
  const std::size_t number = std::min(with_bytes.size(), most_inputs);
  for (std::size_t i = 0; i < number; ++i) chosen.push_back(with_bytes[i * with_bytes.size() / number]);
  return inputs_of(inputs, chosen, no_text_of(planned));
}

// The compressed bytes that decoders have taken; of members, what was read of their archives.
std::uint64_t source_bytes_of(const report::run_report& counted, std::uint64_t read_bytes, bool has_members) {
  if (has_members) return read_bytes;
  std::uint64_t sum = 0;
  for (const pipeline::input_report& each : counted.inputs) {
    sum += each.compressed_bytes.value_or(each.verified.bytes() + each.unverified.bytes());
  }
  return sum;
}

format_sample count_sample(library::counting_plan planned, const manifest& inputs, const format_group& group,
                           seconds budget) {
  auto chosen = std::make_shared<pipeline::looked_up_inputs>(sample_of(planned, inputs, group));
  format_sample made;
  if (chosen->inputs.empty()) return made;
  planned.source_bytes = 0;
  for (const pipeline::listed_input& each : chosen->inputs) *planned.source_bytes += each.size;
  planned.looked_up = std::move(chosen);
  std::stop_source stop;
  file_events events;
  events.progress_interval = std::chrono::milliseconds(20);
  events.on_progress = [&](const gpuhist::progress& now) {
    if (now.elapsed > budget) stop.request_stop();
  };
  const library::finished_run finished = library::file_run(planned, events, stop.get_token()).run();
  const report::run_report& counted = finished.outcome.result.shared().content;
  const pipeline::run_stats& stats = *counted.stats;
  std::uint64_t read_bytes = 0;
  for (const pipeline::stage_stats& each : stats.stages) {
    if (each.name == "read") read_bytes += each.bytes;
  }
  const bool has_members = group.share_of(reading_manner::members) > 0;
  for (const pipeline::input_report& each : counted.inputs)
    made.inputs += each.error_kind == io::failure_kind::not_read ? 0 : 1;
  made.source_bytes = source_bytes_of(counted, read_bytes, has_members);
  made.text_bytes = stats.bytes;
  made.disk_bytes = stats.disk_bytes;
  made.seconds = stats.seconds;
  made.limited_by = stats.limited_by;
  return made;
}

format_estimate extrapolate(const format_group& group, format_sample sample) {
  format_estimate made;
  if (sample.source_bytes > 0) {
    const double times = static_cast<double>(group.bytes) / static_cast<double>(sample.source_bytes);
    made.seconds = sample.seconds * times;
    made.text_bytes = static_cast<double>(sample.text_bytes) * times;
  }
  made.sample = std::move(sample);
  return made;
}

std::string size_text(double bytes) { return config::format_size(static_cast<std::uint64_t>(bytes)); }

// The rules of README.md, "When does a GPU help?".
gpu_advice advise(const std::vector<format_group>& groups, const job_estimate& estimated) {
  constexpr double gib = std::uint64_t{1} << 30U;
  constexpr double enough_text = 8 * gib;  // of many frames
  constexpr double enough_of_one_frame = 16 * gib;
  constexpr std::size_t enough_frames = 64;
  using enum gpu_advice::verdict;
  double of_many_frames = 0;
  double of_one_frame = 0;
  std::size_t one_frame_inputs = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const io::format* const format = io::format_named(groups[i].format);
    if (format == nullptr || !format->on_device) continue;
    of_many_frames += estimated.formats[i].text_bytes * groups[i].share_of(reading_manner::many_frames);
    const double share =
        groups[i].share_of(reading_manner::one_frame) + groups[i].share_of(reading_manner::frame_parts);
    of_one_frame += estimated.formats[i].text_bytes * share;
    one_frame_inputs += static_cast<std::size_t>(share * static_cast<double>(groups[i].inputs));
  }
  if (of_many_frames >= enough_text) {
    return {
        .pays = yes,
        .reason = "about " + size_text(of_many_frames) +
                  " of the text is in zstd or gzip archives of many frames; a GPU decodes these, and only compressed "
                  "bytes cross the link"};
  }
  if (of_one_frame >= enough_of_one_frame && one_frame_inputs >= enough_frames) {
    return {.pays = perhaps,
            .reason =
                "about " + size_text(of_one_frame) +
                " of the text is in zstd or gzip archives of one frame, which a GPU decodes faster if many are decoded "
                "at once: --engine cuda --memory-limit 8GiB; gpuhist repack divides them into frames"};
  }
  if (estimated.text_bytes < enough_text) {
    return {.pays = no,
            .reason = "about " + size_text(estimated.text_bytes) + " of text is less than the " +
                      size_text(enough_text) + " from which the start of a GPU (0.4 s) pays"};
  }
  return {.pays = no,
          .reason = "less than " + size_text(enough_text) +
                    " of the text is in zstd or gzip archives of many frames; other text crosses the link, which "
                    "carries at most 54.5 GB/s (PCIe 5), after the cores have read and decoded it"};
}

void note_limit(job_estimate& to, const std::vector<format_group>& groups) {
  double longest = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (to.formats[i].seconds <= longest) continue;
    longest = to.formats[i].seconds;
    to.limited_by = groups[i].format + ": " + to.formats[i].sample.limited_by;
  }
}

}  // namespace

std::string_view name_of(gpu_advice::verdict verdict) {
  constexpr std::array<std::string_view, 3> names = {"no", "perhaps", "yes"};
  return names[static_cast<std::size_t>(verdict)];
}

job_estimate estimate(const library::counting_plan& planned, const manifest& inputs,
                      const std::vector<format_group>& groups) {
  job_estimate made;
  const auto began = clock::now();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const seconds rest = whole_budget - (clock::now() - began);
    const seconds budget = std::max(rest, seconds(0)) / static_cast<double>(groups.size() - i);
    made.formats.push_back(extrapolate(groups[i], count_sample(planned, inputs, groups[i], budget)));
    made.seconds += made.formats.back().seconds;
    made.text_bytes += made.formats.back().text_bytes;
  }
  made.sample_seconds = seconds(clock::now() - began).count();
  note_limit(made, groups);
  made.gpu = advise(groups, made);
  return made;
}

namespace {

using json = nlohmann::ordered_json;

// "6 of 8 inputs: many frames, ..."; of a single manner without numbers.
std::string manners_text(const format_group& group) {
  std::string text;
  for (std::size_t i = 0; i < reading_manners; ++i) {
    if (group.manners[i] == 0) continue;
    if (!text.empty()) text += "; ";
    if (group.manners[i] != group.examined)
      text += config::grouped(group.manners[i]) + " of " + config::grouped(group.examined) + ": ";
    text += description_of(static_cast<reading_manner>(i));
  }
  if (group.examined < group.inputs) text += " (" + config::grouped(group.examined) + " examined)";
  return text;
}

std::string groups_text(const dry_run& shown) {
  std::size_t width = 0;
  for (const format_group& each : shown.groups) width = std::max(width, each.format.size());
  std::string text;
  for (const format_group& each : shown.groups) {
    text += "  " + each.format + std::string(width - each.format.size() + 2, ' ') +
            config::number_of(each.inputs, "input") + ", " + config::format_size(each.bytes) + ": " +
            manners_text(each) + "\n";
  }
  return text;
}

std::uint64_t sampled_bytes(const job_estimate& estimated, std::uint64_t format_sample::* bytes) {
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
                     config::number_of(shown.threads, "thread") + " in " + config::fixed(estimated.sample_seconds, 1) +
                     " s; " + std::to_string((sampled - from_disk) * 100 / sampled) +
                     " % of it was in the page cache\n";
  text += "  time     about " + report::for_people(estimated.seconds) + "\n";
  text += "  text     about " + config::format_size(static_cast<std::uint64_t>(estimated.text_bytes)) + "\n";
  text += "  limit    " + report::printable(estimated.limited_by) + "\n";
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
  out["estimate"] = {{"seconds", report::json_number(estimated.seconds)},
                     {"text_bytes", static_cast<std::uint64_t>(estimated.text_bytes)}};
  out["sample"] = {{"inputs", estimated.sample.inputs},
                   {"source_bytes", estimated.sample.source_bytes},
                   {"disk_bytes", estimated.sample.disk_bytes},
                   {"text_bytes", estimated.sample.text_bytes},
                   {"seconds", report::json_number(estimated.sample.seconds)},
                   {"limited_by", estimated.sample.limited_by}};
  return out;
}

}  // namespace

std::string text_of_dry_run(const dry_run& shown) {
  std::string text =
      "inputs     " + config::grouped(shown.inputs) + ", " + config::number_of(shown.bytes, "byte") + "\n";
  if (shown.counted > 0) text += "counted    " + config::grouped(shown.counted) + " of them by an earlier run\n";
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
  out["estimate"] = {{"seconds", report::json_number(estimated.seconds)},
                     {"text_bytes", static_cast<std::uint64_t>(estimated.text_bytes)},
                     {"sample_seconds", report::json_number(estimated.sample_seconds)},
                     {"limited_by", estimated.limited_by}};
  out["gpu"] = {{"pays", name_of(estimated.gpu.pays)}, {"reason", estimated.gpu.reason}};
  return report::as_line(out);
}

}  // namespace gpuhist::batch
