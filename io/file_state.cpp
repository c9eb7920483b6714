#include "io/file_state.hpp"

#include "io/checksum.hpp"
#include "io/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace gpuhist::io {
namespace {

constexpr std::size_t edge_bytes = std::size_t{64} << 10U;
constexpr std::uint64_t largest_without_ends = std::uint64_t{1} << 20U;

// False: errno is the cause.
bool read_end(int fd, char* to, std::uint64_t offset) {
  for (std::size_t got = 0; got < edge_bytes;) {
    const ssize_t size = ::pread(fd, to + got, edge_bytes - got, static_cast<off_t>(offset + got));
    if (size < 0 && errno == EINTR) continue;
    if (size == 0) errno = EIO;  // the file was truncated meanwhile
    if (size <= 0) return false;
    got += static_cast<std::size_t>(size);
  }
  return true;
}

// Precondition: the file has two separate ends. Nothing: errno is the cause.
std::optional<std::string> fingerprint_of_ends(int fd, std::uint64_t size) {
  std::string ends(2 * edge_bytes, '\0');
  if (!read_end(fd, ends.data(), 0)) return std::nullopt;
  if (!read_end(fd, ends.data() + edge_bytes, size - edge_bytes)) return std::nullopt;
  return hash_text(ends);
}

// A file that becomes shorter meanwhile has the fingerprint of what was read, which differs.
std::optional<std::string> fingerprint_of_all(int fd) {
  constexpr std::size_t block_bytes = std::size_t{1} << 20U;
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::string block(block_bytes, '\0');
  running_hash hash;
  for (;;) {
    const ssize_t size = ::read(fd, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    if (size == 0) return hash.text();
    hash.add({block.data(), static_cast<std::size_t>(size)});
  }
}

bool has_only_ends(std::uint64_t bytes, fingerprinted part) {
  return part != fingerprinted::all && bytes > largest_without_ends;
}

}  // namespace

file_state state_of(const struct stat& found) {
  constexpr std::int64_t second = 1'000'000'000;
  return {.bytes = static_cast<std::uint64_t>(found.st_size),
          .modified = (std::int64_t{found.st_mtim.tv_sec} * second) + found.st_mtim.tv_nsec,
          .is_regular = S_ISREG(found.st_mode)};
}

std::optional<file_state> state_of(const std::string& path, fingerprinted part) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  file_state made = state_of(found);
  if (!made.is_regular || !has_fingerprint(made.bytes, part)) return made;
  int opened = 0;
  do opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  while (opened < 0 && errno == EINTR);
  const descriptor file(opened);
  if (!file) return std::nullopt;
  const std::optional<std::string> fingerprint =
      has_only_ends(made.bytes, part) ? fingerprint_of_ends(file.get(), made.bytes) : fingerprint_of_all(file.get());
  if (!fingerprint) return std::nullopt;
  made.fingerprint = *fingerprint;
  return made;
}

bool has_fingerprint(std::uint64_t bytes, fingerprinted part) {
  using enum fingerprinted;
  return part == all || part == ends_or_all || (part == ends && bytes > largest_without_ends);
}

bool has_changed(const std::string& path, const file_state& counted) {
  const std::optional<file_state> now = state_of(path);
  if (!now) return false;
  if (now->bytes != counted.bytes || now->modified != counted.modified) return true;
  return state_of(path, fingerprinted::ends_or_all) != counted;
}

}  // namespace gpuhist::io
