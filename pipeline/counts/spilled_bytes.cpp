#include "pipeline/counts/spilled_bytes.hpp"

#include "io/file_access.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace gpuhist::pipeline {
namespace {

[[noreturn]] void throw_spill_error(const spill_folder& folder, int error) {
  throw spill_error(folder.content + " need a temporary file in " + folder.path + ": " +
                    std::system_category().message(error) + "; make room there, or give another --temporary-folder");
}

// If it cannot be created, the descriptor is empty and errno is set.
io::descriptor temporary_file(const std::string& folder) {
  io::descriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600));
  if (file) return file;
  // the filesystem does not support O_TMPFILE
  std::string name = folder + "/gpuhist-XXXXXX";
  file = io::descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (file) ::unlink(name.c_str());
  return file;
}

}  // namespace

std::uint64_t spilled_bytes::append(std::string_view piece) {
  const std::scoped_lock lock(mutex_);
  if (!folder_.path.empty() && !tail_.empty() && tail_.size() + piece.size() > in_memory_) spill();
  const std::uint64_t at = file_bytes_ + tail_.size();
  tail_ += piece;
  return at;
}

// Under the lock. If the write fails, all bytes stay in memory.
void spilled_bytes::spill() {
  if (!file_) file_ = temporary_file(folder_.path);
  if (!file_ || !io::write_at(file_.get(), tail_, file_bytes_)) throw_spill_error(folder_, errno);
  file_bytes_ += tail_.size();
  tail_.clear();
}

void spilled_bytes::cut_back(std::uint64_t length) {
  const std::scoped_lock lock(mutex_);
  tail_.resize(length > file_bytes_ ? std::min<std::uint64_t>(length - file_bytes_, tail_.size()) : 0);
  file_bytes_ = std::min(file_bytes_, length);
}

std::uint64_t spilled_bytes::size() const {
  const std::scoped_lock lock(mutex_);
  return file_bytes_ + tail_.size();
}

std::string spilled_bytes::read(std::uint64_t from, std::size_t length) const {
  {
    const std::scoped_lock lock(mutex_);
    if (from >= file_bytes_) return tail_.substr(std::min<std::uint64_t>(from - file_bytes_, tail_.size()), length);
    // the file may be longer: cut_back() leaves bytes in it
    length = static_cast<std::size_t>(std::min<std::uint64_t>(length, file_bytes_ - from));
  }
  std::string out(length, '\0');
  std::size_t have = 0;
  while (have < length) {
    const ssize_t count = ::pread(file_.get(), out.data() + have, length - have, static_cast<off_t>(from + have));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw std::system_error(errno, std::system_category(), "cannot read the temporary file with " + folder_.content);
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  out.resize(have);
  return out;
}

std::size_t spilled_bytes::held() const {
  const std::scoped_lock lock(mutex_);
  return tail_.size();
}

}  // namespace gpuhist::pipeline
