// The fields of the list of members of a 7z archive (7zFormat.txt of the LZMA SDK).
#pragma once

#include "io/frame_magic.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

enum class seven_zip_mark : std::uint8_t {
  end = 0,
  header = 1,
  main_streams = 4,
  files = 5,
  pack_info = 6,
  unpack_info = 7,
  texts_info = 8,
  size = 9,
  crc = 10,
  folders = 11,
  unpack_sizes = 12,
  number_of_texts = 13,
  empty_streams = 14,
  empty_files = 15,
  names = 17,
  created = 18,
  accessed = 19,
  modified = 20,
  attributes = 21,
  encoded_header = 23,
  padding = 25,
};

/// The list is damaged, or has something that this reader does not know.
struct unknown_seven_zip_list {};

/// Bits are stored from the highest one of each byte on.
inline bool seven_zip_bit(std::span<const std::byte> bits, std::size_t number) {
  return (std::to_integer<unsigned>(bits[number / 8]) >> (7 - number % 8) & 1U) != 0;
}

/// The fields of a list, in order. Each call throws unknown_seven_zip_list if the list ends before.
class seven_zip_fields {
 public:
  explicit seven_zip_fields(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::span<const std::byte> bytes(std::uint64_t size) {
    if (size > rest_.size()) throw unknown_seven_zip_list();
    const auto taken = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  std::uint8_t byte() { return std::to_integer<std::uint8_t>(bytes(1).front()); }
  std::uint32_t crc() { return static_cast<std::uint32_t>(little_endian(bytes(4))); }

  // As many leading ones in the first byte as bytes follow; its other bits are the highest ones of the number.
  std::uint64_t number() {
    const unsigned first = byte();
    std::uint64_t value = 0;
    unsigned follow = 0;
    for (unsigned bit = 0x80; bit != 0 && (first & bit) != 0; bit >>= 1U) {
      value |= std::uint64_t{byte()} << (8 * follow);
      ++follow;
    }
    if (follow < 7) value |= std::uint64_t{first & ((0x80U >> follow) - 1)} << (8 * follow);
    return value;
  }

  /// A number of objects, each of which takes at least one byte of the list, or of the file.
  std::size_t count(std::uint64_t most) {
    const std::uint64_t value = number();
    if (value > most) throw unknown_seven_zip_list();
    return static_cast<std::size_t>(value);
  }

  [[nodiscard]] bool take(seven_zip_mark wanted) {
    if (rest_.empty() || rest_.front() != static_cast<std::byte>(wanted)) return false;
    rest_ = rest_.subspan(1);
    return true;
  }
  void expect(seven_zip_mark wanted) {
    if (!take(wanted)) throw unknown_seven_zip_list();
  }

  std::span<const std::byte> rest() { return bytes(rest_.size()); }
  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

  /// Checksums, where they are defined.
  std::vector<std::optional<std::uint32_t>> crcs(std::size_t number) {
    std::vector<bool> defined(number, true);
    if (byte() == 0) {
      const auto bits = bytes((number + 7) / 8);
      for (std::size_t i = 0; i < number; ++i) defined[i] = seven_zip_bit(bits, i);
    }
    std::vector<std::optional<std::uint32_t>> found(number);
    for (std::size_t i = 0; i < number; ++i) {
      if (defined[i]) found[i] = crc();
    }
    return found;
  }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace gpuhist::io
