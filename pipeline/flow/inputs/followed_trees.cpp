#include "pipeline/flow/inputs/followed_trees.hpp"

#include "io/archive/archive_format.hpp"
#include "io/format.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace gpuhist::pipeline {
namespace {

bool is_named_as_compressed(const std::string& path) {
  return io::promised_by(path) != nullptr || io::promised_archive(path).kind != io::archive_kind::none;
}

}  // namespace

followed_trees::followed_trees(std::vector<std::string> roots, io::walk_settings settings, remark report)
    : roots_(std::move(roots)), settings_(std::move(settings)), report_(std::move(report)) {}

// A walk through a large tree takes at most a small part of the time.
bool followed_trees::is_due(clock::time_point now, bool has_changes) const {
  constexpr auto usual = std::chrono::seconds(1);
  constexpr auto after_changes = std::chrono::milliseconds(100);
  constexpr int share_of_time = 20;
  const clock::duration interval = has_changes ? clock::duration(after_changes) : clock::duration(usual);
  return is_first_ || now - looked_ >= std::max(interval, share_of_time * took_);
}

std::vector<followed_trees::found_file> followed_trees::look(const std::set<std::string, std::less<>>& followed) {
  const clock::time_point began = clock::now();
  std::vector<found_file> found;
  for (const std::string& root : roots_) {
    io::tree_walk walk(root, settings_);
    while (const std::optional<io::tree_entry> entry = walk.next()) visit(*entry, followed, found);
  }
  forget_vanished();
  is_first_ = false;
  looked_ = clock::now();
  took_ = looked_ - began;
  return found;
}

// Without times of birth, a new file may have the inode of one that was removed.
void followed_trees::forget_vanished() {
  std::erase_if(known_, [&](const io::file_key& each) { return each.born == 0 && !without_birth_.contains(each); });
  without_birth_.clear();
}

void followed_trees::visit(const io::tree_entry& entry, const std::set<std::string, std::less<>>& followed,
                           std::vector<found_file>& to) {
  using kind = io::tree_entry::kind;
  switch (entry.type) {
    case kind::file:
      if (is_new(entry.path, followed)) to.push_back({.path = entry.path});
      return;
    case kind::skipped:
      if (!is_first_) return;
      add_skipped(skipped_, {.kind = io::kind_of(entry.cause),
                             .cause = std::string(io::name_of(entry.cause)),
                             .count = 1,
                             .first = entry.path});
      return;
    case kind::failed:
      if (reported_.insert(entry.path).second) {
        to.push_back({.path = entry.path, .error = {.kind = entry.error_kind, .text = entry.error}});
      }
      return;
  }
}

bool followed_trees::is_new(const std::string& path, const std::set<std::string, std::less<>>& followed) {
  const std::optional<io::file_key> key = io::key_of(path);
  if (!key) return false;  // it has disappeared
  if (key->born == 0) without_birth_.insert(*key);
  if (followed.contains(path) || known_.contains(*key)) return false;
  if (!is_named_as_compressed(path)) return !is_read_elsewhere(path, *key);
  if (reported_.insert(path).second) report_(path + ": is compressed, by its name: it is not followed");
  return false;
}

bool followed_trees::is_read_elsewhere(const std::string& path, const io::file_key& key) {
  if (known_.contains(key)) return true;
  const io::copied_text found = copies_(path);
  if (found != io::copied_text::all) return found == io::copied_text::perhaps;
  known_.insert(key);
  report_(path + ": is a copy of text that was counted: it is not counted again");
  return true;
}

}  // namespace gpuhist::pipeline
