#include "pipeline/program/batch/job_planning.hpp"

#include "config/quote.hpp"
#include "config/usage_error.hpp"
#include "gpu/row_layout.hpp"
#include "io/input_error.hpp"
#include "io/long_path.hpp"
#include "io/source.hpp"
#include "io/zstd/zstd_split_points.hpp"
#include "pipeline/library/look_up_inputs.hpp"
#include "pipeline/program/batch/input_survey.hpp"
#include "pipeline/program/batch/parallel_work.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/formats/text.hpp"
#include "pipeline/report/output/messages.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace gpuhist::pipeline {
namespace {

// A file of that name has precedence over the pattern.
bool is_pattern(const std::string& name) {
  std::error_code ignored;
  return name.find_first_of("*?[") != std::string::npos && !std::filesystem::exists(name, ignored);
}

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  const std::unique_ptr<glob_t, decltype(&::globfree)> owner(&found, ::globfree);
  // before threads start NOLINTNEXTLINE(concurrency-mt-unsafe)
  const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
  if (result == GLOB_NOMATCH) {
    throw config::usage_error("inputs: no file matches " + config::quote(pattern) +
                              "; leave the pattern out, or correct it");
  }
  if (result == GLOB_NOSPACE) throw std::bad_alloc();
  if (result != 0) {
    throw std::system_error(errno, std::system_category(),
                            "inputs: cannot read the folders of " + config::quote(pattern));
  }
  return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

bool is_of_job(const std::string& name, const io::output_files& own) {
  struct stat found{};
  return ::stat(name.c_str(), &found) == 0 && (own.find(found) || own.has_folder(found));
}

// The matches that are inputs. Those that are files of the job are reported.
std::vector<std::string> inputs_among_matches(const std::string& pattern, const io::output_files& own, bool is_quiet) {
  std::vector<std::string> made;
  std::vector<std::string> of_job;
  for (std::string& each : matches_of(pattern)) (is_of_job(each, own) ? of_job : made).push_back(std::move(each));
  if (!of_job.empty() && !is_quiet) {
    const std::size_t more = of_job.size() - 1;
    complain("inputs: " + config::quote(pattern) + " matches " + printable(of_job.front()) +
             (more > 0 ? " and " + grouped(more) + " more" : "") + ", which " +
             (more > 0 ? "are files of the job or links to them" : "is a file of the job or a link to it") +
             ", and not counted");
  }
  return made;
}

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A manifest must not have an error that is none of the input.
void check_error(const manifest_entry& entry) {
  if (entry.error.kind != failure_kind::out_of_memory) return;
  throw std::runtime_error(printable(entry.name) + ": cannot be planned: " + entry.error.text +
                           "; nothing was written; run the same command again");
}

void set_unreadable(manifest_entry& entry) {
  entry.error = {.kind = io::kind_of_errno(errno), .text = io::open_error_text(entry.name, errno)};
}

// Without fingerprint.
manifest_entry entry_of(const listed_input& listed) {
  manifest_entry made{.name = listed.name, .follow_links = listed.follow_links, .error = listed.error};
  if (!made.error.is_none()) return made;
  const std::optional<file_facts> facts = size_and_time_of(listed.name);
  if (!facts) {
    set_unreadable(made);
    return made;
  }
  if (!listed.regular) {
    made.error = {.kind = failure_kind::refused, .text = "is not a regular file, and cannot be read again"};
    return made;
  }
  made.size = facts->size;
  made.modified = facts->modified;
  return made;
}

void add_fingerprint(manifest_entry& entry, config::fingerprint_kind kind) {
  const std::optional<file_facts> facts = facts_of(entry.name, kind);
  if (!facts) {
    const std::string name = entry.name;
    const bool follow_links = entry.follow_links;
    entry = {.name = name, .follow_links = follow_links};
    return set_unreadable(entry);
  }
  entry.size = facts->size;
  entry.modified = facts->modified;
  entry.fingerprint = facts->fingerprint;
}

// The entries of the earlier manifest whose files have the same size and time.
class unchanged_files {
 public:
  explicit unchanged_files(const manifest* earlier) {
    if (earlier == nullptr) return;
    for (const manifest_entry& each : earlier->entries) known_.emplace(each.name, &each);
  }

