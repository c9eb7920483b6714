// `gpuhist merge DIR...`: adds the published states of the shards of a batch job; other operands are results
// (merge_results).
#include "batch/input_units.hpp"
#include "batch/job_folder.hpp"
#include "batch/job_identity.hpp"
#include "batch/job_journal.hpp"
#include "batch/job_ledger.hpp"
#include "batch/job_outputs.hpp"
#include "batch/job_pieces.hpp"
#include "batch/job_planning.hpp"
#include "batch/manifest.hpp"
#include "batch/result_files.hpp"
#include "batch/unit_ledger.hpp"
#include "command/commands.hpp"
#include "command/job_options.hpp"
#include "command/run_messages.hpp"
#include "config/usage_error.hpp"
#include "io/descriptor.hpp"
#include "io/file_access.hpp"
#include "pipeline/counts/packed_numbers.hpp"
#include "report/formats/text.hpp"
#include "report/output/messages.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

namespace fs = std::filesystem;

// The published result of a shard: its file, and the job and shard that it is of.
struct shard_result {
  fs::path path;
  batch::job_identity identity;
};

io::descriptor open_file(const fs::path& path) {
  io::descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!opened)
    throw std::system_error(errno, std::system_category(), "cannot read " + report::printable(path.string()));
  return opened;
}

shard_result read_result(const fs::path& path) {
  const io::descriptor file = open_file(path);
  std::optional<batch::job_identity> identity = batch::identity_in(batch::header_in(file.get()));
  if (!identity || identity->shard.count == 0) {
    throw std::runtime_error(report::printable(path.string()) +
                             ": not a part of a job of this version; remove it from the folder");
  }
  return {.path = path, .identity = *std::move(identity)};
}

std::vector<shard_result> find_results(const std::vector<std::string>& folders) {
  std::vector<shard_result> found;
  for (const std::string& each : folders) {
    for (const fs::path& path : batch::job_folder(each).shard_results()) found.push_back(read_result(path));
  }
  if (found.empty()) {
    throw std::runtime_error("there are no parts in these folders; run gpuhist batch with --shard first");
  }
  return found;
}

// What differs between the jobs of two results, apart from the number of the shard.
std::string differences_of_jobs(const batch::job_identity& first, batch::job_identity other) {
  other.shard.number = first.shard.number;
  return batch::differences(other, first);
}

// Complains of results of other jobs and of results that exist twice. Returns whether there are any.
bool has_wrong_results(const std::vector<shard_result>& results) {
  std::map<unsigned, const shard_result*> by_number;
  bool is_wrong = false;
  for (const shard_result& each : results) {
    if (const std::string found = differences_of_jobs(results.front().identity, each.identity); !found.empty()) {
      report::complain(report::printable(each.path.string()) + ": is of another job than " +
                       report::printable(results.front().path.string()) + "; it has:" + found);
      is_wrong = true;
      continue;
    }
    const auto [first, is_new] = by_number.try_emplace(each.identity.shard.number, &each);
    if (is_new) continue;
    report::complain(report::printable(each.path.string()) + ": the same part as " +
                     report::printable(first->second->path.string()));
    is_wrong = true;
  }
  return is_wrong;
}

std::vector<std::size_t> missing_of(const std::vector<shard_result>& results) {
  std::vector<std::size_t> missing;
  for (unsigned number = 1; number <= results.front().identity.shard.count; ++number) {
    const auto is_of_shard = [&](const shard_result& each) { return each.identity.shard.number == number; };
    if (std::ranges::none_of(results, is_of_shard)) missing.push_back(number);
  }
  return missing;
}

void complain_of_missing(const std::vector<std::size_t>& missing, unsigned count) {
  std::string numbers;
  for (const std::size_t each : missing) numbers += (numbers.empty() ? "" : ", ") + std::to_string(each);
  report::complain((missing.size() == 1 ? "part " : "parts ") + numbers + " of " + std::to_string(count) +
                   (missing.size() == 1 ? " is" : " are") + " missing");
}

