// The encodings of text that are converted to UTF-8 before it is counted.
#pragma once

#include <cstdint>

namespace gpuhist::io {

enum class text_encoding : std::uint8_t {
  utf8,     ///< text is counted as it is
  by_mark,  ///< UTF-16 if it begins with the byte order mark of UTF-16, else as it is
  utf16,    ///< in the byte order of its mark, else in little endian
  utf16le,
  utf16be,
};

}  // namespace gpuhist::io
