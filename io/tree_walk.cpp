#include "io/tree_walk.hpp"

#include "io/file_access.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
constexpr std::size_t open_folders = 8;  // the deepest ones: their neighbours are visited next

// Kinds of names, one character each.
constexpr char kind_folder = 'd';
constexpr char kind_file = 'f';
constexpr char kind_link = 'l';
constexpr char kind_fifo = 'p';
constexpr char kind_socket = 's';
constexpr char kind_device = 'c';
constexpr char kind_unknown = '?';
constexpr char kind_dangling = 'x';
constexpr char kind_output = 'o';     // an output of this process
constexpr char kind_temporary = 't';  // the temporary file of an output

char kind_of_type(unsigned char type) {
  switch (type) {
    case DT_DIR:
      return kind_folder;
    case DT_REG:
      return kind_file;
    case DT_LNK:
      return kind_link;
    case DT_FIFO:
      return kind_fifo;
    case DT_SOCK:
      return kind_socket;
    case DT_CHR:
    case DT_BLK:
      return kind_device;
    default:
      return kind_unknown;
  }
}

char kind_of_mode(mode_t mode) { return kind_of_type(static_cast<unsigned char>(IFTODT(mode))); }

bool is_dot_or_dots(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

struct close_stream {
  void operator()(DIR* open) const { ::closedir(open); }
};

}  // namespace

std::string_view name_of(skip_cause cause) {
  constexpr std::array<std::string_view, 7> names = {
      "symbolic link", "dangling symbolic link",         "symbolic link to a directory above it", "FIFO", "socket",
      "device",        "file that is the output as well"};
  return names[static_cast<std::size_t>(cause)];
}

skipped_kind kind_of(skip_cause cause) {
  switch (cause) {
    case skip_cause::link:
    case skip_cause::dangling_link:
    case skip_cause::loop:
      return skipped_kind::link;
    case skip_cause::output:
      return skipped_kind::output;
    case skip_cause::fifo:
    case skip_cause::socket:
    case skip_cause::device:
      break;
  }
  return skipped_kind::special;
}

tree_walk::tree_walk(std::string root, walk_settings settings)
    : root_(std::move(root)), settings_(std::move(settings)), path_(root_) {}

std::optional<tree_entry> tree_walk::next() {
  if (!std::exchange(started_, true)) {
    auto failure = enter(open_path(root_, folder_flags));
    root_bytes_ = path_.size();
    if (failure) return failure;
  }
  while (!levels_.empty()) {
    level& directory = levels_.back();
    path_.resize(directory.path_bytes);
    if (directory.order.empty()) {
      levels_.pop_back();
      continue;
    }
    const char* const entry = directory.names.data() + directory.order.back();
    directory.order.pop_back();
    path_ += entry + 1;
    if (auto found = visit(directory, entry[0], entry + 1)) return found;
  }
  return std::nullopt;
}

// The entry for a name; nothing if it is not selected, or if it is a directory, which is then walked.
std::optional<tree_entry> tree_walk::visit(level& directory, char kind, const char* name) {
  const char now = kind_of(directory, kind, name);
  const std::string_view below = std::string_view(path_).substr(root_bytes_);
  if (now == kind_folder) {
    if (!settings_.filter.enters_directory(below)) return std::nullopt;
    return enter_below(directory, name);
  }
  if (!settings_.filter.takes_file(below)) return std::nullopt;
  switch (now) {
    case kind_link:
      return skipped(skip_cause::link);
    case kind_dangling:
      return skipped(skip_cause::dangling_link);
    case kind_fifo:
      return skipped(skip_cause::fifo);
    case kind_socket:
      return skipped(skip_cause::socket);
    case kind_device:
      return skipped(skip_cause::device);
    case kind_output:
      return skipped(skip_cause::output);
    case kind_temporary:
      return std::nullopt;
    default:
      return tree_entry{.type = tree_entry::kind::file, .path = path_};
  }
}

