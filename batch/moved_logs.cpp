#include "batch/moved_logs.hpp"

#include "io/archive/archive_format.hpp"
#include "io/failure.hpp"
#include "io/log_identity.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace gpuhist::batch {
namespace {

using numbers = std::vector<std::size_t>;

constexpr std::size_t most_candidates = 64;  // files that are opened for one entry, of those that may be it

// Entries with the same measure keep their order.
void sort_descending(numbers& entries, const std::function<std::uint64_t(std::size_t)>& measure) {
  std::map<std::uint64_t, numbers, std::greater<>> by_measure;
  for (const std::size_t each : entries) by_measure[measure(each)].push_back(each);
  entries.clear();
  for (const auto& [value, same] : by_measure) entries.insert(entries.end(), same.begin(), same.end());
}

std::string_view base_of(std::string_view name) { return name.substr(name.rfind('/') + 1); }

// "app.log.2" of "app.log.2.gz"
std::string_view without_compression(std::string_view base) {
  const io::format* const promised = io::promised_by(base);
  return promised == nullptr || promised->make_decoder == nullptr ? base : base.substr(0, base.rfind('.'));
}

// "app.log" and 2 of "app.log.2"; nothing: there is no number
std::optional<std::pair<std::string_view, std::uint64_t>> numbered(std::string_view base) {
  constexpr std::size_t most_digits = 4;  // longer ones are dates
  const std::size_t dot = base.rfind('.');
  const std::string_view digits = dot == std::string_view::npos ? std::string_view() : base.substr(dot + 1);
  if (digits.empty() || digits.size() > most_digits) return std::nullopt;
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return std::pair(base.substr(0, dot), std::stoull(std::string(digits)));
}

// The log of which a name is a rotated one: "/var/log/app.log" of "/var/log/app.log.2.gz"; otherwise the name.
std::string family_of(const std::string& name) {
  const auto number = numbered(without_compression(name));
  return number ? std::string(number->first) : name;
}

// As above; also of "app.log-20260102.gz" and "app-20260102.log".
std::string stem_of(const std::string& name) {
  constexpr std::size_t shortest_date = 6;
  if (std::string family = family_of(name); family != name) return family;
  const std::string_view all = without_compression(name);
  for (const std::size_t end : {all.size(), all.rfind('.')}) {
    const std::size_t begin = all.substr(0, end).find_last_not_of("0123456789.-_") + 1;
    if (end != std::string_view::npos && begin + shortest_date <= end) {
      return std::string(all.substr(0, begin)).append(all.substr(end));
    }
  }
  return name;
}

// Whether a log named `before` may be `now` after a rotation: app.log -> app.log.1, app.log-20260102.gz,
// app-20260102.log; and if it was compressed then: app.log.1 -> app.log.2.gz.
bool may_be_rotated(std::string_view before, std::string_view now, bool is_compressed_then) {
  const bool is_longer = now.size() > before.size();
  if (is_longer && now.starts_with(before))
    return std::string_view(".-_").find(now[before.size()]) != std::string_view::npos;
  if (is_longer && stem_of(std::string(now)) == before) return true;
  if (!is_compressed_then) return false;
  const auto first = numbered(before);
  const auto second = numbered(without_compression(now));
  return first && second && first->first == second->first && first->second < second->second;
}

class moves {
 public:
  moves(const manifest& old, const std::vector<manifest_entry>& found, const moving_rules& rules)
      : old_(old),
        found_(found),
        rules_(rules),
        log_in_(found.size()),
        is_placed_(old.entries.size()),
        is_named_(old.entries.size()) {
    for (std::size_t i = 0; i < old.entries.size(); ++i) {
      if (!old.entries[i].is_retired) number_of_.emplace(old.entries[i].name, i);
    }
  }

