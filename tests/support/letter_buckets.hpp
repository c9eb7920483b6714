// The buckets of the letters as in the documentation.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gpuhist::test {

/// 0 to 6, and 7 for other bytes.
inline unsigned bucket_by_name(std::uint8_t byte) {
  constexpr std::array<std::string_view, 7> names{"abcd", "efgh", "ijkl", "mnop", "qrst", "uvwx", "yz"};
  for (unsigned k = 0; k < names.size(); ++k) {
    if (names[k].find(static_cast<char>(byte)) != std::string_view::npos) return k;
  }
  return 7;
}

}  // namespace gpuhist::test
