// gpuhist::error as the exceptions of gpuhist/_errors.py: one class for each kind, with the text of the library.
#include <gpuhist/errors.hpp>

#include <array>
#include <exception>

#include "bind.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace gpuhist::python {
namespace {

/// Classes by errc, from 1.
constexpr std::array class_names{"GpuhistError",  "InvalidArgumentError", "MisuseError",
                                 "ClosedError",   "EngineError",          "OutOfMemoryError",
                                 "SystemFailure", "InternalError",        "CallbackError"};

void raise(const error& failure) {
  const auto kind = static_cast<std::size_t>(failure.kind());
  const char* name = kind < class_names.size() ? class_names.at(kind) : class_names[0];
  const nb::object type = nb::module_::import_("gpuhist._errors").attr(name);
  PyErr_SetObject(type.ptr(), as_text(failure.what()).ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const error& failure) {
    raise(failure);
  }
}

}  // namespace

void bind_errors(nb::module_& core) {
  nb::register_exception_translator(translate);
  core.def("must_end_at_once", &must_end_at_once);
}

}  // namespace gpuhist::python