  // The order of evidence, from the strongest to the weakest: a file that has an entry is not compared again.
  known_logs run() {
    place_unchanged();
    gather();
    place_same_inodes([&](std::size_t file, std::size_t entry) { return continues(file, entry); });
    place_same_contents();
    place_rotated();
    find_rotations();
    place_same_names();
    place_distinctive();
    place_same_inodes([&](std::size_t file, std::size_t entry) { return was_renamed_and_extended(file, entry); });
    known_logs made{.log_of = std::move(log_in_), .is_rotated_out = std::vector<bool>(old_.entries.size())};
    for (const std::size_t each : entries_) {
      made.is_rotated_out[each] = !is_placed_[each] && is_rotated(old_.entries[each].name);
    }
    return made;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> entry_named_as(std::size_t file) const {
    const auto known = number_of_.find(found_[file].name);
    return known == number_of_.end() ? std::nullopt : std::optional(known->second);
  }

  void place(std::size_t entry, std::size_t file) {
    log_in_[file] = entry;
    is_placed_[entry] = true;
  }

  [[nodiscard]] bool are_open(std::size_t entry, std::size_t file) const {
    return !is_placed_[entry] && !log_in_[file];
  }

  [[nodiscard]] bool continues(std::size_t file, std::size_t entry) const {
    const manifest_entry& before = old_.entries[entry];
    const manifest_entry& now = found_[file];
    if (!before.log || (before.size == now.size && before.fingerprint != now.fingerprint)) return false;
    return with_file(file, [&](const io::log_file& opened) { return opened.continues(*before.log); });
  }

  // The result of `use`, or an empty one: the file cannot be read.
  template <typename Use>
  auto with_file(std::size_t file, const Use& use) const -> decltype(use(std::declval<const io::log_file&>())) {
    const manifest_entry& now = found_[file];
    try {
      return use(io::log_file(now.name, now.follow_links, rules_.forced_format, rules_.limits));
    } catch (const io::input_error&) {
      return {};
    }
  }

  void place_unchanged() {
    const bool trusts_names = rules_.trusts_names || old_.fingerprint == config::fingerprint_kind::full;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const std::optional<std::size_t> entry = entry_named_as(i);
      if (!entry || !old_.entries[*entry].error.is_none() || !found_[i].error.is_none()) continue;
      if (found_[i].size == 0 && found_[i].modified != old_.entries[*entry].modified) continue;  // perhaps another file
      if (difference(old_.entries[*entry], state_in(found_[i]), trusts_names).empty()) place(*entry, i);
    }
  }

  // What is not placed yet.
  void gather() {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (!log_in_[i] && found_[i].log) files_.push_back(i);
      if (const std::optional<std::size_t> entry = entry_named_as(i)) is_named_[*entry] = true;
    }
    for (std::size_t i = 0; i < is_placed_.size(); ++i) {
      if (!is_placed_[i] && old_.entries[i].error.is_none()) entries_.push_back(i);
    }
    // a longer text is part of fewer files
    sort_descending(entries_, [&](std::size_t each) { return old_.entries[each].size; });
  }

  void place_same_inodes(const std::function<bool(std::size_t file, std::size_t entry)>& is_same_log) {
    std::multimap<std::pair<std::uint64_t, std::int64_t>, std::size_t> entries;
    for (const std::size_t each : entries_) {
      const auto& log = old_.entries[each].log;
      if (log && log->born != 0) entries.emplace(std::pair(log->inode, log->born), each);
    }
    for (const std::size_t file : files_) {
      const auto [first, last] = entries.equal_range(std::pair(found_[file].log->inode, found_[file].log->born));
      for (auto each = first; each != last; ++each) {  // several: hard links
        if (are_open(each->second, file) && is_same_log(file, each->second)) place(each->second, file);
      }
    }
  }

  // The end of an archive is replaced when members are added to it. A log that has its name, or that was retired, may
  // have been copied and truncated.
  [[nodiscard]] bool was_renamed_and_extended(std::size_t file, std::size_t entry) const {
    const manifest_entry& before = old_.entries[entry];
    return !before.is_retired && !is_named_[entry] && found_[file].size >= before.size;
  }

