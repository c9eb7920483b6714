#include "pipeline/program/batch/manifest_extension.hpp"

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace gpuhist::pipeline {
namespace {

file_facts facts_in(const manifest_entry& entry) {
  return {.size = entry.size, .modified = entry.modified, .fingerprint = entry.fingerprint};
}

class extending {
 public:
  extending(const manifest& old, const std::function<entry_progress(std::size_t)>& progress_of,
            const extension_rules& rules)
      : old_(old), progress_of_(progress_of), rules_(rules) {
    for (std::size_t i = 0; i < old.entries.size(); ++i) number_of_.emplace(old.entries[i].name, i);
  }

  manifest_extension run(planned_entries found) {
    place_missing(found);
    append(after_[0]);
    for (std::size_t i = 0; i < found.entries.size(); ++i) {
      take(std::move(found.entries[i]));
      append(after_[i + 1]);
    }
    return std::move(made_);
  }

 private:
  // Entries that were not found follow the entry that precedes them in the old manifest.
  void place_missing(const planned_entries& found) {
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < found.entries.size(); ++i) places.emplace(found.entries[i].name, i + 1);
    const std::unordered_set<std::string_view> too_young(found.too_young.begin(), found.too_young.end());
    after_.resize(found.entries.size() + 1);
    std::size_t place = 0;
    for (std::size_t i = 0; i < old_.entries.size(); ++i) {
      if (const auto at = places.find(old_.entries[i].name); at != places.end()) {
        place = at->second;
      } else if (too_young.contains(old_.entries[i].name)) {
        if (progress_of_(i) != entry_progress::open) after_[place].push_back(i);  // else it is left out as a new one
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
    const manifest_entry& entry = old_.entries[number];
    made_.entries.push_back({.entry = entry, .kept_from = number});
  }

  void take(manifest_entry now) {
    const auto known = number_of_.find(now.name);
    if (known == number_of_.end()) return add(std::move(now), made_.added);
    const std::size_t number = known->second;
    const manifest_entry& before = old_.entries[number];
    if (!now.error.is_none()) return take_unreadable(number);
    if (!before.error.is_none()) return add(std::move(now), made_.retried);
    const bool was_counted = before.has_changed || progress_of_(number) == entry_progress::complete;
    if (!was_counted) {
      if (difference(before, facts_in(now), rules_.trusts_names).empty()) return keep(number);
      return add(std::move(now), made_.retried);
    }
    const std::string change = change_of(before, now);
    if (change.empty() && !before.has_changed) return keep(number);
    if (change.empty()) return add(std::move(now), made_.retried);
    if (now.size > before.size) return add(std::move(now), made_.grown);
    keep(number);
    made_.entries.back().entry.has_changed = true;
    made_.entries.back().change = change;
  }

  void add(manifest_entry now, std::size_t& counter) {
    ++counter;
    made_.entries.push_back({.entry = std::move(now)});
  }

  // A name among the inputs that cannot be read now.
  void take_unreadable(std::size_t number) {
    const bool has_disappeared = !size_and_time_of(old_.entries[number].name);
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
    return difference(before, facts_in(now), rules_.trusts_names || is_all_known);
  }

  const manifest& old_;
  const std::function<entry_progress(std::size_t)>& progress_of_;
  const extension_rules rules_;
  std::unordered_map<std::string_view, std::size_t> number_of_;
  std::vector<std::vector<std::size_t>> after_;  // old entries to be placed before the first found one, after it, ...
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

}  // namespace gpuhist::pipeline
