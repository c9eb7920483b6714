// The header of an lzip member: "LZIP", the version, and the code of the dictionary size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuhist::io {

inline constexpr std::string_view lzip_magic("LZIP");
inline constexpr std::size_t lzip_header_bytes = 6;

/// The dictionary size of a code: 4 KiB to 512 MiB. Nothing for a code that the format does not define.
inline std::optional<std::uint64_t> lzip_dictionary_bytes(std::byte code) {
  const unsigned log = std::to_integer<unsigned>(code) & 0x1FU;
  const unsigned sixteenths = std::to_integer<unsigned>(code) >> 5U;
  if (log < 12 || log > 29 || (log == 12 && sixteenths != 0)) return std::nullopt;
  const std::uint64_t base = std::uint64_t{1} << log;
  return base - base / 16 * sixteenths;
}

}  // namespace gpuhist::io