batch::manifest manifest_of(const std::vector<std::string>& folders, const std::string& identity) {
  for (const std::string& each : folders) {
    std::error_code ignored;
    const fs::path path = batch::job_folder(each).manifest_file();
    io::require_regular(path);
    if (!fs::exists(path, ignored)) continue;
    batch::manifest found = batch::read_manifest(path.string());
    if (found.identity == identity) return found;
  }
  throw std::runtime_error("no folder has the manifest of the parts (.gpuhist-batch/manifest.jsonl)");
}

// The runs of all shards whose folders are known; a result may have been copied alone.
std::vector<batch::job_run_times> runs_of(const std::vector<std::string>& folders,
                                          const std::vector<shard_result>& results) {
  std::vector<batch::job_run_times> all;
  for (const shard_result& result : results) {
    for (const std::string& each : folders) {
      std::ranges::move(batch::read_runs(batch::job_folder(each, result.identity.shard).runs_file()),
                        std::back_inserter(all));
    }
  }
  std::ranges::sort(all, {},
                    [](const batch::job_run_times& each) { return std::tie(each.began, each.host, each.ended); });
  return all;
}

// A folder whose job is not divided, or divided in another way, has the same results. `job`: of all shards.
void refuse_folder_of_other_job(const batch::job_folder& target, batch::job_identity job) {
  std::error_code ignored;
  const fs::path state = target.journal_file();
  if (fs::exists(state, ignored)) {
    job.shard = {};
    batch::refuse_other_job(state.string(), batch::header_in(open_file(state).get()), job);
  } else if (const fs::path file = target.manifest_file(); fs::exists(file, ignored)) {
    if (batch::identity_of_text(batch::text_of_manifest_file(file.string())) == job.manifest) return;
    throw std::runtime_error(report::printable(target.path().string()) +
                             ": has the manifest of another job than the parts; give another --output-dir");
  }
}

// While it exists, no other merge, and no run of a job that is not divided, writes results to the folder. (Shards have
// locks of their own.)
struct locked_results {
  batch::job_lock lock;
  batch::result_files results;
};

locked_results lock_results(const batch::job_folder& target, const batch::job_identity& job) {
  batch::result_files::refuse_files_of_user(target);  // their folder stays as it is
  target.create();
  batch::job_lock lock(target.lock_file());
  refuse_folder_of_other_job(target, job);
  locked_results made{.lock = std::move(lock), .results = batch::result_files(target)};
  made.results.refuse_other_job(job);
  made.results.set_job(job);
  return made;
}

// The results of whole inputs, by the entries of the manifest, and of pieces, by those of the division.
struct merged_ledgers {
  batch::job_ledger& whole;
  batch::job_ledger& pieces;
  batch::unit_ledger& units;  // of whole inputs
};

// That of the options that the shards had, which this machine does not read with.
plan plan_of_merge(const shard_result& result) {
  config::options options = batch::options_of(result.identity);
  options.run.dictionary.clear();
  options.run.counting.counting_engine = engine::host;
  plan made = plan_of_run(options);
  batch::refuse_other_plan(result.path.string(), result.identity, made);
  return made;
}

// Every entry of the shard must have been counted.
void add_result(const shard_result& result, std::uint32_t number, const batch::job_division& division,
                const gpu::tally& no_text, merged_ledgers to) {
  const std::vector<std::size_t>& entries = division.of_shard[result.identity.shard.number - 1];
  const auto is_piece = [&](std::size_t each) { return division.pieces.entries[each].piece.has_value(); };
  const auto is_finished = [&](std::size_t each) {
    return is_piece(each) ? to.pieces.is_finished(each) : to.whole.is_finished(division.entry_of[each]);
  };
  const io::descriptor file = open_file(result.path);
  batch::read_journal(
      file.get(), result.path, [](const std::string&) {},
      [&](std::string_view record) {
        const auto head = batch::fixed_in<batch::record_head>(record);
        const bool is_of_shard = head && std::ranges::binary_search(entries, head->entry);
        if (!is_of_shard && !batch::is_sync_record(record))
          throw pipeline::unpack_error("its input is not one of this shard");
        if (to.units.add(record, number)) return;
        batch::job_record known = batch::unpacked_record(record, no_text);
        if (is_piece(known.entry)) {
          if (to.pieces.takes_records(known.entry)) to.pieces.add(known);
          return;
        }
        known.entry = division.entry_of[known.entry];
        if (to.whole.takes_records(known.entry)) batch::add_record(known, to.whole, to.units);
      });
  if (std::ranges::all_of(entries, is_finished)) return;
  throw std::runtime_error(report::printable(result.path.string()) +
                           ": is damaged: results of inputs are missing; remove it, and run this shard again");
}

}  // namespace

