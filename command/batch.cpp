// `gpuhist batch [plan] [JOB.toml] [INPUT...]`: manifest -> lock and state -> a run over what is not finished ->
// results.
#include "batch/dry_run.hpp"
#include "batch/input_survey.hpp"
#include "batch/job_document.hpp"
#include "batch/job_extension.hpp"
#include "batch/job_folder.hpp"
#include "batch/job_identity.hpp"
#include "batch/job_journal.hpp"
#include "batch/job_ledger.hpp"
#include "batch/job_outputs.hpp"
#include "batch/job_pieces.hpp"
#include "batch/job_planning.hpp"
#include "batch/job_run.hpp"
#include "batch/job_units.hpp"
#include "batch/result_files.hpp"
#include "command/command_frame.hpp"
#include "command/commands.hpp"
#include "command/job_options.hpp"
#include "command/run_messages.hpp"
#include "config/size.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "library/file_run.hpp"
#include "library/results.hpp"
#include "report/formats/text.hpp"
#include "report/output/destination.hpp"
#include "report/output/messages.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

namespace fs = std::filesystem;

// Before threads start.
void refuse(bool is_wrong, std::string_view option, const std::string& cause) {
  if (is_wrong) throw config::option_error(option, cause);
}

void check_options(const config::options& typed) {
  const bool is_checked = !typed.run.counting.fail_if.empty() || !typed.run.counting.alert_if.empty();
  const watch_options& watch = typed.run.counting.watch;
  const bool is_of_inputs = watch.inputs && !watch.totals && !watch.windows;
  refuse(typed.shard && is_checked && !is_of_inputs, "shard",
         "a shard does not know the totals of the job; give --watch inputs with --fail-if and --alert-if");
  check_unit_options(typed);
  refuse(typed.output && !typed.plans_only, "output", "is for gpuhist batch plan; give --output-dir");
  refuse(
      typed.new_only && typed.shard, "new-only",
      "the manifest of shards is fixed; count what is new in another folder, and add the results with gpuhist merge");
  refuse(typed.new_only && typed.plans_only, "new-only", "is for a run, which extends the manifest itself");
  refuse(typed.new_only && (typed.run.counting.units || typed.run.counting.windows), "new-only",
         "cannot extend a job with --each, --match, --group-by or --window; count what is new in another folder");
  // elsewhere, the format is that of other commands
  const bool is_format_typed = typed.format && !typed.origins.contains("--format");
  refuse(is_format_typed && !typed.dry_run, "format", "is for --dry-run; the results of a job are JSON");
  refuse(typed.dry_run && is_format_typed && *typed.format != "table" && *typed.format != "json", "format",
         "--dry-run has the formats table and json");
  if (!typed.plans_only && !typed.output_dir) {
    const bool has_job = !typed.job.empty() || typed.inputs.empty();
    throw config::usage_error(
        "gpuhist batch: there is no folder for the results; give --output-dir, or the key output-dir in the job file" +
        (has_job ? ""
                 : "; " + report::printable(typed.inputs.front()) + " is taken as an input (job files end in .toml)"));
  }
}

config::fingerprint_kind kind_of(const config::options& typed) {
  return typed.fingerprint.value_or(config::fingerprint_kind::ends);
}

using own_files = std::shared_ptr<const io::output_files>;

// Looks up the inputs, and reports files that --min-age leaves out. `own`: files that are no inputs, which
// `output_name` describes. `earlier`: the manifest that is extended, or null.
batch::planned_entries look_up(const config::options& typed, const own_files& own, const std::string& output_name,
                               const batch::manifest* earlier) {
  plan planned = make_plan(options_of_job(typed, *own));
  planned.output_name = output_name;
  library::set_outputs(planned, own);
  batch::planned_entries made =
      batch::plan_entries(planned, {.min_age = typed.min_age,
                                    .fingerprint = earlier != nullptr ? earlier->fingerprint : kind_of(typed),
                                    .split_bytes = typed.plans_only ? std::optional(typed.split_size) : std::nullopt,
                                    .earlier = earlier,
                                    .knows_logs = !typed.plans_only,
                                    .trusts_names = typed.trust_names});
  const std::size_t young = made.too_young;
  if (young > 0 && !typed.quiet) {
    report::complain(config::number_of(young, "file") + (young == 1 ? " is" : " are") + " left out, because of " +
                     typed.where("--min-age"));
  }
  return made;
}

