// The files below directories that are followed (--follow -r): those that are new. A file that was renamed, or copied
// before it was truncated, is not: its text was counted under its earlier name.
#pragma once

#include "io/followed_file.hpp"
#include "io/tree_walk.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/run_counts.hpp"

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// Used by one thread at a time. Memory: some bytes for each file that was found.
class followed_trees {
 public:
  using clock = std::chrono::steady_clock;
  using remark = std::function<void(const std::string&)>;

  struct found_file {
    std::string path;
    input_failure error{};  ///< of a directory that cannot be read
  };

  /// `report` receives messages for the user.
  followed_trees(std::vector<std::string> roots, io::walk_settings settings, remark report);

  /// `copies`: whether a file is a copy of one that is followed. Before the first look.
  void compare_with(std::function<io::copied_text(const std::string& path)> copies) { copies_ = std::move(copies); }

  /// Whether the trees should be looked at: after a change of names, or regularly.
  [[nodiscard]] bool is_due(clock::time_point now, bool has_changes) const;

  /// The files that are new since the last call, and the directories that cannot be read since then.
  /// Names of `followed` are not new.
  std::vector<found_file> look(const std::set<std::string, std::less<>>& followed);

  /// A followed name has this file.
  void note(const io::file_key& of) { known_.insert(of); }

  /// Whether the text of a file that got this name is or was read under another one, or may be: it is still copied.
  bool is_read_elsewhere(const std::string& path, const io::file_key& key);

  /// Entries that are not followed, found by the first look, by cause.
  [[nodiscard]] const std::vector<skipped_names>& skipped() const { return skipped_; }

 private:
  void visit(const io::tree_entry& entry, const std::set<std::string, std::less<>>& followed,
             std::vector<found_file>& to);
  void forget_vanished();
  [[nodiscard]] bool is_new(const std::string& path, const std::set<std::string, std::less<>>& followed);

  const std::vector<std::string> roots_;
  const io::walk_settings settings_;
  const remark report_;
  std::function<io::copied_text(const std::string& path)> copies_;
  std::set<io::file_key> known_;          // files of which the text was or is counted
  std::set<io::file_key> without_birth_;  // found by this look
  std::set<std::string> reported_;        // names with an error or a message
  std::vector<skipped_names> skipped_;
  bool is_first_ = true;
  clock::time_point looked_{};  // when the last look ended
  clock::duration took_{};      // of that look
};

}  // namespace gpuhist::pipeline
