#include "io/followed_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace gpuhist::io {
namespace {

// A writer keeps a renamed file open until it gets the signal to reopen its log. logrotate sends the signal at once;
// its option `delaycompress` exists because some programs react late.
constexpr auto patience = std::chrono::minutes(5);
constexpr std::size_t max_earlier = 4;

// `position`: where the error occurred, for the message.
struct stat status_of(const descriptor& fd, std::uint64_t position) {
  struct stat found{};
  if (::fstat(fd.get(), &found) != 0) {
    throw input_error("its size cannot be read: " + std::system_category().message(errno), position);
  }
  return found;
}

std::size_t read_at(const descriptor& fd, std::span<std::byte> out, std::uint64_t offset, std::uint64_t position) {
  ssize_t got = -1;
  do {
    got = ::pread(fd.get(), out.data(), out.size(), static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw input_error("reading failed: " + std::system_category().message(errno), position);
  return static_cast<std::size_t>(got);
}

}  // namespace

// Does not block: the name may belong to a FIFO meanwhile.
std::optional<followed_file::generation> followed_file::open_named(clock::time_point now) const {
  descriptor fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw input_error(std::system_category().message(errno), position_);
  }
  const struct stat found = status_of(fd, position_);
  if (!S_ISREG(found.st_mode))
    throw input_error("is not a regular file: only regular files can be followed", position_);
  generation made;
  made.fd = std::move(fd);
  made.device = found.st_dev;
  made.inode = found.st_ino;
  made.source = ++sources_;
  made.grown = now;
  return made;
}

name_change followed_file::look(clock::time_point now) {
  forget_old(now);
  const name_change found = look_at_name(now);
  if (found != name_change::none) return found;
  return restart_truncated_files() ? name_change::truncated : name_change::none;
}

name_change followed_file::look_at_name(clock::time_point now) {
  struct stat named{};
  const bool exists = ::stat(path_.c_str(), &named) == 0;
  if (!exists && errno != ENOENT && errno != ENOTDIR) {
    throw input_error(std::system_category().message(errno), position_);
  }
  if (current_ && exists && named.st_dev == current_->device && named.st_ino == current_->inode) {
    return name_change::none;
  }
  const bool had_file = current_.has_value();
  std::optional<generation> found = exists ? open_named(now) : std::nullopt;
  if (had_file) retire(now);
  current_ = std::move(found);
  if (current_) return had_file ? name_change::replaced : name_change::appeared;
  return had_file ? name_change::vanished : name_change::none;
}

// Earlier files are checked by their size only: `shred` overwrites rotated files.
bool followed_file::restart_truncated_files() {
  bool found = false;
  for (generation& each : earlier_) {
    if (size_of(each) >= each.offset) continue;
    restart(each);
    found = true;
  }
  if (current_ && is_rewritten(*current_)) {
    restart(*current_);
    found = true;
  }
  return found;
}

void followed_file::set_end() {
  for (generation& each : earlier_) each.end = size_of(each);
  if (current_) current_->end = size_of(*current_);
}

std::uint64_t followed_file::remaining_of(const generation& file) const {
  const std::uint64_t end = file.end ? *file.end : size_of(file);
  return end > file.offset ? end - file.offset : 0;
}

std::uint64_t followed_file::pending() const {
  std::uint64_t sum = current_ ? remaining_of(*current_) : 0;
  for (const generation& each : earlier_) sum += remaining_of(each);
  return sum;
}

std::size_t followed_file::read_some(std::span<std::byte> out) {
  for (generation& each : earlier_) {
    if (const std::size_t got = read_file(each, out)) return got;
  }
  return current_ ? read_file(*current_, out) : 0;
}

// Bytes read from a rewritten file are dropped: look() must report it first. The check follows the read, so that no
// truncation can happen between the two.
std::size_t followed_file::read_file(generation& file, std::span<std::byte> out) {
  if (file.end) out = out.first(std::min<std::uint64_t>(out.size(), remaining_of(file)));
  const std::size_t bytes = read_at(file.fd, out, file.offset, position_);
  if (bytes == 0 || is_rewritten(file)) return 0;
  remember(file, out.first(bytes));
  file.offset += bytes;
  file.grown = clock::now();
  position_ += bytes;
  source_ = file.source;
  return bytes;
}

// Detects a truncated or rewritten file by its size, and if it has grown again, by the bytes before the offset.
bool followed_file::is_rewritten(const generation& file) const {
  if (size_of(file) < file.offset) return true;
  std::array<std::byte, remembered_bytes> now{};
  std::size_t filled = 0;
  while (filled < file.last_size) {  // a read may be short; only a read of 0 bytes is the end
    const std::span<std::byte> room = std::span(now).first(file.last_size).subspan(filled);
    const std::size_t got = read_at(file.fd, room, file.offset - room.size(), position_);
    if (got == 0) return true;
    filled += got;
  }
  return !std::ranges::equal(std::span(now).first(filled), std::span(file.last).first(filled));
}

std::uint64_t followed_file::size_of(const generation& file) const {
  return static_cast<std::uint64_t>(status_of(file.fd, position_).st_size);
}

void followed_file::restart(generation& file) {
  file.offset = 0;
  file.last_size = 0;
  file.source = ++sources_;
}

void followed_file::remember(generation& file, std::span<const std::byte> read) {
  const std::span<const std::byte> fresh = read.last(std::min(read.size(), remembered_bytes));
  const std::size_t kept = std::min(file.last_size, remembered_bytes - fresh.size());
  std::copy_n(file.last.begin() + static_cast<std::ptrdiff_t>(file.last_size - kept), kept, file.last.begin());
  std::ranges::copy(fresh, file.last.begin() + static_cast<std::ptrdiff_t>(kept));
  file.last_size = kept + fresh.size();
}

// The earlier file is still read: its writer may not have reopened the name yet.
void followed_file::retire(clock::time_point now) {
  current_->grown = now;
  earlier_.push_back(std::move(*current_));
  current_.reset();
}

void followed_file::forget_old(clock::time_point now) {
  const auto is_finished = [&](const generation& file) {
    return size_of(file) <= file.offset && now - file.grown > patience;
  };
  while (!earlier_.empty() && is_finished(earlier_.front())) earlier_.pop_front();
  while (earlier_.size() > max_earlier && size_of(earlier_.front()) <= earlier_.front().offset) {
    earlier_.pop_front();
  }
}

}  // namespace gpuhist::io