batch::planned_entries look_up(const config::options& typed, const batch::job_folder& folder,
                               const batch::manifest* earlier) {
  return look_up(typed, folder.own_files(), "a file of the job in " + report::printable(folder.path().string()),
                 earlier);
}

// The manifest of a job.
struct found_manifest {
  batch::manifest content;
  std::string new_text;  // empty: the folder has it
};

found_manifest new_manifest(const config::options& typed, const batch::job_folder& folder) {
  found_manifest made;
  made.content.entries = look_up(typed, folder, nullptr).entries;
  made.content.fingerprint = kind_of(typed);
  made.new_text = batch::text_of_manifest(made.content.entries, made.content.fingerprint);
  made.content.identity = batch::identity_of_text(made.new_text);
  return made;
}

// That of --manifest, that of the folder, or a new one. Nothing is written.
found_manifest find_manifest(const config::options& typed, const batch::job_folder& folder) {
  found_manifest found;
  std::error_code ignored;
  const fs::path kept = batch::manifest_file_of(folder);
  if (typed.manifest) {
    found.new_text = batch::text_of_manifest_file(*typed.manifest);
    found.content = batch::manifest_from(found.new_text, *typed.manifest);
  } else if (fs::exists(kept, ignored)) {
    found.content = batch::read_manifest(kept.string());
  } else if (typed.shard) {
    throw config::option_error(
        "shard",
        "all shards need the same manifest; make it with gpuhist batch plan JOB.toml -o FILE, and "
        "give --manifest FILE");
  } else {
    found = new_manifest(typed, folder);
  }
  if (typed.fingerprint && *typed.fingerprint != found.content.fingerprint) {
    throw std::runtime_error(typed.where("--fingerprint") + ": the manifest has fingerprints of the kind " +
                             std::string(batch::name_of(found.content.fingerprint)) +
                             "; give that one, or another --output-dir");
  }
  return found;
}

// A condition is one of a whole input.
void check_division(const config::options& typed, const batch::job_division& division) {
  if (typed.run.counting.fail_if.empty() && typed.run.counting.alert_if.empty()) return;
  for (const batch::manifest_entry& each : division.pieces.entries) {
    if (!each.piece) continue;
    throw config::option_error(
        "shard", report::printable(each.name) +
                     " is divided between shards, which cannot check conditions of it; plan again with a larger "
                     "--split-size, or leave out --fail-if and --alert-if");
  }
}

batch::job_division divide(const plan& planned, const config::options& typed, batch::manifest inputs,
                           config::shard_choice shard) {
  batch::job_division made = batch::divide(std::move(inputs), shard.count, batch::may_divide(planned));
  check_division(typed, made);
  return made;
}

// The entries of a shard, or all.
const std::vector<std::size_t>& chosen_of(const batch::job_division& division, config::shard_choice shard) {
  return division.of_shard[shard.count > 0 ? shard.number - 1 : 0];
}

// Inputs that differed from the manifest only by what --trust-names ignores.
void reopen_trusted(const batch::manifest& inputs, batch::job_ledger& ledger) {
  for (std::size_t i = 0; i < inputs.entries.size(); ++i) {
    if (!ledger.is_refused(i)) continue;
    const std::optional<io::file_state> now =
        io::state_of(inputs.entries[i].name, batch::fingerprinted_by(inputs.fingerprint));
    if (now && batch::difference(inputs.entries[i], *now, true).empty()) ledger.reopen(i);
  }
}

