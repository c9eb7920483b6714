// Histograms of samples in device memory. gpuhist/_device.py passes addresses of memory that the library of the samples
// has allocated.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "bind.hpp"
#include "device_calls.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace gpuhist::python {
namespace {

void count(const device_bins& bins, const array_view& x, const std::optional<array_view>& y,
           const std::optional<array_view>& weights, std::uintptr_t rows, std::uintptr_t workspace, int device,
           std::uintptr_t stream) {
  const device_samples samples{.x = x, .y = y, .weights = weights};
  const nb::gil_scoped_release released;
  count_on_device(bins, samples, {.rows = rows, .workspace = workspace}, {.device = device, .stream = stream});
}

}  // namespace

void bind_device_samples(nb::module_& core) {
  nb::class_<device_bins>(core, "DeviceBins")
      .def(
          "__init__",
          [](device_bins* self, const sample_bins& x, unsigned channels, const std::optional<sample_bins>& y) {
            new (self) device_bins{.x = x, .channels = channels, .y = y};
          },
          "x"_a, "channels"_a = 1, "y"_a = nb::none())
      .def(
          "sizes",
          [](const device_bins& bins) {
            const device_sizes sizes = sizes_of(bins);
            return std::pair{sizes.values, sizes.workspace};
          },
          "Values of all rows, and bytes of the workspace.");
  core.def("check_device_support", check_device_support);
  core.def("count_on_device", count, "bins"_a, "x"_a, "y"_a.none(), "weights"_a.none(), "rows"_a, "workspace"_a,
           "device"_a, "stream"_a);
  core.def(
      "wait_for_stream",
      [](int device, std::uintptr_t stream) {
        const nb::gil_scoped_release released;
        wait_for({.device = device, .stream = stream});
      },
      "device"_a, "stream"_a);
}

}  // namespace gpuhist::python
