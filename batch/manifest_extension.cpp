#include "batch/manifest_extension.hpp"

#include "io/archive/archive_format.hpp"
#include "io/format.hpp"

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace gpuhist::batch {
namespace {

// A name alone may decide how a file is read.
bool promise_the_same(const std::string& name, const std::string& other) {
  return io::promised_by(name) == io::promised_by(other) &&
         io::promised_archive(name).kind == io::promised_archive(other).kind;
}

class extending {
 public:
  extending(const manifest& old, const std::function<entry_progress(std::size_t)>& progress_of,
            const extension_rules& rules)
      : old_(old), progress_of_(progress_of), rules_(rules) {
    for (std::size_t i = 0; i < old.entries.size(); ++i) {
      if (!old.entries[i].is_retired) number_of_.emplace(old.entries[i].name, i);
    }
  }

  manifest_extension run(planned_entries found) {
    has_file_.resize(old_.entries.size());
    is_rotated_out_ = found.logs.is_rotated_out;
    for (const std::optional<std::size_t>& each : found.logs.log_of) {
      if (each) has_file_[*each] = true;
    }
    for (std::size_t i = 0; i < found.entries.size(); ++i) place_of_.emplace(found.entries[i].name, i + 1);
    for (const manifest_entry& each : found.entries) names_.insert(each.name);
    for (const manifest_entry& each : old_.entries) names_.insert(each.name);
    place_missing(found.entries.size());
    append(after_[0]);
    for (std::size_t i = 0; i < found.entries.size(); ++i) {
      is_too_young_ = found.is_too_young[i];
      take(std::move(found.entries[i]), found.logs.log_of[i]);
      append(after_[i + 1]);
    }
    return std::move(made_);
  }

 private:
  // Entries that were not found follow the entry that precedes them in the old manifest.
  void place_missing(std::size_t found) {
    after_.resize(found + 1);
    std::size_t place = 0;
    for (std::size_t i = 0; i < old_.entries.size(); ++i) {
      const auto at = place_of_.find(old_.entries[i].name);
      if (at != place_of_.end() && !old_.entries[i].is_retired) {
        place = at->second;
      } else if (has_file_[i]) {
        continue;  // under another name
      } else if (rules_.drops_missing) {
        ++made_.dropped;
      } else {
        ++made_.missing;
        after_[place].push_back(i);
      }
    }
  }

  void append(const std::vector<std::size_t>& kept) {
    for (const std::size_t each : kept) keep(each);
  }

  void keep(std::size_t number) {
    manifest_entry& kept =
        made_.entries.emplace_back(extended_entry{.entry = old_.entries[number], .kept_from = number}).entry;
    if (kept.is_retired && place_of_.contains(kept.name)) set_free_name(kept);
  }

  void set_free_name(manifest_entry& retired) {
    const std::string name = retired.name;
    for (std::size_t i = 1; !names_.insert(retired.name).second; ++i) {
      retired.name = name + ".~" + std::to_string(i) + "~";
    }
  }

  // `log`: the entry whose log the file has.
  void take(manifest_entry now, std::optional<std::size_t> log) {
    const auto known = number_of_.find(now.name);
    if (known == number_of_.end()) return take_other(std::move(now), log);
    const std::size_t number = known->second;
    const bool has_moved = has_file_[number] && log != number;
    const bool has_disappeared = !has_file_[number] && (log || is_rotated_out_[number]);
    if (has_disappeared) retire(number);
    if (has_moved || has_disappeared) return take_other(std::move(now), log);
    take_known(std::move(now), number);
  }

  // A new name, or one that is of another log now.
  void take_other(manifest_entry now, std::optional<std::size_t> log) {
    if (log) return take_renamed(std::move(now), *log);
    add(std::move(now), made_.added);
  }

  void take_known(manifest_entry now, std::size_t number) {
    const manifest_entry& before = old_.entries[number];
    if (is_too_young_) return wait_for(std::move(now), number);
    if (!now.error.is_none()) return take_unreadable(number);
    if (!before.error.is_none()) return add(std::move(now), made_.retried);
    const bool was_counted = before.has_changed || progress_of_(number) == entry_progress::complete;
    if (!was_counted) {
      if (difference(before, state_in(now), rules_.trusts_names).empty()) return keep(number);
      return add(std::move(now), made_.retried);
    }
    const std::string change = change_of(before, now);
    if (change.empty() && !before.has_changed) {
      keep(number);
      if (!before.log) made_.entries.back().entry.log = now.log;  // the manifest is of an earlier version
      return;
    }
    if (change.empty()) return add(std::move(now), made_.retried);
    if (now.size > before.size) return add(std::move(now), made_.grown);
    const bool has_same_ends = before.log && now.log && now.log->has_ends_of(*before.log);
    if (has_same_ends && now.fingerprint == before.fingerprint) return add(std::move(now), made_.retried);
    keep(number);
    made_.entries.back().entry.has_changed = true;
    made_.entries.back().change = change;
  }

  void take_renamed(manifest_entry now, std::size_t number) {
    const manifest_entry& before = old_.entries[number];
    if (is_too_young_) return wait_for(std::move(now), number);
    const bool was_counted = progress_of_(number) == entry_progress::complete && !before.has_changed;
    if (!was_counted) return add(std::move(now), made_.retried);
    if (before.size != now.size) return add(std::move(now), made_.grown);
    if (!has_content_of(before, now)) return add(std::move(now), made_.retried);
    ++made_.renamed;
    made_.entries.push_back({.entry = std::move(now), .kept_from = number});
  }

  // Precondition: one log, and the same size. Equal ends are not enough: the whole content is known, or it is the same
  // file, which was not written.
  [[nodiscard]] bool has_content_of(const manifest_entry& before, const manifest_entry& now) const {
    if (before.fingerprint != now.fingerprint || !promise_the_same(before.name, now.name)) return false;
    if (old_.fingerprint == config::fingerprint_kind::full) return true;
    if (!before.log || !now.log || !now.log->has_ends_of(*before.log)) return false;
    return now.log->is_all_known() || (now.log->is_file_of(*before.log) && now.modified == before.modified);
  }

  // Its counts stay until the file is old enough. It is known again by the file.
  void wait_for(manifest_entry now, std::size_t number) {
    if (progress_of_(number) == entry_progress::open) return;  // left out as a new one
    keep(number);
    manifest_entry& kept = made_.entries.back().entry;
    kept.name = std::move(now.name);
    kept.is_retired = false;
    if (!kept.log || !now.log) return;
    kept.log->inode = now.log->inode;
    kept.log->born = now.log->born;
  }

  // Its file disappeared, and its name is that of another log.
  void retire(std::size_t number) {
    if (rules_.drops_missing) {
      ++made_.dropped;
      return;
    }
    const bool has_counts = progress_of_(number) != entry_progress::open && old_.entries[number].size > 0;
    if (!has_counts) return;
    ++made_.missing;
    keep(number);
    manifest_entry& kept = made_.entries.back().entry;
    kept.is_retired = true;
    set_free_name(kept);
  }

  void add(manifest_entry now, std::size_t& counter) {
    if (is_too_young_) return;
    ++counter;
    made_.entries.push_back({.entry = std::move(now)});
  }

  // A name among the inputs that cannot be read now.
  void take_unreadable(std::size_t number) {
    const bool has_disappeared = !io::state_of(old_.entries[number].name);
    if (rules_.drops_missing && has_disappeared) {
      ++made_.dropped;
      return;
    }
    if (old_.entries[number].error.is_none()) ++made_.missing;
    keep(number);
  }

  // Empty: the content is that of the manifest.
  [[nodiscard]] std::string change_of(const manifest_entry& before, const manifest_entry& now) const {
    const bool is_all_known = old_.fingerprint == config::fingerprint_kind::full;
    return difference(before, state_in(now), rules_.trusts_names || is_all_known);
  }

  const manifest& old_;
  const std::function<entry_progress(std::size_t)>& progress_of_;
  const extension_rules rules_;
  std::unordered_map<std::string_view, std::size_t> number_of_;  // of entries whose names are those of files
  std::unordered_map<std::string, std::size_t> place_of_;        // of the files found, from 1 on
  std::unordered_set<std::string> names_;                        // of the old manifest and the new one
  std::vector<bool> has_file_;                                   // by old number: a file has its log
  std::vector<bool> is_rotated_out_;                             // by old number
  std::vector<std::vector<std::size_t>> after_;  // old entries to be placed before the first found one, after it, ...
  bool is_too_young_ = false;                    // the file that is taken
  manifest_extension made_;
};

}  // namespace

manifest manifest_after(const manifest_extension& changes, config::fingerprint_kind kind) {
  manifest made;
  made.fingerprint = kind;
  for (const extended_entry& each : changes.entries) made.entries.push_back(each.entry);
  made.identity = identity_of_text(text_of_manifest(made.entries, kind));
  return made;
}

std::vector<entry_progress> progress_after(const manifest_extension& changes,
                                           const std::vector<entry_progress>& before) {
  std::vector<entry_progress> made;
  for (const extended_entry& each : changes.entries) {
    made.push_back(each.kept_from ? before[*each.kept_from] : entry_progress::open);
  }
  return made;
}

manifest_extension extend(const manifest& old, const std::function<entry_progress(std::size_t)>& progress_of,
                          planned_entries found, const extension_rules& rules) {
  return extending(old, progress_of, rules).run(std::move(found));
}

}  // namespace gpuhist::batch
