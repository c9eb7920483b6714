// `gpuhist batch [plan] [JOB.toml] [INPUT...]`: manifest -> lock and state -> a run over what is not finished ->
// results.
#include "config/quote.hpp"
#include "config/size.hpp"
#include "config/usage_error.hpp"
#include "pipeline/flow/stop_signals.hpp"
#include "pipeline/library/file_run.hpp"
#include "pipeline/program/batch/job_folder.hpp"
#include "pipeline/program/batch/job_identity.hpp"
#include "pipeline/program/batch/job_journal.hpp"
#include "pipeline/program/batch/job_ledger.hpp"
#include "pipeline/program/batch/job_lock.hpp"
#include "pipeline/program/batch/job_outputs.hpp"
#include "pipeline/program/batch/job_planning.hpp"
#include "pipeline/program/batch/job_run.hpp"
#include "pipeline/program/batch/job_shards.hpp"
#include "pipeline/program/batch/job_unit_options.hpp"
#include "pipeline/program/batch/job_units.hpp"
#include "pipeline/program/commands/commands.hpp"
#include "pipeline/program/run_messages.hpp"
#include "pipeline/report/formats/text.hpp"
#include "pipeline/report/output/destination.hpp"
#include "pipeline/report/output/messages.hpp"
#include "pipeline/report/output/terminal.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

namespace fs = std::filesystem;

// Before threads start.
const char* environment_variable(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
}

config::shard_choice shard_of(const config::options& typed) {
  return typed.shard ? resolve_shard(*typed.shard, environment_variable) : config::shard_choice{};
}

