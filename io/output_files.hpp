// The regular files that this process writes reports to, as the system knows them: none of them is an input of the same
// run, under whatever name it is found.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <mutex>
#include <optional>

namespace gpuhist::io {

/// Thread-safe: a destination that is replaced at every snapshot changes it while a tree is walked.
class output_files {
 public:
  enum class role {
    output,     ///< has the name that was asked for
    temporary,  ///< takes its place when it is complete
  };

  /// Each replaces what was set before. What is not a regular file is never found.
  void set_output(const struct stat& file);
  void set_temporary(const struct stat& file);

  /// The temporary file was renamed.
  void temporary_became_output();

  /// What the file is to this process; nothing for all others.
  [[nodiscard]] std::optional<role> find(const struct stat& file) const;

  /// Whether there are any.
  [[nodiscard]] bool has_any() const;

  /// Whether a file with this inode number, of any device, is one of them.
  [[nodiscard]] bool has_inode(ino_t inode) const;

 private:
  struct identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const identity&) const = default;
  };

  static std::optional<identity> identity_of(const struct stat& file);

  mutable std::mutex mutex_;
  std::optional<identity> output_;
  std::optional<identity> temporary_;
};

}  // namespace gpuhist::io
