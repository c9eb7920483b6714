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

std::optional<file_key> key_from(int folder, const char* path, int flags) {
  struct statx found{};
  if (::statx(folder, path, flags, STATX_TYPE | STATX_INO | STATX_BTIME, &found) != 0) return std::nullopt;
  if (!S_ISREG(found.stx_mode)) return std::nullopt;
  constexpr unsigned bits_of_minor = 32;
  constexpr std::int64_t nanoseconds = 1'000'000'000;  // of a second
  const bool is_born = (found.stx_mask & STATX_BTIME) != 0;
  return file_key{.device = (std::uint64_t{found.stx_dev_major} << bits_of_minor) | found.stx_dev_minor,
                  .inode = found.stx_ino,
                  .born = is_born ? found.stx_btime.tv_sec * nanoseconds + found.stx_btime.tv_nsec : 0};
}

}  // namespace

std::optional<file_key> key_of(const std::string& path) { return key_from(AT_FDCWD, path.c_str(), 0); }

std::optional<file_key> followed_file::current_key() const {
  return current_ ? key_from(current_->fd.get(), "", AT_EMPTY_PATH) : std::nullopt;
}

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
  const auto key = leaves_out_ ? key_from(fd.get(), "", AT_EMPTY_PATH) : std::nullopt;
  if (key && leaves_out_(path_, *key)) return std::nullopt;
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
  std::optional<generation> found = exists ? take_earlier(named) : std::nullopt;
  if (exists && !found) found = open_named(now);
  if (had_file) retire(now);
  current_ = std::move(found);
  if (current_) return had_file ? name_change::replaced : name_change::appeared;
  return had_file ? name_change::vanished : name_change::none;
}

// A file that has got its name back.
std::optional<followed_file::generation> followed_file::take_earlier(const struct stat& named) {
  const auto found = std::ranges::find_if(
      earlier_, [&](const generation& each) { return each.device == named.st_dev && each.inode == named.st_ino; });
  if (found == earlier_.end()) return std::nullopt;
  std::optional<generation> taken = std::move(*found);
  earlier_.erase(found);
  return taken;
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
  const std::size_t head_room = remembered_head - file.head.size();
  file.head.append(reinterpret_cast<const char*>(out.data()), std::min(bytes, head_room));
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

followed_file::read_text followed_file::text_of(const generation& file) {
  return {.bytes = file.offset, .head = file.head, .last = file.last, .last_size = file.last_size};
}

// A short text may be the beginning of another log, too: then only a file of the same size is a copy.
copied_text followed_file::compare(const descriptor& copy, const read_text& with) {
  constexpr std::uint64_t short_text = 256;
  const auto size = static_cast<std::uint64_t>(status_of(copy, 0).st_size);
  const auto is_at = [&](std::uint64_t offset, std::span<const std::byte> expected) {
    std::string found(expected.size(), '\0');
    const std::span<std::byte> room = std::as_writable_bytes(std::span(found));
    std::size_t filled = 0;
    while (filled < room.size()) {
      const std::size_t got = read_at(copy, room.subspan(filled), offset + filled, 0);
      if (got == 0) return false;
      filled += got;
    }
    return std::ranges::equal(room, expected);
  };
  const std::span<const std::byte> head = std::as_bytes(std::span(with.head));
  if (with.bytes == 0 || !is_at(0, head.first(std::min<std::uint64_t>(size, head.size())))) return copied_text::none;
  if (size < with.bytes) return copied_text::perhaps;
  if (size > with.bytes && with.bytes < short_text) return copied_text::none;
  return is_at(with.bytes - with.last_size, std::span(with.last).first(with.last_size)) ? copied_text::all
                                                                                        : copied_text::none;
}

copied_text followed_file::copy_in(const std::string& path) const {
  const descriptor copy(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!copy) return copied_text::none;
  std::deque<read_text> all = restarted_;
  for (const generation& each : earlier_) all.push_back(text_of(each));
  if (current_) all.push_back(text_of(*current_));
  copied_text found = copied_text::none;
  for (const read_text& each : all) {
    found = std::max(found, compare(copy, each));
  }
  return found;
}

void followed_file::restart(generation& file) {
  restarted_.push_back(text_of(file));
  if (restarted_.size() > max_restarted) restarted_.pop_front();
  file.head.clear();
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