  // Null: the file is new or has changed.
  [[nodiscard]] const manifest_entry* find(const manifest_entry& now) const {
    const auto found = known_.find(now.name);
    if (found == known_.end() || !found->second->error.is_none()) return nullptr;
    return found->second->size == now.size && found->second->modified == now.modified ? found->second : nullptr;
  }

 private:
  std::unordered_map<std::string_view, const manifest_entry*> known_;
};

void add_fingerprints(planned_entries& found, const planning& how, unsigned threads) {
  const unchanged_files earlier(how.earlier);
  std::vector<manifest_entry*> to_be_read;
  for (std::size_t i = 0; i < found.entries.size(); ++i) {
    manifest_entry& each = found.entries[i];
    if (!each.error.is_none() || !has_fingerprint(each.size, how.fingerprint)) continue;
    const manifest_entry* const before = earlier.find(each);
    if (before != nullptr) {
      each.fingerprint = before->fingerprint;
    } else if (!found.is_too_young[i]) {
      to_be_read.push_back(&each);
    }
  }
  in_parallel(to_be_read.size(), threads, [&](std::size_t i) { add_fingerprint(*to_be_read[i], how.fingerprint); });
}

moving_rules moving_rules_of(const plan& planned, const planning& how) {
  return {.forced_format = planned.forced_format,
          .limits = {.window_bytes = planned.buffers.window_limit, .dictionary = planned.dictionary},
          .trusts_names = how.trusts_names};
}

// An error of reading is found again by the run.
void add_log(manifest_entry& entry, const moving_rules& rules) {
  try {
    entry.log = io::log_file(entry.name, entry.follow_links, rules.forced_format, rules.limits).identity(entry.size);
  } catch (const io::input_error&) {
    entry.log.reset();
  }
}

void add_logs(std::vector<manifest_entry>& entries, const plan& planned, const planning& how) {
  const unchanged_files earlier(how.earlier);
  const moving_rules rules = moving_rules_of(planned, how);
  std::vector<manifest_entry*> to_be_read;
  for (manifest_entry& each : entries) {
    if (!each.error.is_none()) continue;
    const manifest_entry* const before = earlier.find(each);
    if (before != nullptr && before->log) {
      each.log = before->log;
    } else {
      to_be_read.push_back(&each);
    }
  }
  in_parallel(to_be_read.size(), planned.threads, [&](std::size_t i) { add_log(*to_be_read[i], rules); });
}

// An error of reading is found again by the run.
std::vector<io::split_point> splits_of_zstd(const manifest_entry& entry, std::uint64_t apart) {
  try {
    const io::file_source file = io::open_regular(entry.name, entry.follow_links);
    return io::zstd_split_points(
        [&](std::span<std::byte> into, std::uint64_t offset) { return file.read_at(into, offset); }, entry.size, apart);
  } catch (const io::input_error&) {
    return {};
  }
}

void add_splits(manifest_entry& entry, const plan& planned, std::uint64_t apart) {
  if (!entry.error.is_none() || entry.size <= apart) return;
  entry.split_format = format_without_members(planned, entry);
  if (entry.split_format == "zstd") entry.splits = splits_of_zstd(entry, apart);
  if (entry.split_format == "raw") {
    for (std::uint64_t at = apart; at < entry.size; at += apart) {
      entry.splits.push_back({.stored_bytes = at, .text_bytes = at});
    }
  }
}

// A piece is what is left of an input of which nothing was counted.
std::shared_ptr<const input_prefix> beginning_of(const manifest_entry& entry, const gpu::tally& no_text) {
  input_prefix made;
  made.counted.name = entry.name;
  made.counted.format = entry.split_format;
  made.counted.verified = made.counted.unverified = no_text;
  if (entry.split_format != "raw") made.counted.compressed_bytes = entry.piece->begin.stored_bytes;
  made.frames = entry.piece->begin.frames;
  made.text_before = entry.piece->begin.text_bytes.value_or(0);
  return std::make_shared<const input_prefix>(std::move(made));
}

}  // namespace

