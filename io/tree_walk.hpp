// A walk through a tree of directories, one name at a time: depth first, the names of a directory in byte order, so
// that a tree always gives the same sequence.
//
//     a/  a/b  a/c/  a/c/d   ->   a/b, a/c/d
//
// Memory: the names of the directories on the current path, so at most the depth times the largest directory.
// Descriptors: a small constant number for any depth.
#pragma once

#include "io/descriptor.hpp"
#include "io/failure.hpp"
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

/// Why an entry of a tree is not read.
enum class skip_cause : std::uint8_t { link, dangling_link, loop, fifo, socket, device, output };

/// "symbolic link": the skipped entry in words, in the singular.
std::string_view name_of(skip_cause cause);

skipped_kind kind_of(skip_cause cause);

/// One result of a walk.
struct tree_entry {
  enum class kind : std::uint8_t {
    file,     ///< a regular file when it was found; opening it checks again
    skipped,  ///< is not read
    failed,   ///< a directory whose names cannot be read, or only in part
  };

  kind type = kind::file;
  std::string path{};                   ///< the root as it was given, and the path from there; raw bytes
  skip_cause cause = skip_cause::link;  ///< with `skipped`
  std::string error{};                  ///< with `failed`: the message of the system
  failure_kind error_kind = failure_kind::none;
};

struct walk_settings {
  path_filter filter;
  bool follow_links = false;  ///< links below the root are followed, except to a directory on the current path
  /// What this process writes: an output is skipped, its temporary file and folders are ignored. Null: nothing.
  std::shared_ptr<const output_files> outputs{};
  std::uint64_t most_names = ~std::uint64_t{0};  ///< in directories, of those that are read: the walk ends after them
};

/// Used by one thread at a time. Owns its descriptors. Throws only std::bad_alloc.
class tree_walk {
 public:
  /// `root`: a directory, or a link to one.
  tree_walk(std::string root, walk_settings settings);

  /// The next entry; nothing at the end. Blocks only while directories are read.
  std::optional<tree_entry> next();

  /// Names that were read in directories, selected or not.
  [[nodiscard]] std::uint64_t names_read() const { return names_read_; }

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] bool follows_links() const { return settings_.follow_links; }

 private:
  /// A directory on the current path. Its names are one text: a character for the kind, the name, a zero.
  struct level {
    std::size_t path_bytes = 0;  // length of its path in path_, with a slash at the end
    dev_t device = 0;
    ino_t inode = 0;
    descriptor folder{};  // closed while many are open; reopened by its path
    std::string names{};
    std::vector<std::size_t> order{};  // where each name begins, last first
  };

  std::optional<tree_entry> enter(descriptor folder);
  std::optional<tree_entry> visit(level& directory, char kind, const char* name);
  std::optional<tree_entry> enter_below(level& directory, const char* name);
  int read_names(level& directory);
  char kind_of(level& directory, char kind, const char* name);
  [[nodiscard]] char kind_of_found(const struct stat& found) const;
  const descriptor& folder_of(level& directory);
  [[nodiscard]] bool is_being_walked(dev_t device, ino_t inode) const;
  [[nodiscard]] tree_entry failed(int error) const;
  [[nodiscard]] tree_entry skipped(skip_cause cause) const;

  const std::string root_;
  const walk_settings settings_;
  std::string path_;  // path of the current entry
  std::size_t root_bytes_ = 0;
  std::vector<level> levels_;
  std::uint64_t names_read_ = 0;
  bool started_ = false;
};

}  // namespace gpuhist::io
