// The parts of the extension module `gpuhist._core`. Each function adds its types and functions to the module. The
// public interface is in python/gpuhist/*.py, which documents it.
#pragma once

#include <nanobind/nanobind.h>

namespace gpuhist::python {

void bind_errors(nanobind::module_& core);
void bind_options(nanobind::module_& core);
void bind_results(nanobind::module_& core);
void bind_arrow(nanobind::module_& core);
void bind_dlpack(nanobind::module_& core);
void bind_samples(nanobind::module_& core);
void bind_device_samples(nanobind::module_& core);
void bind_windows(nanobind::module_& core);
void bind_counter(nanobind::module_& core);
void bind_files(nanobind::module_& core);
void bind_streams(nanobind::module_& core);

}  // namespace gpuhist::python