config::options options_of_job(const config::options& typed, const io::output_files& own) {
  config::options made = typed;
  made.inputs.clear();
  for (const std::string& each : typed.inputs) {
    if (each == "-") throw config::usage_error("inputs: standard input cannot be read again; give the names of files");
    if (!is_pattern(each)) {
      made.inputs.push_back(each);
      continue;
    }
    std::ranges::move(inputs_among_matches(each, own, typed.quiet), std::back_inserter(made.inputs));
  }
  if (made.inputs.empty() && !made.files_from) {
    throw config::usage_error(
        "gpuhist batch: there are no inputs; give a job file with inputs = [\"*.zst\"], or names");
  }
  made.recursive = true;
  made.output.reset();
  made.format = "jsonl";
  return made;
}

plan plan_of_run(const config::options& typed) {
  config::options made = typed;
  made.inputs.clear();
  made.files_from.reset();
  made.null = false;
  made.recursive = true;
  made.output.reset();
  made.format = "jsonl";
  made.stats = true;  // job.json names the GPU
  plan planned = make_plan(made);
  if (planned.windows) planned.windows->numbered_by_input = true;
  return planned;
}

gpu::tally no_text_of(const counting_plan& planned) {
  const gpu::row_layout layout{planned.partition, planned.pairs};
  return gpu::tally(planned.partition.classes, layout.pair_columns());
}

planned_entries plan_entries(const plan& planned, const planning& how) {
  const std::int64_t newest = how.min_age ? nanoseconds_now() - std::chrono::nanoseconds(*how.min_age).count()
                                          : std::numeric_limits<std::int64_t>::max();
  planned_entries made;
  std::unordered_set<std::string> names;
  for (const listed_input& each : look_up_inputs(planned).inputs) {
    if (!names.insert(each.name).second) continue;
    manifest_entry entry = entry_of(each);
    const bool is_too_young = entry.error.is_none() && entry.modified > newest;
    if (is_too_young) ++made.too_young;
    if (is_too_young && how.earlier == nullptr) continue;
    made.entries.push_back(std::move(entry));
    made.is_too_young.push_back(is_too_young);
  }
  add_fingerprints(made, how, planned.threads);
  for (const manifest_entry& each : made.entries) check_error(each);
  if (how.knows_logs) add_logs(made.entries, planned, how);
  if (how.earlier != nullptr) made.logs = find_logs(*how.earlier, made.entries, moving_rules_of(planned, how));
  if (how.split_bytes) {
    in_parallel(made.entries.size(), planned.threads,
                [&](std::size_t i) { add_splits(made.entries[i], planned, *how.split_bytes); });
  }
  return made;
}

looked_up_inputs inputs_of(const manifest& from, const std::vector<std::size_t>& chosen, const gpu::tally& no_text) {
  looked_up_inputs made;
  for (const std::size_t each : chosen) {
    const manifest_entry& entry = from.entries[each];
    made.inputs.push_back({.name = entry.name,
                           .in_tree = true,  // only a regular file is read
                           .follow_links = entry.follow_links,
                           .regular = entry.error.is_none(),
                           .size = entry.stored_bytes(),
                           .error = entry.error});
    if (!entry.piece) continue;
    made.inputs.back().counted = beginning_of(entry, no_text);
    made.inputs.back().stored_end = entry.piece->end;
  }
  return made;
}

}  // namespace gpuhist::pipeline
