// Regular files and block devices, read with pread from any thread; the size that fstat reports is not trusted.
#include "io/source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

namespace gpuhist::io {
namespace {

/// For files of at least this size a larger read-ahead is worth a system call.
constexpr std::uint64_t big_file_bytes = 1U << 20U;

constexpr auto last_offset = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

}  // namespace

file_source::file_source(descriptor fd, std::uint64_t start, std::uint64_t size_hint)
    : fd_(std::move(fd)), start_(start), size_hint_(size_hint) {
  if (size_hint_ >= big_file_bytes) ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

file_source::file_source(std::shared_ptr<const remote_bytes> remote, std::uint64_t size)
    : start_(0), size_hint_(size), remote_(std::move(remote)) {}

std::size_t file_source::read_at(std::span<std::byte> out, std::uint64_t offset) const {
  if (remote_) return remote_->read_at(out, offset);
  std::size_t filled = 0;
  while (filled < out.size()) {
    const std::uint64_t here = offset + filled;
    if (here < offset || start_ > last_offset || here > last_offset - start_)
      return filled;  // beyond the largest file offset
    const ssize_t got = ::pread(fd_.get(), out.data() + filled, out.size() - filled, static_cast<off_t>(start_ + here));
    if (got == 0) {
      check_end(here);
      return filled;
    }
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw input_error("reading failed: " + std::system_category().message(errno), here);
    }
  }
  return filled;
}

// The size of some files is wrong (in /sys, for example), but it does not change while they are read.
void file_source::check_end(std::uint64_t end) const {
  struct stat now{};
  if (end >= size_hint_ || ::fstat(fd_.get(), &now) != 0 || !S_ISREG(now.st_mode)) return;
  const auto size = static_cast<std::uint64_t>(now.st_size);
  if (size >= start_ + size_hint_) return;
  throw truncated_file(start_ + size_hint_, size, end);
}

input_error truncated_file(std::uint64_t had, std::uint64_t has, std::uint64_t end) {
  return {
      "it was truncated while it was read: it had " + std::to_string(had) + " bytes, and has " + std::to_string(has),
      end};
}

void file_source::leave_offset_at(std::uint64_t offset) const noexcept {
  if (!remote_ && !fd_.owned()) ::lseek(fd_.get(), static_cast<off_t>(start_ + offset), SEEK_SET);
}

}  // namespace gpuhist::io