ending write_manifest(const config::options& typed, const io::open_descriptors& open_descriptors) {
  report::destination to(typed.output, report::writing::whole, open_descriptors);
  const auto own = std::make_shared<io::output_files>();
  own->include(to.files());
  if (typed.output_dir) own->include(batch::job_folder(*typed.output_dir).own_files());
  const std::string name = typed.output ? "the output " + report::printable(*typed.output) : "standard output";
  const std::vector<batch::manifest_entry> entries = look_up(typed, own, name, nullptr).entries;
  to.write(batch::text_of_manifest(entries, kind_of(typed)));
  to.commit();
  const auto has_failed = [](const batch::manifest_entry& each) { return !each.error.is_none(); };
  for (const batch::manifest_entry& each : entries) {
    if (has_failed(each)) report::complain(report::printable(each.name) + ": " + each.error.text);
  }
  return {.exit_status = std::ranges::any_of(entries, has_failed) ? ending::input_failed : ending::counted_all};
}

// What --new-only has found.
void print_changes(const config::options& typed, const batch::manifest_extension& changes) {
  for (const batch::extended_entry& each : changes.entries) {
    if (each.change.empty()) continue;
    report::complain(report::printable(each.entry.name) + ": changed without growing after it was counted: " +
                     each.change + "; the counts of its earlier content stay; rename it to count it as a new input");
  }
  if (typed.quiet) return;
  std::string text = report::printable(*typed.output_dir) + ": " + config::number_of(changes.added, "new input");
  if (changes.grown > 0) text += ", " + config::grouped(changes.grown) + " with more bytes";
  if (changes.renamed > 0) text += ", " + config::grouped(changes.renamed) + " renamed";
  if (changes.retried > 0) text += ", " + config::grouped(changes.retried) + " to be read again";
  if (changes.missing > 0) text += ", " + config::grouped(changes.missing) + " disappeared (their counts stay)";
  if (changes.dropped > 0) text += ", " + config::grouped(changes.dropped) + " disappeared and dropped";
  report::complain(text);
}

// Nothing is written, and the folder is not locked.
ending print_plan(const config::options& typed, config::shard_choice shard) {
  const batch::job_folder folder(*typed.output_dir, shard);
  config::options of_sample = typed;
  engine& counting = of_sample.run.counting.counting_engine;
  if (counting == engine::automatic) counting = engine::host;  // a sample is too short for the start of a device
  const plan planned = plan_of_run(of_sample);
  folder.require_own();
  batch::job_division division = divide(planned, typed, find_manifest(typed, folder).content, shard);
  batch::manifest inputs = std::move(division.pieces);
  std::vector<batch::entry_progress> progress = batch::read_progress(folder, planned, typed, inputs, shard);
  std::error_code ignored;
  if (typed.new_only && fs::exists(batch::manifest_file_of(folder), ignored)) {
    const batch::manifest_extension changes =
        batch::extend(inputs, [&](std::size_t entry) { return progress[entry]; }, look_up(typed, folder, &inputs),
                      {.trusts_names = typed.trust_names, .drops_missing = typed.drop_missing});
    print_changes(typed, changes);
    progress = batch::progress_after(changes, progress);
    inputs = batch::manifest_after(changes, inputs.fingerprint);
    division = divide(planned, typed, inputs, shard);
  }
  batch::dry_run shown{.threads = planned.threads, .planned = inputs};
  std::vector<std::size_t> remaining;
  for (const std::size_t each : chosen_of(division, shard)) {
    ++shown.inputs;
    shown.bytes += inputs.entries[each].stored_bytes();
    if (progress[each] == batch::entry_progress::open) remaining.push_back(each);
  }
  shown.counted = shown.inputs - remaining.size();
  shown.groups = batch::survey(planned, inputs, remaining);
  shown.estimated = batch::estimate(planned, inputs, shown.groups);
  const bool is_json = typed.format == "json";
  report::destination({}, report::writing::whole)
      .write(is_json ? batch::json_of_dry_run(shown) : batch::text_of_dry_run(shown));
  return {};
}

