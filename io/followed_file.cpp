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

// A writer keeps a renamed file open until it is told to open its log anew: logrotate does that at once, with
// `delaycompress` because some programs take their time.
constexpr auto patience = std::chrono::minutes(5);
constexpr std::size_t max_earlier = 4;

// `position`: of the fault, for people.
struct stat status_of(const descriptor& fd, std::uint64_t position) {
  struct stat found{};
  if (::fstat(fd.get(), &found) != 0) {
    throw input_error("its size cannot be asked for: " + std::system_category().message(errno), position);
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

// Opened without waiting: the name may be a FIFO's by now.
std::optional<followed_file::generation> followed_file::open_named(clock::time_point now) const {
  descriptor fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw input_error(std::system_category().message(errno), position_);
  }
  const struct stat found = status_of(fd, position_);
  if (!S_ISREG(found.st_mode)) throw input_error("is no regular file: only those are followed", position_);
  generation made;
  made.fd = std::move(fd);
  made.device = found.st_dev;
  made.inode = found.st_ino;
  made.grown = now;
  return made;
}

name_change followed_file::look(clock::time_point now) {
  forget_old(now);
  const name_change found = look_at_name(now);
  if (found != name_change::none) return found;
  return begin_truncated_again() ? name_change::truncated : name_change::none;
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
  const bool had_one = current_.has_value();
  std::optional<generation> found = exists ? open_named(now) : std::nullopt;
  if (had_one) retire(now);
  current_ = std::move(found);
  if (current_) return had_one ? name_change::replaced : name_change::appeared;
  return had_one ? name_change::vanished : name_change::none;
}

// Of those that had the name only by their size: `shred` overwrites what is rotated out.
bool followed_file::begin_truncated_again() {
  bool found = false;
  for (generation& each : earlier_) {
    if (size_of(each) >= each.offset) continue;
    begin_again(each);
    found = true;
  }
  if (current_ && begins_anew(*current_)) {
    begin_again(*current_);
    found = true;
  }
  return found;
}

void followed_file::set_end() {
  for (generation& each : earlier_) each.end = size_of(each);
  if (current_) current_->end = size_of(*current_);
}

std::uint64_t followed_file::left_of(const generation& it) const {
  const std::uint64_t end = it.end ? *it.end : size_of(it);
  return end > it.offset ? end - it.offset : 0;
}

std::uint64_t followed_file::pending() const {
  std::uint64_t sum = current_ ? left_of(*current_) : 0;
  for (const generation& each : earlier_) sum += left_of(each);
  return sum;
}

std::size_t followed_file::read_some(std::span<std::byte> out) {
  for (generation& each : earlier_) {
    if (const std::size_t got = read_of(each, out)) return got;
  }
  return current_ ? read_of(*current_, out) : 0;
}

// What was read of a file that begins anew is dropped: look() has to say so first. Looked at after the reading, so that
// no truncation comes in between.
std::size_t followed_file::read_of(generation& from, std::span<std::byte> out) {
  if (from.end) out = out.first(std::min<std::uint64_t>(out.size(), left_of(from)));
  const std::size_t bytes = read_at(from.fd, out, from.offset, position_);
  if (bytes == 0 || begins_anew(from)) return 0;
  remember(from, out.first(bytes));
  from.offset += bytes;
  from.grown = clock::now();
  position_ += bytes;
  return bytes;
}

// By its size, and where it has grown again since by what stands before the place that was read up to.
bool followed_file::begins_anew(const generation& it) const {
  if (size_of(it) < it.offset) return true;
  std::array<std::byte, remembered_bytes> now{};
  std::size_t filled = 0;
  while (filled < it.last_size) {  // a read may be short; only one of nothing is the end
    const std::span<std::byte> room = std::span(now).first(it.last_size).subspan(filled);
    const std::size_t got = read_at(it.fd, room, it.offset - room.size(), position_);
    if (got == 0) return true;
    filled += got;
  }
  return !std::ranges::equal(std::span(now).first(filled), std::span(it.last).first(filled));
}

std::uint64_t followed_file::size_of(const generation& it) const {
  return static_cast<std::uint64_t>(status_of(it.fd, position_).st_size);
}

void followed_file::begin_again(generation& it) {
  it.offset = 0;
  it.last_size = 0;
}

void followed_file::remember(generation& of, std::span<const std::byte> read) {
  const std::span<const std::byte> fresh = read.last(std::min(read.size(), remembered_bytes));
  const std::size_t kept = std::min(of.last_size, remembered_bytes - fresh.size());
  std::copy_n(of.last.begin() + static_cast<std::ptrdiff_t>(of.last_size - kept), kept, of.last.begin());
  std::ranges::copy(fresh, of.last.begin() + static_cast<std::ptrdiff_t>(kept));
  of.last_size = kept + fresh.size();
}

// What had the name is read on: whoever writes to it may not know yet.
void followed_file::retire(clock::time_point now) {
  current_->grown = now;
  earlier_.push_back(std::move(*current_));
  current_.reset();
}

void followed_file::forget_old(clock::time_point now) {
  const auto is_done = [&](const generation& it) { return size_of(it) <= it.offset && now - it.grown > patience; };
  while (!earlier_.empty() && is_done(earlier_.front())) earlier_.pop_front();
  while (earlier_.size() > max_earlier && size_of(earlier_.front()) <= earlier_.front().offset) {
    earlier_.pop_front();
  }
}

}  // namespace gpuhist::io
