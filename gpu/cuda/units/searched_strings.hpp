// Strings that a device searches in lines, and the tables for it.
//
// A filter finds places where a string may be. It is Shift-And (Baeza-Yates and Gonnet 1992): each string has a field
// of 8, 4 or 2 bits in a state, one for each byte of its window, which is a part of it with rare bytes. For each byte
// of the text, `state = (state << 1 | begins) & filter[byte]`, and a window ends at the byte if a bit of `ends` is set:
//
//     strings    [ERRO]R    con[nect]ion
//     text       E  R  R  O   R
//     field 0    1  2  4  8   0          8: the window ends here, and the string is compared with the text
//
// A string that ignores case is of ASCII. Letters k and s are also U+212A (3 bytes) and U+017F (2 bytes), as in RE2, so
// they are in no window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gpuhist::gpu::cuda::units {

struct searched_string {
  std::string text;
  bool ignores_case = false;  ///< of letters of ASCII; then all bytes are ASCII

  /// Bytes of the longest text that it matches.
  [[nodiscard]] std::size_t longest() const;

  bool operator==(const searched_string&) const = default;
};

/// Plain data, which is copied to devices.
struct searched_strings {
  static constexpr unsigned max_strings = 16;  ///< the bits of a number of a row
  static constexpr unsigned max_bytes = 255;   ///< of a string

  struct entry {
    std::uint16_t at = 0;        ///< of its first byte in `bytes`
    std::uint8_t size = 0;       ///< bytes of it
    std::uint8_t window = 0;     ///< its first byte that is in the window
    std::uint8_t in_window = 0;  ///< bytes
    std::uint8_t ignores_case = 0;
  };

  std::uint32_t filter[256]{};  ///< of a byte value: the bits that it leaves set
  std::uint32_t begins = 0;
  std::uint32_t ends = 0;
  std::uint32_t field_bits = 0;
  std::uint32_t count = 0;
  std::uint32_t longest = 0;  ///< bytes of the longest text that one of them matches
  entry strings[max_strings]{};
  std::uint8_t bytes[max_strings * max_bytes]{};  ///< letters of a string that ignores case are lower case

  /// Nothing: there are none or too many, one is empty or too long, has the delimiter, or has no window.
  static std::optional<searched_strings> make(std::span<const searched_string> of, std::byte delimiter);
};

}  // namespace gpuhist::gpu::cuda::units
