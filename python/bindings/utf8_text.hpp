// Any bytes as valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace gpuhist::python {

/// Appends the bytes; each byte that begins no valid sequence becomes U+FFFD.
void append_utf8(std::string& text, std::string_view bytes);

}  // namespace gpuhist::python
