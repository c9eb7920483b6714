// The regular files that this process writes, and the folders that it keeps, by device and inode. None of them is an
// input of the same run, under any name.
#pragma once

#include "io/descriptor.hpp"

#include <sys/stat.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace gpuhist::io {

/// Thread-safe: a destination that is replaced at every snapshot updates it while a tree is walked.
class output_files {
 public:
  enum class role {
    output,     ///< has the requested name
    temporary,  ///< replaces the output when it is complete
  };

  /// Replaces the earlier value, as create_temporary() does. A file that is not regular is never found.
  void set_output(const struct stat& file);

  /// Another output. Call it before other threads use this object.
  void add(const struct stat& file);

  /// A folder of the process: nothing in it is an input. Call it before other threads use this object.
  void add_folder(const struct stat& folder);

  /// Whether add_folder() had this folder.
  [[nodiscard]] bool has_folder(const struct stat& folder) const;

  /// Whether there is a folder of the process.
  [[nodiscard]] bool has_folders() const;

  /// Calls `create`, which creates the temporary file. Until it returns, the functions below wait, so no other thread
  /// finds the file in a directory while it is unknown here. Throws what `create` throws.
  descriptor create_temporary(const std::function<descriptor()>& create);

  /// The temporary file was renamed.
  void temporary_became_output();

  /// The files of another destination of this process are found, too. Call it before other threads use this object.
  void include(std::shared_ptr<const output_files> others);

  /// The role of the file in this process; nothing for all other files.
  [[nodiscard]] std::optional<role> find(const struct stat& file) const;

  /// Whether an output or temporary file is set.
  [[nodiscard]] bool has_any() const;

  /// Whether one of them has this inode number, on any device.
  [[nodiscard]] bool has_inode(ino_t inode) const;

 private:
  struct identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const identity&) const = default;
  };

  static std::optional<identity> identity_of(const struct stat& file);
  [[nodiscard]] bool is_other(const identity& file) const;

  mutable std::mutex mutex_;
  std::optional<identity> output_;
  std::optional<identity> temporary_;
  std::vector<identity> others_;  // besides output_
  std::vector<identity> folders_;
  std::vector<std::shared_ptr<const output_files>> included_;
};

}  // namespace gpuhist::io
