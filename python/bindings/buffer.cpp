#include "buffer.hpp"

namespace gpuhist::python {

exported_buffer::exported_buffer(nanobind::handle object) {
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nanobind::python_error();
}

}  // namespace gpuhist::python
