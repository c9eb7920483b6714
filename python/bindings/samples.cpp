// Histograms of samples that are not bytes, in host memory.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <gpuhist/samples.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "array_view.hpp"
#include "bind.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace gpuhist::python {
namespace {

/// A new NumPy array with the values.
template <class Value>
nb::object as_array(std::vector<Value> values) {
  auto kept = std::make_unique<std::vector<Value>>(std::move(values));
  Value* data = kept->data();
  const std::size_t size = kept->size();
  const nb::capsule owner(kept.release(), [](void* last) noexcept { delete static_cast<std::vector<Value>*>(last); });
  return nb::cast(nb::ndarray<nb::numpy, Value, nb::ndim<1>>(data, {size}, owner));
}

/// A row of `size` zeros that `add` adds to, without the GIL.
template <class Value, class Add>
nb::object row_of(std::size_t size, const Add& add) {
  std::vector<Value> row(size);
  {
    const nb::gil_scoped_release released;
    add(std::span<Value>(row));
  }
  return as_array(std::move(row));
}

nb::object count(const sample_bins& bins, const array_view& samples, unsigned threads) {
  return row_of<std::uint64_t>(samples.channels * bins.row_size(), [&](std::span<std::uint64_t> rows) {
    count_samples(bins, samples.samples(), rows, threads);
  });
}

nb::object sum(const sample_bins& bins, const array_view& samples, const array_view& weights, unsigned threads) {
  return row_of<double>(samples.channels * bins.row_size(), [&](std::span<double> rows) {
    sum_samples(bins, samples.samples(), weights.weights(), rows, threads);
  });
}

nb::object count_pairs(const sample_bins& x_bins, const array_view& x, const sample_bins& y_bins, const array_view& y,
                       unsigned threads) {
  const joint_samples joint{x_bins, x.samples(), y_bins, y.samples()};
  return row_of<std::uint64_t>(joint.row_size(),
                               [&](std::span<std::uint64_t> row) { count_joint(joint, row, threads); });
}

nb::object sum_pairs(const sample_bins& x_bins, const array_view& x, const sample_bins& y_bins, const array_view& y,
                     const array_view& weights, unsigned threads) {
  const joint_samples joint{x_bins, x.samples(), y_bins, y.samples()};
  return row_of<double>(joint.row_size(),
                        [&](std::span<double> row) { sum_joint(joint, weights.weights(), row, threads); });
}

void bind_bins(nb::module_& core) {
  nb::class_<sample_bins>(core, "SampleBins")
      .def_prop_ro("bins", &sample_bins::bins)
      .def("edges", [](const sample_bins& made) { return as_array(made.bin_edges()); });
  core.def("even_bins", [](const std::string& type, std::uint32_t bins, double lower, double upper, bool typed) {
    return sample_bins::even(type_named(type), bins, lower, upper, typed ? even_rule::numpy_typed : even_rule::numpy);
  });
  core.def("bins_between", [](const std::string& type, const std::vector<double>& edges) {
    return sample_bins::edges(type_named(type), edges);
  });
  core.def("integer_bins",
           [](const std::string& type, std::uint32_t bins) { return sample_bins::integers(type_named(type), bins); });
}

}  // namespace

void bind_samples(nb::module_& core) {
  bind_bins(core);
  nb::class_<array_view>(core, "View")
      .def(
          "__init__",
          [](array_view* self, std::uintptr_t address, std::uint64_t frames, unsigned channels, std::int64_t stride,
             const std::string& type) { new (self) array_view{address, frames, channels, stride, type}; },
          "address"_a, "frames"_a, "channels"_a, "stride"_a, "type"_a);
  core.def("count_samples", count);
  core.def("sum_samples", sum);
  core.def("count_pairs", count_pairs);
  core.def("sum_pairs", sum_pairs);
}

}  // namespace gpuhist::python
