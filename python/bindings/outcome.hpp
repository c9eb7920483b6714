// How a run over files ended, for Python.
#pragma once

#include <nanobind/nanobind.h>
#include <gpuhist/files.hpp>

namespace gpuhist::python {

/// A tuple of the results, the status as a string, and the warning. Needs the GIL.
[[nodiscard]] nanobind::object as_object(file_outcome outcome);

}  // namespace gpuhist::python
