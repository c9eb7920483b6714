#include "text.hpp"

#include <cstddef>
#include <cstdint>

namespace nb = nanobind;

namespace gpuhist::python {
namespace {

/// A range of the Unicode standard, table 3-7: sequences whose first and second byte are in these ranges.
struct sequence {
  std::uint8_t first, last, second_from, second_to;
  std::size_t size;
};
constexpr sequence sequences[] = {
    {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

std::uint8_t byte_at(std::string_view bytes, std::size_t index) { return static_cast<std::uint8_t>(bytes[index]); }

bool continues(std::string_view bytes, const sequence& kind) {
  if (bytes.size() < kind.size) return false;
  if (kind.size > 1 && (byte_at(bytes, 1) < kind.second_from || byte_at(bytes, 1) > kind.second_to)) return false;
  for (std::size_t index = 2; index < kind.size; ++index) {
    if ((byte_at(bytes, index) & 0xc0U) != 0x80U) return false;
  }
  return true;
}

/// Bytes of the sequence at the beginning; 0: it is malformed.
std::size_t sequence_size(std::string_view bytes) {
  for (const sequence& kind : sequences) {
    if (byte_at(bytes, 0) >= kind.first && byte_at(bytes, 0) <= kind.last)
      return continues(bytes, kind) ? kind.size : 0;
  }
  return 0;
}

}  // namespace

nb::str as_text(std::string_view bytes) {
  PyObject* made = PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

std::string as_name(nb::handle name) {
  nb::bytes encoded;
  if (nb::isinstance<nb::str>(name)) {
    PyObject* made = PyUnicode_EncodeFSDefault(name.ptr());
    if (made == nullptr) throw nb::python_error();
    encoded = nb::steal<nb::bytes>(made);
  } else {
    encoded = nb::cast<nb::bytes>(name);
  }
  return {encoded.c_str(), encoded.size()};
}

void append_utf8(std::string& text, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = sequence_size(bytes);
    text += size == 0 ? "\xef\xbf\xbd" : bytes.substr(0, size);
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
}

}  // namespace gpuhist::python
