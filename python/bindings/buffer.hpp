// Memory of an object with the buffer protocol, where it lies.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>

namespace gpuhist::python {

/// Exports the memory of an object while it exists: a bytearray cannot be resized meanwhile, an array not be freed.
/// Constructed and destroyed with the GIL; bytes() needs none.
class exported_buffer {
 public:
  /// Throws nanobind::python_error: TypeError for an object without the buffer protocol, such as str; ValueError or
  /// BufferError for memory that is not contiguous.
  explicit exported_buffer(nanobind::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nanobind::python_error();
  }
  exported_buffer(const exported_buffer&) = delete;
  exported_buffer& operator=(const exported_buffer&) = delete;
  ~exported_buffer() { PyBuffer_Release(&view_); }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

}  // namespace gpuhist::python
