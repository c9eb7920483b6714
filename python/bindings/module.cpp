// The extension module of the Python package.
#include "bind.hpp"

NB_MODULE(_core, core) {
  using namespace gpuhist::python;
  core.doc() = "Internal: the interface of the C++ library. Use the package gpuhist.";
  bind_errors(core);
  bind_results(core);
  bind_arrow(core);
  bind_dlpack(core);
  bind_samples(core);
  bind_device_samples(core);
  bind_windows(core);
  bind_options(core);
  bind_counter(core);
  bind_files(core);
  bind_streams(core);
}