ending merge(const config::options& typed, const io::open_descriptors& open_descriptors) {
  if (typed.inputs.empty()) throw config::usage_error("gpuhist merge: give results, or the folders of the shards");
  if (adds_results(typed)) return merge_results(typed, open_descriptors);
  const std::string began = batch::now_as_text();
  const std::vector<shard_result> results = find_results(typed.inputs);
  const std::vector<std::size_t> missing = missing_of(results);
  const bool is_wrong = has_wrong_results(results);
  if (!missing.empty()) complain_of_missing(missing, results.front().identity.shard.count);
  if (is_wrong || (!missing.empty() && !typed.partial)) {
    report::complain(std::string("nothing was merged") +
                     (is_wrong ? "; remove the wrong parts" : "; run these shards, or give --partial"));
    return {.exit_status = ending::input_failed};
  }
  const batch::job_folder target(typed.output_dir.value_or(typed.inputs.front()));
  batch::job_identity job = results.front().identity;
  job.shard.number = 0;
  locked_results to = lock_results(target, job);
  const batch::manifest inputs = manifest_of(typed.inputs, job.manifest);
  const plan planned = plan_of_merge(results.front());
  batch::job_ledger ledger(inputs.entries.size(), planned.partition, batch::no_text_of(planned), planned.spilled_to);
  batch::unit_ledger units(inputs.entries.size(), planned);
  batch::recorded_units recorded{.ledger = units, .files = {}};
  const batch::job_division division = batch::divide(inputs, job.shard.count, batch::may_divide(planned));
  batch::job_ledger pieces(division.pieces.entries.size(), planned.partition, batch::no_text_of(planned),
                           planned.spilled_to);
  for (const shard_result& each : results) {
    add_result(each, static_cast<std::uint32_t>(recorded.files.size()), division, batch::no_text_of(planned),
               {.whole = ledger, .pieces = pieces, .units = units});
    recorded.files.push_back({.units = batch::job_folder::lines_of_result(each.path, batch::lines_of::units),
                              .windows = batch::job_folder::lines_of_result(each.path, batch::lines_of::windows)});
  }
  batch::join_pieces(division, pieces, ledger);
  const std::vector<batch::job_run_times> runs = runs_of(typed.inputs, results);
  const bool has_changes =
      batch::write_outputs(to.results, planned, inputs, ledger, recorded,
                           {.header = batch::header_of(job), .began = began, .missing_shards = missing, .runs = runs});
  if (!typed.quiet) {
    report::complain(report::printable(target.path().string()) + ": " + config::grouped(ledger.finished()) + " of " +
                     config::number_of(inputs.entries.size(), "input") + ", " + config::grouped(ledger.failed()) +
                     " failed");
  }
  const bool is_complete = missing.empty() && ledger.failed() == 0;
  if (has_changes) report::complain(report::printable(target.path().string()) + ": the logs have changed: changes.txt");
  const bool lacks_fields =
      complain_of_missing_fields(units.missing_fields(), report::printable(target.path().string()));
  if (!is_complete || lacks_fields) return {.exit_status = ending::input_failed};
  return {.exit_status = has_changes ? ending::gate_failed : ending::counted_all};
}

}  // namespace gpuhist::command