// Finds the kind if the directory did not state it, and follows links. An unknown kind is treated as a file: opening it
// reports the error.
char tree_walk::kind_of(level& directory, char kind, const char* name) {
  const bool has_outputs = settings_.outputs && settings_.outputs->has_any();
  struct stat found{};
  const auto get_status = [&](int flags) { return ::fstatat(folder_of(directory).get(), name, &found, flags) == 0; };
  // the inode number in a directory is a hint: for a mounted file, and on some filesystems for every file, it differs
  // from stat()
  if (kind == kind_unknown || kind == kind_output || (kind == kind_file && has_outputs)) {
    const bool is_temporary = has_outputs && is_temporary_name(name);
    if (!get_status(AT_SYMLINK_NOFOLLOW)) {
      const bool is_renamed = errno == ENOENT && (is_temporary || kind == kind_output);
      return is_renamed ? kind_temporary : kind_file;
    }
    kind = kind_of_found(found);
    // the file may have got its final name, and have been replaced there, after its status was read
    if (is_temporary && !get_status(AT_SYMLINK_NOFOLLOW) && errno == ENOENT) return kind_temporary;
  }
  if (kind != kind_link || !settings_.follow_links) return kind;
  if (get_status(0)) return kind_of_found(found);
  return errno == ENOENT || errno == ELOOP || errno == ENOTDIR ? kind_dangling : kind_file;
}

char tree_walk::kind_of_found(const struct stat& found) const {
  const auto role = settings_.outputs ? settings_.outputs->find(found) : std::nullopt;
  if (!role) return kind_of_mode(found.st_mode);
  return *role == output_files::role::output ? kind_output : kind_temporary;
}

std::optional<tree_entry> tree_walk::enter_below(level& directory, const char* name) {
  const descriptor& folder = folder_of(directory);
  if (!folder) return failed(errno);
  return enter(open_below(folder, name, folder_flags | (settings_.follow_links ? 0 : O_NOFOLLOW)));
}

// Enters the directory at path_. Returns an error entry if it cannot be read; names that were read are visited
// afterwards.
std::optional<tree_entry> tree_walk::enter(descriptor folder) {
  if (!folder) return failed(errno);
  level fresh{.folder = std::move(folder)};
  struct stat found{};
  if (::fstat(fresh.folder.get(), &found) != 0) return failed(errno);
  if (settings_.outputs && settings_.outputs->has_folder(found)) return std::nullopt;
  if (is_being_walked(found.st_dev, found.st_ino)) return skipped(skip_cause::loop);
  fresh.device = found.st_dev;
  fresh.inode = found.st_ino;
  const int error = read_names(fresh);
  std::optional<tree_entry> failure;
  if (error != 0) failure = failed(error);
  if (!path_.ends_with('/')) path_ += '/';
  fresh.path_bytes = path_.size();
  levels_.push_back(std::move(fresh));
  if (levels_.size() > open_folders) levels_[levels_.size() - 1 - open_folders].folder = {};
  return failure;
}

bool tree_walk::is_being_walked(dev_t device, ino_t inode) const {
  return std::ranges::any_of(levels_, [&](const level& each) { return each.device == device && each.inode == inode; });
}

// Returns 0, or the error that stopped reading.
int tree_walk::read_names(level& directory) {
  // a separate descriptor: closing the stream closes it
  const int own = ::fcntl(directory.folder.get(), F_DUPFD_CLOEXEC, 0);
  if (own < 0) return errno;
  const std::unique_ptr<DIR, close_stream> stream(::fdopendir(own));
  if (!stream) {
    const int error = errno;
    ::close(own);
    return error;
  }
  int error = 0;
  while (names_read_ < settings_.most_names) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());  // NOLINT(concurrency-mt-unsafe): the stream is local
    if (entry == nullptr) {
      error = errno;
      break;
    }
    if (is_dot_or_dots(entry->d_name)) continue;
    ++names_read_;
    directory.order.push_back(directory.names.size());
    const bool may_be_output =
        settings_.outputs && entry->d_type == DT_REG && settings_.outputs->has_inode(entry->d_ino);
    directory.names += may_be_output ? kind_output : kind_of_type(entry->d_type);
    directory.names.append(entry->d_name).push_back('\0');
  }
  const char* const names = directory.names.data();
  std::ranges::sort(directory.order, [names](std::size_t left, std::size_t right) {
    return std::strcmp(names + left + 1, names + right + 1) > 0;  // last first
  });
  return error;
}

// Reopens the directory if it was closed in favour of deeper ones.
const descriptor& tree_walk::folder_of(level& directory) {
  if (!directory.folder) directory.folder = open_path(path_.substr(0, directory.path_bytes), folder_flags);
  return directory.folder;
}

tree_entry tree_walk::failed(int error) const {
  return {.type = tree_entry::kind::failed,
          .path = path_,
          .error = std::system_category().message(error),
          .error_kind = kind_of_errno(error)};
}

tree_entry tree_walk::skipped(skip_cause cause) const {
  return {.type = tree_entry::kind::skipped, .path = path_, .cause = cause};
}

}  // namespace gpuhist::io
