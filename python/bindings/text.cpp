#include "text.hpp"

namespace nb = nanobind;

namespace gpuhist::python {

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

}  // namespace gpuhist::python