// Conditions of totals need all parts.
void check_options(const config::options& typed) {
  const bool is_checked = !typed.fail_if.empty() || !typed.alert_if.empty();
  const bool is_of_inputs = typed.watch == std::vector<std::string>{"inputs"};
  if (typed.shard && is_checked && !is_of_inputs) {
    throw config::usage_error(typed.where("--shard") +
                              ": a shard does not know the totals of the job; give --watch inputs with --fail-if and "
                              "--alert-if");
  }
  check_unit_options(typed);
  if (typed.output && !typed.plans_only) {
    throw config::usage_error(typed.where("--output") + ": is for gpuhist batch plan; give --output-dir");
  }
  if (!typed.plans_only && !typed.output_dir) {
    throw config::usage_error(
        "gpuhist batch: there is no folder for the results; give --output-dir, or the key "
        "output-dir in the job file");
  }
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Looks up the inputs, and reports files that --min-age leaves out.
std::vector<manifest_entry> entries_of(const config::options& typed, const fs::path& folder) {
  const plan planned = make_plan(options_of_job(typed));
  planned_entries made = plan_entries(planned, folder, typed.min_age);
  if (made.too_young > 0 && !typed.quiet) {
    complain(grouped(made.too_young) + (made.too_young == 1 ? " file is" : " files are") + " left out, because of " +
             typed.where("--min-age"));
  }
  return std::move(made.entries);
}

// The manifest of the job: that of --manifest, that of the folder, or a new one. Nothing is written.
struct found_manifest {
  manifest content;
  std::string new_text;  // empty: the folder has it
};

found_manifest find_manifest(const config::options& typed, const job_folder& folder) {
  if (typed.manifest) return {.content = read_manifest(*typed.manifest), .new_text = text_of_file(*typed.manifest)};
  std::error_code ignored;
  if (fs::exists(folder.manifest_file(), ignored)) {
    return {.content = read_manifest(folder.manifest_file().string()), .new_text = {}};
  }
  if (typed.shard) {
    throw config::usage_error(
        typed.where("--shard") +
        ": all shards need the same manifest; make it with gpuhist batch plan JOB.toml -o FILE, and "
        "give --manifest FILE");
  }
  found_manifest made{.content = {.entries = entries_of(typed, folder.path()), .identity = {}}, .new_text = {}};
  made.new_text = text_of_manifest(made.content.entries);
  made.content.identity = identity_of_text(made.new_text);
  return made;
}

// The options of a run over a manifest, which replaces the inputs.
plan plan_of_run(const config::options& typed) {
  config::options made = typed;
  made.inputs.clear();
  made.files_from.reset();
  made.null = false;
  made.recursive = true;
  made.output.reset();
  made.format = "jsonl";
  plan planned = make_plan(made);
  if (planned.windows) planned.windows->numbered_by_input = true;
  return planned;
}

std::vector<std::size_t> chosen_of(const manifest& inputs, config::shard_choice shard) {
  if (shard.count > 0) return divide(inputs, shard.count)[shard.number - 1];
  std::vector<std::size_t> all(inputs.entries.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::string extension_of(const std::string& name) {
  const std::string extension = fs::path(name).extension().string();
  return extension.empty() ? "(none)" : extension;
}

std::string text_of_plan(const manifest& inputs, const std::vector<std::size_t>& chosen) {
  struct group {
    std::size_t inputs = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, group> by_extension;
  group all;
  for (const std::size_t each : chosen) {
    group& found = by_extension[extension_of(inputs.entries[each].name)];
    for (group* to : {&found, &all}) {
      ++to->inputs;
      to->bytes += inputs.entries[each].size;
    }
  }
  std::string text = "inputs     " + grouped(all.inputs) + ", " + grouped(all.bytes) + " bytes\n";
  for (const auto& [extension, found] : by_extension) {
    text += "  " + printable(extension) + "  " + grouped(found.inputs) + ", " + grouped(found.bytes) + " bytes\n";
  }
  text += "manifest   " + inputs.identity + "\n";
  return text;
}

ending write_manifest(const config::options& typed, const io::open_descriptors& open_descriptors) {
  const std::vector<manifest_entry> entries = entries_of(typed, typed.output_dir.value_or(""));
  destination to(typed.output, writing::whole, open_descriptors);
  to.write(text_of_manifest(entries));
  to.commit();
  const auto has_failed = [](const manifest_entry& each) { return !each.error.is_none(); };
  for (const manifest_entry& each : entries) {
    if (has_failed(each)) complain(printable(each.name) + ": " + each.error.text);
  }
  return {.exit_status = std::ranges::any_of(entries, has_failed) ? ending::input_failed : ending::counted_all};
}

class batch_job {
 public:
  batch_job(const config::options& typed, config::shard_choice shard)
      : typed_(typed), shard_(shard), folder_(*typed.output_dir, shard), began_(now_as_text()) {}

  // Whatever happens, a later run continues from what this one has recorded.
  ending run() {
    plan planned = plan_of_run(typed_);
    folder_.create();
    const job_lock lock(folder_.lock_file());
    const found_manifest found = find_manifest(typed_, folder_);
    if (!found.new_text.empty()) folder_.keep_manifest(found.new_text);
    const manifest& inputs = found.content;
    const std::vector<std::size_t> chosen = chosen_of(inputs, shard_);
    job_ledger ledger(inputs.entries.size(), planned.partition, no_text_of(planned), planned.spilled_to);
    header_ = header_of(identity_of(typed_, inputs.identity, shard_));
    unit_ledger units(inputs.entries.size(), planned);
    remove_records_without_lines(folder_, header_, planned);
    job_journal journal(folder_.journal_file(), header_, [&](std::string_view record) {
      if (units.add(record)) return;
      const auto known = unpacked_record(record, planned.partition.classes);
      if (known && known->entry < inputs.entries.size() && !ledger.is_finished(known->entry))
        add_record(*known, ledger, units);
    });
    if (!typed_.quiet && ledger.finished() > 0) {
      complain(name() + ": " + grouped(ledger.finished()) + " of " + grouped(chosen.size()) +
               " inputs were counted by an earlier run");
    }
    const kept_stop_signal stop_signal;
    if (!planned.measuring.warning.empty()) complain("warning: " + planned.measuring.warning);
    locale_is_utf8();
    console screen;
    job_run counting(planned, {typed_, inputs, chosen, journal, ledger, units, folder_}, screen);
    if (counting.has_failed()) return stopped(counting);
    const finished_run finished = counting.run();
    try {
      return conclude(planned, inputs, chosen, ledger, units, counting, finished);
    } catch (...) {
      if (finished.end_at_once) throw unclean_end(std::current_exception());
      throw;
    }
  }

 private:
  [[nodiscard]] std::string name() const { return printable(*typed_.output_dir); }

  [[nodiscard]] recorded_units recorded(const unit_ledger& units) const {
    return {
        .ledger = units,
        .files = {{.units = folder_.lines_file(lines_of::units), .windows = folder_.lines_file(lines_of::windows)}}};
  }

  [[nodiscard]] ending stopped(const job_run& counting) const {
    complain(name() + ": " + counting.stop_reason() +
             "; no results are written; correct the inputs in another folder, or allow more errors to continue");
    return {.exit_status = ending::input_failed};
  }

  ending conclude(const plan& planned, const manifest& inputs, const std::vector<std::size_t>& chosen,
                  const job_ledger& ledger, const unit_ledger& units, const job_run& counting,
                  const finished_run& finished) {
    print_failures(finished.outcome);
    const std::size_t missing = chosen.size() - ledger.finished();
    if (!counting.stop_reason().empty()) {
      ending end = stopped(counting);
      end.signal = kept_stop_signal::received();
      end.at_once = finished.end_at_once;
      return end;
    }
    if (missing > 0) {
      complain(name() + ": " + grouped(missing) + " of " + grouped(chosen.size()) +
               " inputs are not counted; run the same command again to continue");
    } else if (shard_.count > 0) {
      folder_.publish();
    } else {
      write_outputs(folder_.path(), planned, inputs, ledger, recorded(units), {.header = header_, .began = began_});
    }
    if (!typed_.quiet && missing == 0) {
      complain(name() + ": " + grouped(chosen.size()) + " inputs, " + grouped(ledger.failed()) + " failed");
    }
    const int signal = kept_stop_signal::received();
    const bool has_failed = missing > 0 || ledger.failed() > 0;
    const bool condition_held = finished.outcome.status == run_status::condition_held;
    return {.exit_status = has_failed       ? ending::input_failed
                           : condition_held ? ending::gate_failed
                                            : ending::counted_all,
            .signal = signal,
            .at_once = finished.end_at_once};
  }

  const config::options& typed_;
  const config::shard_choice shard_;
  const job_folder folder_;
  const std::string began_;
  std::string header_;
};

}  // namespace

ending batch(const config::options& typed, const io::open_descriptors& open_descriptors) {
  check_options(typed);
  if (typed.plans_only) return write_manifest(typed, open_descriptors);
  const config::shard_choice shard = shard_of(typed);
  if (!typed.dry_run) return batch_job(typed, shard).run();
  const manifest inputs = find_manifest(typed, job_folder(*typed.output_dir, shard)).content;
  destination({}, writing::whole).write(text_of_plan(inputs, chosen_of(inputs, shard)));
  return {};
}

}  // namespace gpuhist::pipeline