  void place_same_contents() {
    using content = std::tuple<std::uint64_t, std::int64_t, std::string, std::string, std::string>;
    const auto content_of = [&](const manifest_entry& entry, const std::optional<io::log_identity>& log) {
      return content(entry.size, rules_.trusts_names ? 0 : entry.modified, entry.fingerprint,
                     log ? log->head : std::string(), log ? log->tail : std::string());
    };
    std::multimap<content, std::size_t> entries;
    for (const std::size_t each : entries_) {
      if (!is_placed_[each]) entries.emplace(content_of(old_.entries[each], old_.entries[each].log), each);
    }
    for (const std::size_t file : files_) {
      if (log_in_[file]) continue;
      auto same = entries.find(content_of(found_[file], found_[file].log));
      // a manifest of an earlier version has no logs
      if (same == entries.end() && !rules_.trusts_names) same = entries.find(content_of(found_[file], std::nullopt));
      if (same == entries.end()) continue;
      place(same->second, file);
      entries.erase(same);
    }
  }

  // A rotation gives the numbered names of a log, and its own, to other logs. It has given away the numbered names if
  // one of them has another log, and the own name also if another file has a rotated name, perhaps with the same text.
  // olddir of logrotate is a folder in that of the log.
  void find_rotations() {
    for (const std::size_t file : files_) {
      const std::string& name = found_[file].name;
      const std::string stem = stem_of(name);
      if (stem == name) continue;
      const bool has_numbers = family_of(name) == stem;
      if (has_numbers && has_other_log(file)) renumbered_.insert(stem);
      if (!renumbered_.contains(stem) && !is_other_file(file)) continue;
      const std::filesystem::path path(stem);
      rotated_.insert({stem, (path.parent_path().parent_path() / path.filename()).string()});
    }
  }

  // Than the entry of its name.
  [[nodiscard]] bool has_other_log(std::size_t file) const {
    const std::optional<std::size_t> entry = entry_named_as(file);
    if (log_in_[file])
      return entry != log_in_[file] && family_of(old_.entries[*log_in_[file]].name) == family_of(found_[file].name);
    return entry && old_.entries[*entry].log && (is_placed_[*entry] || !continues(file, *entry));
  }

  [[nodiscard]] bool is_other_file(std::size_t file) const {
    const std::optional<std::size_t> entry = entry_named_as(file);
    if (!entry) return true;
    const auto& log = old_.entries[*entry].log;
    return log && !found_[file].log->is_file_of(*log);
  }

  [[nodiscard]] bool is_rotated(const std::string& name) const {
    if (io::promised_archive(name).kind != io::archive_kind::none) return false;  // it is written again as a whole
    return is_renumbered(name) || rotated_.contains(name);
  }

  [[nodiscard]] bool is_renumbered(const std::string& name) const {
    const std::string family = family_of(name);
    return family != name && renumbered_.contains(family);
  }

  void place_same_names() {
    for (const std::size_t file : files_) {
      if (is_renumbered(found_[file].name)) continue;
      const std::optional<std::size_t> entry = entry_named_as(file);
      if (entry && are_open(*entry, file) && continues(file, *entry)) place(*entry, file);
    }
  }

  // Of logs with the same content, the older one has the longer name, and the higher number.
  void place_rotated() {
    numbers oldest_first = entries_;
    sort_descending(oldest_first, [&](std::size_t each) { return base_of(old_.entries[each].name).size(); });
    std::vector<std::pair<std::string_view, std::size_t>> names;
    for (const std::size_t file : files_) {
      if (!log_in_[file]) names.emplace_back(base_of(found_[file].name), file);
    }
    std::ranges::sort(names);
    for (const std::size_t entry : oldest_first) {
      const std::string_view base = base_of(old_.entries[entry].name);
      const auto number = numbered(base);
      const std::size_t dot = base.rfind('.');
      const std::string_view stem = number ? number->first : base.substr(0, dot > 0 ? dot : base.size());
      const auto first = std::ranges::lower_bound(names, std::pair(stem, std::size_t{0}));
      auto each = std::find_if(first, names.end(), [&](const auto& name) { return !name.first.starts_with(stem); });
      for (std::size_t tried = 0; tried < most_candidates && each != first;) {
        --each;
        if (!are_open(entry, each->second) || !may_be_rotated(entry, each->second)) continue;
        ++tried;
        if (continues(each->second, entry)) place(entry, each->second);
      }
    }
  }

