#include "io/output_files.hpp"

#include <utility>

namespace gpuhist::io {

std::optional<output_files::identity> output_files::identity_of(const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return std::nullopt;
  return identity{.device = file.st_dev, .inode = file.st_ino};
}

void output_files::set_output(const struct stat& file) {
  const std::scoped_lock lock(mutex_);
  output_ = identity_of(file);
}

void output_files::set_temporary(const struct stat& file) {
  const std::scoped_lock lock(mutex_);
  temporary_ = identity_of(file);
}

void output_files::temporary_became_output() {
  const std::scoped_lock lock(mutex_);
  output_ = std::exchange(temporary_, std::nullopt);
}

std::optional<output_files::role> output_files::find(const struct stat& file) const {
  const std::optional<identity> found = identity_of(file);
  if (!found) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  if (found == output_) return role::output;
  if (found == temporary_) return role::temporary;
  return std::nullopt;
}

bool output_files::has_any() const {
  const std::scoped_lock lock(mutex_);
  return output_ || temporary_;
}

bool output_files::has_inode(ino_t inode) const {
  const std::scoped_lock lock(mutex_);
  return (output_ && output_->inode == inode) || (temporary_ && temporary_->inode == inode);
}

}  // namespace gpuhist::io