class batch_job {
 public:
  batch_job(const config::options& typed, config::shard_choice shard)
      : typed_(typed), shard_(shard), folder_(*typed.output_dir, shard), began_(batch::now_as_text()) {}

  // Whatever happens, a later run continues from what this one has recorded.
  ending run() {
    const plan planned = plan_of_run(typed_);
    if (shard_.count == 0) batch::result_files::refuse_files_of_user(folder_);  // their folder stays as it is
    folder_.create();
    const batch::job_lock lock(folder_.lock_file(), waiting());
    if (shard_.count == 0) results_.emplace(folder_);
    if (shard_.count == 0) batch::settle_extension(folder_);
    const batch::job_division division = divide(planned, typed_, manifest_of_run(planned), shard_);
    const batch::manifest& inputs = division.pieces;
    const std::vector<std::size_t>& chosen = chosen_of(division, shard_);
    batch::job_ledger ledger(inputs.entries.size(), planned.partition, batch::no_text_of(planned), planned.spilled_to);
    const batch::job_identity identity = batch::identity_of(planned, typed_, inputs.identity, shard_);
    if (shard_.count > 0) folder_.refuse_other_shard_result(identity);
    if (results_) results_->set_job(identity);
    batch::unit_ledger units(inputs.entries.size(), planned);
    batch::remove_records_without_lines(folder_, identity, planned);
    batch::job_journal journal(folder_.journal_file(), identity, [&](std::string_view record) {
      if (units.add(record)) return;
      if (const auto known = ledger.open_record(record)) batch::add_record(*known, ledger, units);
    });
    if (typed_.trust_names) reopen_trusted(inputs, ledger);
    if (!typed_.quiet && ledger.finished() + ledger.begun() > 0) report::complain(found_text(ledger, chosen.size()));
    header_ = journal.header();
    const command_frame frame(planned.measuring.warning);
    report::console screen;
    batch::job_run counting(static_cast<const library::counting_plan&>(planned),
                            {typed_, inputs, chosen, journal, ledger, units, folder_}, screen, frame.stop());
    if (counting.has_failed()) return frame.end(stopped(counting));
    const library::finished_run finished = count(counting, frame.hooks(screen), ledger);
    return frame.end(finished, [&] { return conclude(planned, inputs, chosen, ledger, units, counting, finished); });
  }

 private:
  batch::manifest manifest_of_run(const plan& planned) const {
    found_manifest found = find_manifest(typed_, folder_);
    std::error_code ignored;
    if (results_ && !fs::exists(folder_.journal_file(), ignored)) {  // a state shows what the results beside it are of
      results_->refuse_other_job(batch::identity_of(planned, typed_, found.content.identity, shard_));
    }
    if (!found.new_text.empty()) folder_.keep_manifest(found.new_text);
    if (!typed_.new_only || !found.new_text.empty()) return std::move(found.content);
    batch::extended_job extended =
        batch::extend_job(folder_, planned, typed_, found.content, look_up(typed_, folder_, &found.content));
    print_changes(typed_, extended.changes);
    return std::move(extended.inputs);
  }

  library::finished_run count(batch::job_run& counting, library::process_hooks hooks, const batch::job_ledger& ledger) {
    const fs::path times = folder_.runs_file();
    runs_ = batch::read_runs(times);
    batch::job_run_times now{.began = began_, .host = batch::host_name()};
    batch::note_beginning(times, now);
    const std::size_t before = ledger.finished();
    const auto start = std::chrono::steady_clock::now();
    library::finished_run finished = counting.run(std::move(hooks));
    now.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    now.ended = batch::now_as_text();
    now.inputs = ledger.finished() - before;
    batch::note_end(times, now);
    runs_.push_back(now);
    return finished;
  }

