#include "io/output_files.hpp"

#include <algorithm>
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

void output_files::add(const struct stat& file) {
  if (const std::optional<identity> known = identity_of(file)) others_.push_back(*known);
}

void output_files::add_folder(const struct stat& folder) {
  folders_.push_back({.device = folder.st_dev, .inode = folder.st_ino});
}

bool output_files::has_folder(const struct stat& folder) const {
  const identity sought{.device = folder.st_dev, .inode = folder.st_ino};
  return std::ranges::find(folders_, sought) != folders_.end() ||
         std::ranges::any_of(included_, [&](const auto& each) { return each->has_folder(folder); });
}

bool output_files::has_folders() const {
  return !folders_.empty() || std::ranges::any_of(included_, [](const auto& each) { return each->has_folders(); });
}

bool output_files::is_other(const identity& file) const { return std::ranges::find(others_, file) != others_.end(); }

descriptor output_files::create_temporary(const std::function<descriptor()>& create) {
  const std::scoped_lock lock(mutex_);
  descriptor created = create();
  struct stat file{};
  if (::fstat(created.get(), &file) == 0) temporary_ = identity_of(file);
  return created;
}

void output_files::temporary_became_output() {
  const std::scoped_lock lock(mutex_);
  output_ = std::exchange(temporary_, std::nullopt);
}

void output_files::include(std::shared_ptr<const output_files> others) { included_.push_back(std::move(others)); }

std::optional<output_files::role> output_files::find(const struct stat& file) const {
  const std::optional<identity> found = identity_of(file);
  if (!found) return std::nullopt;
  for (const auto& each : included_) {
    if (const std::optional<role> known = each->find(file)) return known;
  }
  const std::scoped_lock lock(mutex_);
  if (found == output_ || is_other(*found)) return role::output;
  if (found == temporary_) return role::temporary;
  return std::nullopt;
}

bool output_files::has_any() const {
  if (std::ranges::any_of(included_, [](const auto& each) { return each->has_any(); })) return true;
  const std::scoped_lock lock(mutex_);
  return output_ || temporary_ || !others_.empty();
}

bool output_files::has_inode(ino_t inode) const {
  if (std::ranges::any_of(included_, [&](const auto& each) { return each->has_inode(inode); })) return true;
  const std::scoped_lock lock(mutex_);
  const auto is_it = [&](const identity& each) { return each.inode == inode; };
  if (std::ranges::any_of(others_, is_it)) return true;
  return (output_ && output_->inode == inode) || (temporary_ && temporary_->inode == inode);
}

}  // namespace gpuhist::io