  [[nodiscard]] bool may_be_rotated(std::size_t entry, std::size_t file) const {
    const auto& before = old_.entries[entry];
    const bool is_compressed_then = before.log && before.log->is_plain && !found_[file].log->is_plain;
    return batch::may_be_rotated(base_of(before.name), base_of(found_[file].name), is_compressed_then);
  }

  void place_distinctive() {
    numbers entries;
    for (const std::size_t each : entries_) {
      const manifest_entry& entry = old_.entries[each];
      if (is_placed_[each] || is_renumbered(entry.name)) continue;  // the latter was rotated out
      if (entry.log && entry.size >= io::log_edge_bytes) entries.push_back(each);
    }
    if (entries.empty()) return;
    const bool has_plain =
        std::ranges::any_of(entries, [&](std::size_t each) { return old_.entries[each].log->is_plain; });
    const std::multimap<std::string, std::size_t> heads = heads_of_files(has_plain);
    for (const std::size_t entry : entries) {
      numbers same;
      std::size_t tried = 0;
      for (const std::size_t file : files_with_head_of(entry, heads)) {
        if (same.size() == 2 || tried++ == most_candidates) break;
        if (continues(file, entry)) same.push_back(file);
      }
      if (same.size() == 1 && !log_in_[same.front()] && !continues_another(same.front(), entry)) {
        place(entry, same.front());
      }
    }
  }

  // First those that have the same content, or the same name in another folder.
  [[nodiscard]] numbers files_with_head_of(std::size_t entry,
                                           const std::multimap<std::string, std::size_t>& heads) const {
    const manifest_entry& before = old_.entries[entry];
    numbers made;
    const auto [first, last] = heads.equal_range(before.log->head);
    for (auto each = first; each != last; ++each) made.push_back(each->second);
    std::ranges::partition(made, [&](std::size_t file) {
      return found_[file].log->has_ends_of(*before.log) || base_of(found_[file].name) == base_of(before.name);
    });
    return made;
  }

  [[nodiscard]] bool continues_another(std::size_t file, std::size_t entry) const {
    const std::string& head = old_.entries[entry].log->head;
    std::size_t tried = 0;
    return std::ranges::any_of(entries_, [&](std::size_t each) {
      const auto& other = old_.entries[each].log;
      if (each == entry || !other || other->head != head || tried == most_candidates) return false;
      ++tried;
      return continues(file, each);
    });
  }

  // By the hash of the first bytes that are stored; `decodes`: also by that of the text of compressed files.
  [[nodiscard]] std::multimap<std::string, std::size_t> heads_of_files(bool decodes) const {
    std::multimap<std::string, std::size_t> made;
    for (const std::size_t file : files_) {
      const io::log_identity& log = *found_[file].log;
      if (log.bytes >= io::log_edge_bytes) made.emplace(log.head, file);
      if (log.is_plain || !decodes) continue;
      const std::string head = with_file(file, [](const io::log_file& opened) { return opened.text_head(); });
      if (!head.empty()) made.emplace(head, file);
    }
    return made;
  }

  const manifest& old_;
  const std::vector<manifest_entry>& found_;
  const moving_rules& rules_;
  std::unordered_map<std::string_view, std::size_t> number_of_;  // of entries whose names are those of files
  std::unordered_set<std::string> renumbered_;                   // families whose numbered names have other logs now
  std::unordered_set<std::string> rotated_;                      // names of logs that were rotated
  numbers files_;                                                // that are new or have changed
  numbers entries_;                                              // whose file has changed or was not found
  std::vector<std::optional<std::size_t>> log_in_;               // by file: its entry
  std::vector<bool> is_placed_;                                  // by entry: it has a file
  std::vector<bool> is_named_;                                   // by entry: a file has its name
};

}  // namespace

known_logs find_logs(const manifest& old, const std::vector<manifest_entry>& found, const moving_rules& rules) {
  return moves(old, found, rules).run();
}

}  // namespace gpuhist::batch
