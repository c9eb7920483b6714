#include "batch/job_run.hpp"

#include "batch/job_planning.hpp"
#include "config/size.hpp"
#include "library/event_publisher.hpp"
#include "report/formats/report.hpp"
#include "report/formats/report_alert.hpp"
#include "report/formats/text.hpp"
#include "report/output/progress.hpp"
#include "report/output/terminal.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace gpuhist::batch {
namespace {

// The input can be counted by a later run: its failure is not one of the input.
bool can_be_repeated(const pipeline::completed_input& completed) {
  const io::failure_kind kind = completed.report.error_kind;
  return !completed.is_finished || io::is_cut_short(kind) || kind == io::failure_kind::not_counted ||
         kind == io::failure_kind::out_of_memory;
}

job_record::kind kind_of(const pipeline::completed_input& completed) {
  if (completed.how.archive_name_bytes > 0) return job_record::kind::member;
  return completed.how.is_omitted ? job_record::kind::members : job_record::kind::input;
}

// Inputs that are units are measured at the end of the job.
library::counting_plan run_of(library::counting_plan job) {
  if (!reads_units(job)) job.units = nullptr;
  return job;
}

}  // namespace

job_run::job_run(library::counting_plan planned, const counted_job& job, report::console& screen, std::stop_source stop)
    : planned_(run_of(std::move(planned))),
      job_(job),
      screen_(screen),
      stop_(std::move(stop)),
      units_(planned_, job.folder, job.units, job.journal) {
  std::vector<std::size_t> remaining;
  for (const std::size_t each : job_.chosen) {
    const manifest_entry& entry = job_.inputs.entries[each];
    entry_of_.emplace(entry.name, each);
    if (job_.ledger.is_finished(each)) continue;
    remaining.push_back(each);
    bytes_ += entry.stored_bytes();
  }
  auto inputs = std::make_shared<pipeline::looked_up_inputs>(inputs_of(job_.inputs, remaining, no_text_of(planned_)));
  for (std::size_t i = 0; i < remaining.size(); ++i) {
    const auto counted = job_.ledger.prefix_of(remaining[i]);
    if (!counted) continue;
    const manifest_entry& entry = job_.inputs.entries[remaining[i]];
    const auto& piece = entry.piece;
    const std::uint64_t stored = counted->stored_bytes();
    // a prefix that is not one of the input is not used
    if (counted->counted.name != entry.name || stored < (piece ? piece->begin.stored_bytes : 0) ||
        stored > (piece ? piece->end.value_or(entry.size) : entry.size)) {
      continue;
    }
    inputs->inputs[i].counted = counted;
    recorded_to_[remaining[i]] = counted->stored_bytes();
    bytes_ -= std::min(bytes_, counted->stored_bytes() - (piece ? piece->begin.stored_bytes : 0));
  }
  planned_.looked_up = std::move(inputs);
  planned_.source_bytes = bytes_;
}

library::finished_run job_run::run(library::process_hooks hooks) {
  const pipeline::run_counts earlier = job_.ledger.counts();
  hooks.on_completed = [this](std::span<const pipeline::completed_input> completed) { note(completed); };
  const bool counts_only = !planned_.validates_utf8 && planned_.units == nullptr && !planned_.windows;
  if (counts_only) {  // what is found in the text besides counts has no prefix
    hooks.on_prefixes = [this](std::span<const pipeline::input_prefix> prefixes) { note(prefixes); };
    hooks.prefix_interval = std::max(job_.typed.checkpoint_every, std::chrono::milliseconds(1));
  }
  hooks.on_status = [this](const pipeline::run_progress& now) {
    screen_.say("gpuhist: " +
                progress_text({.source_bytes = now.source_bytes,
                               .text_bytes = now.text_bytes,
                               .elapsed = std::chrono::duration<double>(now.seconds)}) +
                "\n");
  };
  hooks.earlier = &earlier;
  if (reads_units(planned_)) {
    hooks.all_units = [this] {
      note_waiting();
      return job_.units.result();
    };
  }
  file_events called = events();
  units_.connect(hooks, called, [this] { note_waiting(); });
  library::file_run running(planned_, called, stop_.get_token(), std::move(hooks));
  units_.follow(running);
  library::finished_run finished = running.run();
  screen_.clear();
  note_waiting();
  units_.synchronize();
  return finished;
}

void job_run::note(std::span<const pipeline::completed_input> completed) {
  waiting_.insert(waiting_.end(), completed.begin(), completed.end());
  note_waiting();
}

// An input that failed may be completed before the last of its text was measured.
void job_run::note_waiting() {
  if (std::exchange(is_noting_, true)) return;
  while (!waiting_.empty() && !units_.is_open(waiting_.front())) {
    const pipeline::completed_input next = std::move(waiting_.front());
    waiting_.pop_front();
    note(next);
  }
  units_.write();
  job_.journal.write();
  units_.synchronize_in_time();
  is_noting_ = false;
}

void job_run::note(std::span<const pipeline::input_prefix> prefixes) {
  for (const pipeline::input_prefix& each : prefixes) {
    const auto found = entry_of_.find(each.counted.name);
    if (found == entry_of_.end() || job_.ledger.is_finished(found->second)) continue;
    if (std::exchange(recorded_to_[found->second], each.stored_bytes()) == each.stored_bytes()) continue;
    const job_record made{.type = job_record::kind::prefix,
                          .entry = found->second,
                          .report = each.counted,
                          .frames = each.frames,
                          .edges = each.edges,
                          .text_before = each.text_before};
    job_.journal.append(packed_record(made));
    job_.ledger.add(made);
  }
  job_.journal.write();
}

