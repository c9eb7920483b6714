// A walk through a tree of directories, one name at a time: depth first, the names of a directory in the order of their
// bytes, so that the same tree is always the same sequence.
//
//     a/  a/b  a/c/  a/c/d   ->   a/b, a/c/d
//
// Memory: the names of the directories above, that is depth times the largest of them at the most. Descriptors: few,
// however deep the tree is.
#pragma once

#include "io/descriptor.hpp"
#include "io/output_files.hpp"
#include "io/path_pattern.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// Why something in a tree is not read.
enum class skip_cause : std::uint8_t { link, dangling_link, loop, fifo, socket, device, output };

/// "symbolic link": what the skipped thing is, in the singular.
std::string_view name_of(skip_cause cause);

/// What a walk comes across.
struct tree_entry {
  enum class kind : std::uint8_t {
    file,     ///< a regular file, or was one a moment ago: whoever opens it looks again
    skipped,  ///< is nothing to be read
    failed,   ///< a directory whose names cannot be had, or not all
  };

  kind what = kind::file;
  std::string path{};                   ///< the root as it was given, and the way from there; raw bytes
  skip_cause cause = skip_cause::link;  ///< of what is skipped
  std::string error{};                  ///< of what failed, in the system's words
};

struct walk_settings {
  path_filter filter;
  bool follow_links = false;  ///< links below the root are followed, except to a directory that is being walked
  /// Files that this process writes: an output is skipped, and its temporary file is not mentioned. Null: none.
  std::shared_ptr<const output_files> outputs{};
};

/// Used by one thread at a time. Owns its descriptors. Does not throw but std::bad_alloc.
class tree_walk {
 public:
  /// `root`: a directory, also through a link.
  tree_walk(std::string root, walk_settings how);

  /// The next one; nothing at the end. Blocks for no longer than directories take to be read.
  std::optional<tree_entry> next();

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] bool follows_links() const { return how_.follow_links; }

 private:
  /// A directory that is being walked. Its names are one text: a character of their kind, the name, a zero.
  struct level {
    std::size_t path_bytes = 0;  // of path_, with a slash at the end
    dev_t device = 0;
    ino_t inode = 0;
    descriptor folder{};  // closed where many are open: opened again by its path
    std::string names{};
    std::vector<std::size_t> order{};  // where each begins, last first
  };

  std::optional<tree_entry> enter(descriptor folder);
  std::optional<tree_entry> come_to(level& in, char kind, const char* name);
  std::optional<tree_entry> enter_below(level& in, const char* name);
  int read_names(level& of);
  char kind_of(level& in, char kind, const char* name);
  [[nodiscard]] char kind_of_found(const struct stat& found) const;
  const descriptor& folder_of(level& of);
  [[nodiscard]] bool is_being_walked(dev_t device, ino_t inode) const;
  [[nodiscard]] tree_entry failed(int error) const;
  [[nodiscard]] tree_entry skipped(skip_cause cause) const;

  const std::string root_;
  const walk_settings how_;
  std::string path_;  // of what is looked at
  std::size_t root_bytes_ = 0;
  std::vector<level> levels_;
  bool began_ = false;
};

}  // namespace gpuhist::io
