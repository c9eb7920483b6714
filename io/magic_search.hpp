// Searches bytes for the magic number of a format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// Where `magic`, of two bytes or more, begins in `bytes`, from `at` on; bytes.size(): nowhere. Its first two bytes are
/// compared at many places at once: a search for the first one alone stops at one of 256 places of compressed data.
inline std::size_t find_magic(std::span<const std::byte> bytes, std::string_view magic, std::size_t at = 0) {
  constexpr std::size_t places = 64;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (; at + places + magic.size() <= text.size(); at += places) {
    const char* const first = text.data() + at;
    std::uint8_t found = 0;  // of the type of its operands, so that compilers use vectors of bytes
    for (std::size_t i = 0; i < places; ++i) {
      found |= static_cast<std::uint8_t>(static_cast<std::uint8_t>(first[i] == magic[0]) &
                                         static_cast<std::uint8_t>(first[i + 1] == magic[1]));
    }
    if (found == 0) continue;
    const std::size_t place = text.substr(at, places + magic.size() - 1).find(magic);
    if (place != std::string_view::npos) return at + place;
  }
  return std::min(text.find(magic, at), text.size());
}

/// All places where it begins. `bytes`: less than 4 GiB. Throws std::bad_alloc.
inline std::vector<std::uint32_t> places_of_magic(std::span<const std::byte> bytes, std::string_view magic) {
  std::vector<std::uint32_t> places;
  for (std::size_t at = find_magic(bytes, magic); at < bytes.size(); at = find_magic(bytes, magic, at + 1)) {
    places.push_back(static_cast<std::uint32_t>(at));
  }
  return places;
}

}  // namespace gpuhist::io