void job_run::note(const pipeline::completed_input& completed) {
  const job_record::kind kind = kind_of(completed);
  const std::string_view name(completed.report.name);
  const bool is_member = kind == job_record::kind::member;
  const auto found = entry_of_.find(is_member ? name.substr(0, completed.how.archive_name_bytes) : name);
  if (found == entry_of_.end() || job_.ledger.is_finished(found->second)) return units_.drop(completed);
  const std::size_t entry = found->second;
  if (can_be_repeated(completed)) {
    if (is_member) unfinished_.insert(entry);
    return units_.drop(completed);
  }
  if (!is_member && unfinished_.contains(entry)) return units_.drop(completed);
  if (is_member) {
    return record(completed,
                  {.type = kind, .entry = entry, .member = completed.how.member, .report = completed.report});
  }
  const std::optional<std::string> cause = difference_of(job_.inputs.entries[entry]);
  if (!cause) return units_.drop(completed);
  if (!cause->empty()) {
    record(completed, refused(entry, *cause, completed.report));
  } else {
    record(completed, {.type = kind, .entry = entry, .report = completed.report});
  }
  if (has_failed()) stop_.request_stop();
}

void job_run::record(const pipeline::completed_input& completed, const job_record& made) {
  const bool is_member = made.type == job_record::kind::member;
  if (made.type == job_record::kind::refused) {
    units_.drop(completed);
  } else {
    units_.record(completed, {.entry = made.entry, .member = is_member ? made.member + 1 : 0});
  }
  job_.journal.append(packed_record(made));
  add_record(made, job_.ledger, job_.units);
}

// Compared after the file was read, so that a change during the reading is noticed, too. Nothing: that is not known,
// because memory or descriptors are insufficient; a later run reads the input again.
std::optional<std::string> job_run::difference_of(const manifest_entry& entry) const {
  if (!entry.error.is_none()) return std::string();
  const std::optional<io::file_state> now = io::state_of(entry.name, fingerprinted_by(job_.inputs.fingerprint));
  if (now) return difference(entry, *now, job_.typed.trust_names);
  const int error = errno;
  if (error == ENOENT) return "it disappeared after the job was planned";
  if (io::kind_of_errno(error) == io::failure_kind::out_of_memory) return std::nullopt;
  return "it cannot be compared: " + std::system_category().message(error);
}

job_record job_run::refused(std::size_t entry, const std::string& cause, const pipeline::input_report& found) const {
  pipeline::input_report made;
  made.name = found.name;
  made.format = found.format;
  made.error = "differs from the manifest: " + cause;
  made.error_kind = io::failure_kind::refused;
  made.verified = made.unverified = no_text_of(planned_);
  screen_.say("gpuhist: " + report::printable(made.name) + ": " + made.error + "\n");
  return {.type = job_record::kind::refused, .entry = entry, .report = std::move(made)};
}

bool job_run::has_failed() {
  const std::size_t failed = job_.ledger.failed();
  if (failed == 0 || !stop_reason_.empty()) return !stop_reason_.empty();
  if (job_.typed.stops_on_error) {
    stop_reason_ = "stopped, because an input failed (--on-error stop)";
  } else if (const auto& limit = job_.typed.max_errors) {
    const double most =
        limit->is_percentage ? limit->amount / 100 * static_cast<double>(job_.chosen.size()) : limit->amount;
    if (static_cast<double>(failed) > most) {
      stop_reason_ = "stopped, because " + config::grouped(failed) + " of " +
                     config::number_of(job_.chosen.size(), "input") + " failed, more than --max-errors allows";
    }
  }
  return !stop_reason_.empty();
}

file_events job_run::events() {
  file_events made;
  made.on_alert = [this](const alert& reported) {
    const std::size_t width = report::text_width(report::target_for_standard_error());
    screen_.say("gpuhist: " + report::firing_for_people(library::firing_of(reported), width) + "\n");
  };
  if (job_.typed.quiet || job_.typed.progress == std::optional(false)) return made;
  made.on_notice = [this](std::string_view notice) { screen_.say("gpuhist: " + report::printable(notice) + "\n"); };
  const bool is_terminal = screen_.is_terminal();
  made.progress_interval = is_terminal ? std::chrono::milliseconds(500) : std::chrono::milliseconds(30'000);
  made.on_progress = [this, is_terminal](const gpuhist::progress& now) {
    if (is_terminal) {
      screen_.show(progress_text(now));
    } else {
      screen_.say("gpuhist: " + progress_text(now) + "\n");
    }
  };
  return made;
}

// "120 of 2,000 inputs, 3 failed, 1.2 GiB of 10 GiB (12 %), 280 MiB/s, 7 s left"
std::string job_run::progress_text(const gpuhist::progress& now) const {
  const double seconds = now.elapsed.count();
  const double rate = seconds > 0 ? static_cast<double>(now.source_bytes) / seconds : 0;
  std::string text = config::grouped(job_.ledger.finished()) + " of " + config::number_of(job_.chosen.size(), "input") +
                     ", " + config::grouped(job_.ledger.failed()) + " failed, " +
                     config::format_size(now.source_bytes) + " of " + config::format_size(bytes_);
  if (bytes_ > 0) {
    text += " (" + std::to_string(std::min<std::uint64_t>(100, now.source_bytes * 100 / bytes_)) + " %)";
  }
  text += ", " + config::format_size(static_cast<std::uint64_t>(rate)) + "/s";
  if (rate > 0 && bytes_ > now.source_bytes) {
    text += ", " + report::for_people(static_cast<double>(bytes_ - now.source_bytes) / rate) + " left";
  }
  return text;
}

}  // namespace gpuhist::batch
