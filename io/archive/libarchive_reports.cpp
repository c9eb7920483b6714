#include "io/archive/libarchive_reports.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace gpuhist::io {
namespace {

struct rewording {
  std::string_view begin;
  std::string_view clause;
};

// The rest of these messages, values in parentheses or after a colon, is kept.
constexpr std::array rewordings = {
    rewording{"ZIP uncompressed data is wrong size", "has a wrong size after decompression"},
    rewording{"ZIP compressed data is wrong size", "has compressed data of a wrong size"},
    rewording{"ZIP bad CRC", "does not match its CRC"},
    rewording{"7-Zip bad CRC", "does not match its CRC"},
    rewording{"Incorrect file header signature", "has no header where the next member should begin"},
};

// Removes " (-5)" and "(-5)" at the end.
std::string_view without_code(std::string_view text) {
  if (!text.ends_with(')')) return text;
  const std::size_t open = text.rfind('(');
  if (open == std::string_view::npos) return text;
  const std::string_view code = text.substr(open + 1, text.size() - open - 2);
  if (code.empty() || code.find_first_not_of("-0123456789") != std::string_view::npos) return text;
  text.remove_suffix(text.size() - open);
  if (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::string_view without_end(std::string_view message) {
  while (message.ends_with('\n') || message.ends_with(' ')) message.remove_suffix(1);
  return message;
}

}  // namespace

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

bool is_short(std::string_view message) {
  message = without_end(message);
  return message.empty() || message.starts_with("Truncated") || message.ends_with("(-5)");  // -5: of zlib
}

message_meaning meaning_of(std::string_view message) {
  const auto says = [message](std::string_view word) { return message.find(word) != std::string_view::npos; };
  const bool is_of_method = says("codec") || message.starts_with("Unsupported filter") ||
                            message.starts_with("Unsupported ZIP compression method");
  if (is_of_method) {
    return {.kind = failure_kind::refused,
            .remedy = "gpuhist does not support this method: try 7z x -so FILE | gpuhist"};
  }
  return {.kind = says("supported") ? failure_kind::refused : failure_kind::damaged};
}

std::string clause_of(std::string_view message, bool input_ended) {
  message = without_end(message);
  if (input_ended && is_short(message)) return "ends early";
  if (message.empty()) return "cannot be read";
  message = without_code(message);
  if (message.ends_with("ecompression failed")) return "its data does not decode";
  for (const rewording& each : rewordings) {
    if (message.starts_with(each.begin)) {
      return std::string(each.clause) + std::string(message.substr(each.begin.size()));
    }
  }
  std::string clause(message);
  constexpr std::string_view plural = " 1 bytes";  // style-ok: as libarchive prints it
  if (const std::size_t at = clause.find(plural); at != std::string::npos) clause.erase(at + plural.size() - 1, 1);
  return clause;
}

}  // namespace gpuhist::io
