#include "pipeline/program/batch/job_planning.hpp"

#include "config/quote.hpp"
#include "config/usage_error.hpp"
#include "gpu/row_layout.hpp"
#include "pipeline/library/look_up_inputs.hpp"
#include "pipeline/report/formats/report.hpp"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
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

manifest_entry entry_of(const listed_input& listed) {
  manifest_entry made{.name = listed.name, .follow_links = listed.follow_links, .error = listed.error};
  if (!made.error.is_none()) return made;
  const std::optional<file_facts> facts = facts_of(listed.name);
  if (!facts) {
    made.error = {.kind = io::kind_of_errno(errno), .text = std::system_category().message(errno)};
    return made;
  }
  if (!listed.regular) {
    made.error = {.kind = failure_kind::refused, .text = "is not a regular file, and cannot be read again"};
    return made;
  }
  made.size = facts->size;
  made.modified = facts->modified;
  made.fingerprint = facts->fingerprint;
  return made;
}

}  // namespace

config::options options_of_job(const config::options& typed) {
  config::options made = typed;
  made.inputs.clear();
  for (const std::string& each : typed.inputs) {
    if (each == "-") throw config::usage_error("inputs: standard input cannot be read again; give the names of files");
    if (!is_pattern(each)) {
      made.inputs.push_back(each);
      continue;
    }
    for (std::string& match : matches_of(each)) made.inputs.push_back(std::move(match));
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

gpu::tally no_text_of(const counting_plan& planned) {
  const gpu::row_layout layout{planned.partition, planned.pairs};
  return gpu::tally(planned.partition.classes, layout.pair_columns());
}

planned_entries plan_entries(const plan& planned, const std::filesystem::path& folder,
                             std::optional<std::chrono::milliseconds> min_age) {
  const auto absolute = [](const std::filesystem::path& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  const std::string own = folder.empty() ? std::string() : absolute(folder / "");
  const std::int64_t newest = min_age ? nanoseconds_now() - std::chrono::nanoseconds(*min_age).count()
                                      : std::numeric_limits<std::int64_t>::max();
  planned_entries made;
  std::unordered_set<std::string> names;
  for (const listed_input& each : look_up_inputs(planned).inputs) {
    if (!own.empty() && absolute(each.name).starts_with(own)) continue;
    if (!names.insert(each.name).second) continue;
    manifest_entry entry = entry_of(each);
    check_error(entry);
    if (entry.error.is_none() && entry.modified > newest) {
      ++made.too_young;
    } else {
      made.entries.push_back(std::move(entry));
    }
  }
  return made;
}

looked_up_inputs inputs_of(const manifest& from, const std::vector<std::size_t>& chosen) {
  looked_up_inputs made;
  for (const std::size_t each : chosen) {
    const manifest_entry& entry = from.entries[each];
    made.inputs.push_back({.name = entry.name,
                           .in_tree = true,  // only a regular file is read
                           .follow_links = entry.follow_links,
                           .regular = entry.error.is_none(),
                           .size = entry.size,
                           .error = entry.error});
  }
  return made;
}

}  // namespace gpuhist::pipeline
