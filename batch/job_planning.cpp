#include "batch/job_planning.hpp"

#include "batch/input_survey.hpp"
#include "batch/parallel_work.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "gpu/row_layout.hpp"
#include "io/failure.hpp"
#include "io/file_access.hpp"
#include "io/format.hpp"
#include "io/source.hpp"
#include "io/zstd/zstd_seek_table.hpp"
#include "library/file_run.hpp"
#include "report/formats/report.hpp"
#include "report/formats/text.hpp"
#include "report/output/messages.hpp"

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

namespace gpuhist::batch {
namespace {

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A manifest must not have an error that is none of the input.
void check_error(const manifest_entry& entry) {
  if (entry.error.kind != io::failure_kind::out_of_memory) return;
  throw std::runtime_error(report::printable(entry.name) + ": cannot be planned: " + entry.error.text +
                           "; nothing was written; run the same command again");
}

void set_unreadable(manifest_entry& entry) {
  entry.error = {.kind = io::kind_of_errno(errno), .text = io::open_error_text(entry.name, errno)};
}

// Without fingerprint.
manifest_entry entry_of(const pipeline::listed_input& listed) {
  manifest_entry made{.name = listed.name, .follow_links = listed.follow_links, .error = listed.error};
  if (!made.error.is_none()) return made;
  const std::optional<io::file_state> found = io::state_of(listed.name);
  if (!found) {
    set_unreadable(made);
    return made;
  }
  if (!listed.regular) {
    made.error = {.kind = io::failure_kind::refused, .text = "is not a regular file, and cannot be read again"};
    return made;
  }
  made.size = found->bytes;
  made.modified = found->modified;
  return made;
}

void add_fingerprint(manifest_entry& entry, config::fingerprint_kind kind) {
  const std::optional<io::file_state> found = io::state_of(entry.name, fingerprinted_by(kind));
  if (!found) {
    const std::string name = entry.name;
    const bool follow_links = entry.follow_links;
    entry = {.name = name, .follow_links = follow_links};
    return set_unreadable(entry);
  }
  entry.size = found->bytes;
  entry.modified = found->modified;
  entry.fingerprint = found->fingerprint;
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
    if (!each.error.is_none() || !io::has_fingerprint(each.size, fingerprinted_by(how.fingerprint))) continue;
    const manifest_entry* const before = earlier.find(each);
    if (before != nullptr) {
      each.fingerprint = before->fingerprint;
    } else if (!found.is_too_young[i]) {
      to_be_read.push_back(&each);
    }
  }
  in_parallel(to_be_read.size(), threads, [&](std::size_t i) { add_fingerprint(*to_be_read[i], how.fingerprint); });
}

moving_rules moving_rules_of(const library::counting_plan& planned, const planning& how) {
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

void add_logs(std::vector<manifest_entry>& entries, const library::counting_plan& planned, const planning& how) {
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
std::vector<io::split_point> splits_of_frames(const manifest_entry& entry, std::uint64_t apart) {
  try {
    const io::file_source file = io::open_regular(entry.name, entry.follow_links);
    return io::zstd_split_points(
        [&](std::span<std::byte> into, std::uint64_t offset) { return file.read_at(into, offset); }, entry.size, apart);
  } catch (const io::input_error&) {
    return {};
  }
}

void add_splits(manifest_entry& entry, const library::counting_plan& planned, std::uint64_t apart) {
  if (!entry.error.is_none() || entry.size <= apart) return;
  entry.split_format = format_without_members(planned, entry);
  const io::format* const format = io::format_named(entry.split_format);
  if (format == nullptr) return;
  if (format->has_split_points) entry.splits = splits_of_frames(entry, apart);
  if (format->is_plain) {
    for (std::uint64_t at = apart; at < entry.size; at += apart) {
      entry.splits.push_back({.stored_bytes = at, .text_bytes = at});
    }
  }
}

// A piece is what is left of an input of which nothing was counted.
std::shared_ptr<const pipeline::input_prefix> beginning_of(const manifest_entry& entry, const gpu::tally& no_text) {
  pipeline::input_prefix made;
  made.counted.name = entry.name;
  made.counted.format = entry.split_format;
  made.counted.verified = made.counted.unverified = no_text;
  if (!io::format_named(entry.split_format)->is_plain) made.counted.compressed_bytes = entry.piece->begin.stored_bytes;
  made.frames = entry.piece->begin.frames;
  made.text_before = entry.piece->begin.text_bytes.value_or(0);
  return std::make_shared<const pipeline::input_prefix>(std::move(made));
}

}  // namespace

gpu::tally no_text_of(const library::counting_plan& planned) {
  const gpu::row_layout layout{planned.partition, planned.pairs};
  return gpu::tally(planned.partition.classes, layout.pair_columns());
}

planned_entries plan_entries(const library::counting_plan& planned, const planning& how) {
  const std::int64_t newest = how.min_age ? nanoseconds_now() - std::chrono::nanoseconds(*how.min_age).count()
                                          : std::numeric_limits<std::int64_t>::max();
  planned_entries made;
  std::unordered_set<std::string> names;
  for (const pipeline::listed_input& each : library::look_up_inputs(planned).inputs) {
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

pipeline::looked_up_inputs inputs_of(const manifest& from, const std::vector<std::size_t>& chosen,
                                     const gpu::tally& no_text) {
  pipeline::looked_up_inputs made;
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

}  // namespace gpuhist::batch