  [[nodiscard]] std::string name() const { return report::printable(*typed_.output_dir); }

  // "out: 2 of 5 inputs were counted by an earlier run, and the beginning of 1 more"
  [[nodiscard]] std::string found_text(const batch::job_ledger& ledger, std::size_t inputs) const {
    std::string text = name() + ": " + config::grouped(ledger.finished()) + " of " +
                       config::number_of(inputs, "input") + (ledger.finished() == 1 ? " was" : " were") +
                       " counted by an earlier run";
    if (ledger.begun() > 0) text += ", and the beginning of " + config::grouped(ledger.begun()) + " more";
    return text;
  }

  // With --wait: reports that the run waits for another one.
  [[nodiscard]] std::function<void(const std::string&)> waiting() const {
    if (!typed_.waits) return {};
    return [is_quiet = typed_.quiet](const std::string& text) {
      if (!is_quiet) report::complain(text);
    };
  }

  [[nodiscard]] batch::recorded_units recorded(const batch::unit_ledger& units) const {
    return {.ledger = units,
            .files = {{.units = folder_.lines_file(batch::lines_of::units),
                       .windows = folder_.lines_file(batch::lines_of::windows)}}};
  }

  [[nodiscard]] ending::status stopped(const batch::job_run& counting) const {
    report::complain(
        name() + ": " + counting.stop_reason() +
        "; no results are written; correct the inputs in another folder, or allow more errors to continue");
    return ending::input_failed;
  }

  ending::status conclude(const plan& planned, const batch::manifest& inputs, const std::vector<std::size_t>& chosen,
                          const batch::job_ledger& ledger, const batch::unit_ledger& units,
                          const batch::job_run& counting, const library::finished_run& finished) {
    print_failures(planned, finished.outcome);
    const std::size_t missing = chosen.size() - ledger.finished();
    bool has_changes = false;
    if (!counting.stop_reason().empty()) return stopped(counting);
    if (missing > 0) {
      report::complain(name() + ": " + config::grouped(missing) + " of " + config::number_of(chosen.size(), "input") +
                       (missing == 1 ? " is" : " are") + " not counted; run the same command again to continue");
    } else if (shard_.count > 0) {
      folder_.publish();
    } else {
      has_changes = batch::write_outputs(*results_, planned, inputs, ledger, recorded(units), description_of(finished));
    }
    if (has_changes) report::complain(name() + ": the logs have changed: changes.txt");
    if (!typed_.quiet && missing == 0) {
      report::complain(name() + ": " + config::number_of(chosen.size(), "input") + ", " +
                       config::grouped(ledger.failed()) + " failed");
    }
    const bool lacks_fields = complain_of_missing_fields(units.missing_fields(), name());
    if (missing > 0 || ledger.failed() > 0 || lacks_fields) return ending::input_failed;
    return has_changes || finished.outcome.status == run_status::condition_held ? ending::gate_failed
                                                                                : ending::counted_all;
  }

  [[nodiscard]] batch::job_description description_of(const library::finished_run& finished) const {
    const std::optional<pipeline::run_stats>& stats = finished.outcome.result.shared().content.stats;
    return {.header = header_,
            .began = began_,
            .typed = &typed_,
            .runs = runs_,
            .device = stats ? stats->counting.device : std::string()};
  }

  const config::options& typed_;
  const config::shard_choice shard_;
  const batch::job_folder folder_;
  const std::string began_;
  std::optional<batch::result_files> results_;  // not of a shard
  std::string header_;
  std::vector<batch::job_run_times> runs_;  // this one is the last
};

}  // namespace

ending batch(const config::options& typed, const io::open_descriptors& open_descriptors) {
  check_options(typed);
  if (typed.plans_only) return write_manifest(typed, open_descriptors);
  const config::shard_choice shard = shard_of(typed);
  if (!typed.dry_run) return batch_job(typed, shard).run();
  return print_plan(typed, shard);
}

}  // namespace gpuhist::command
