#include "io/archive/entry_fields.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <cstring>

namespace gpuhist::io {

std::string path_of(archive_entry* entry) {
  if (const char* stored = ::archive_entry_pathname(entry)) return stored;
  if (const char* utf8 = ::archive_entry_pathname_utf8(entry)) return utf8;
  return {};
}

std::string_view kind_name(unsigned type) {
  switch (type) {
    case AE_IFDIR:
      return "directory";
    case AE_IFLNK:
      return "symbolic link";
    case AE_IFCHR:
    case AE_IFBLK:
      return "device";
    case AE_IFIFO:
      return "FIFO";
    case AE_IFSOCK:
      return "socket";
    default:
      return "entry of an unknown kind";
  }
}

skipped_kind kind_of(unsigned type) {
  if (type == AE_IFDIR) return skipped_kind::directory;
  return type == AE_IFLNK ? skipped_kind::link : skipped_kind::special;
}

std::uint64_t target_bytes(archive_entry* link) {
  const char* const target = ::archive_entry_symlink(link);
  return target == nullptr ? 0 : std::strlen(target);
}

bool could_be_target(archive_entry* link, std::uint64_t size) {
  constexpr std::uint64_t longest = 4096;
  return size <= longest && target_bytes(link) + 1 >= size;
}

std::optional<std::uint64_t> sparse_data_end(archive_entry* entry) {
  if (::archive_entry_sparse_count(entry) == 0) return std::nullopt;  // the call may drop the list
  ::archive_entry_sparse_reset(entry);
  std::uint64_t end = 0;
  std::int64_t offset = 0;
  std::int64_t length = 0;
  while (::archive_entry_sparse_next(entry, &offset, &length) == ARCHIVE_OK) {
    if (length > 0) end = static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(length);
  }
  return end;
}

}  // namespace gpuhist::io
