// Texts of what the library reports: names of inputs are any bytes, and so are messages that contain them. They become
// texts of Python, or valid UTF-8.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace gpuhist::python {

/// As os.fsdecode() does: bytes that are not UTF-8 become surrogates, so that os.fsencode() restores them. Needs the
/// GIL. Throws nanobind::python_error.
[[nodiscard]] nanobind::str as_text(std::string_view bytes);

/// The bytes of a name: a str as os.fsencode() does, or bytes. Needs the GIL. Throws nanobind::python_error.
[[nodiscard]] std::string as_name(nanobind::handle name);

/// Appends the bytes; each byte that begins no valid sequence becomes U+FFFD.
void append_utf8(std::string& text, std::string_view bytes);

}  // namespace gpuhist::python
