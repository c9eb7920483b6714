// Builds tar archives, header by header (POSIX.1-1988, ustar).
#pragma once

#include <cstddef>
#include <cstdio>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::test {

/// The header block with a valid checksum.
inline std::string with_checksum(std::string block) {
  block.replace(148, 8, "        ");
  const unsigned sum = std::accumulate(block.begin(), block.end(), 0U, [](unsigned total, char each) {
    return total + static_cast<unsigned char>(each);
  });
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  return block.replace(148, 7, text, 7);
}

/// A header block: `type` is '0' for files, '1' hard links, '2' symbolic links, '5' directories. Without `magic` it is
/// a header of the seventh edition of Unix.
inline std::string tar_header(std::string_view name, std::size_t size, char type = '0', bool magic = true) {
  std::string block(512, '\0');
  const auto put = [&block](std::size_t at, std::string_view text) { block.replace(at, text.size(), text); };
  const auto octal = [](std::size_t value, int digits) {
    char text[16];
    std::snprintf(text, sizeof text, "%0*zo", digits, value);
    return std::string(text);
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, octal(size, 11));
  put(136, "00000000000");
  block[156] = type;
  if (type == '1' || type == '2') put(157, "a");  // target of the link
  if (magic) put(257, std::string_view("ustar\00000", 8));
  return with_checksum(block);
}

/// A member: header, bytes and padding.
inline std::string tar_member(std::string_view name, std::string_view text) {
  std::string whole = tar_header(name, text.size()) + std::string(text);
  whole.resize((whole.size() + 511) / 512 * 512);
  return whole;
}

inline std::string tar_end() { return std::string(1024, '\0'); }

}  // namespace gpuhist::test
