// Tensors of other libraries, imported by DLPack without a copy.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bind.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace gpuhist::python {
namespace {

using array = nb::ndarray<nb::ro>;

struct tensor {
  array imported;
};

/// The name that NumPy and the tensor libraries have for a type, such as "float32"; for a type that has none here, its
/// code of DLPack.
std::string name_of(nb::dlpack::dtype type) {
  const std::string bits = std::to_string(type.bits);
  if (type.lanes != 1) return "DLPack " + std::to_string(type.code) + " of " + bits + " bits and several lanes";
  switch (type.code) {
    case 0:
      return "int" + bits;
    case 1:
      return "uint" + bits;
    case 2:
      return "float" + bits;
    case 4:
      return "bfloat" + bits;
    case 5:
      return "complex" + bits;
    case 6:
      return "bool";
    default:
      return "DLPack " + std::to_string(type.code) + " of " + bits + " bits";
  }
}

template <class Value>
std::vector<std::int64_t> by_axis(const tensor& of, const Value& value) {
  std::vector<std::int64_t> made;
  for (std::size_t axis = 0; axis < of.imported.ndim(); ++axis) made.push_back(value(of.imported, axis));
  return made;
}

std::int64_t size(const array& of, std::size_t axis) { return static_cast<std::int64_t>(of.shape(axis)); }

std::int64_t byte_stride(const array& of, std::size_t axis) {
  return of.stride(axis) * static_cast<std::int64_t>(of.itemsize());
}

}  // namespace

void bind_dlpack(nb::module_& core) {
  nb::class_<tensor>(core, "Tensor")
      .def(
          "__init__", [](tensor* self, nb::handle capsule) { new (self) tensor{nb::cast<array>(capsule)}; },
          "capsule"_a,
          "Takes the tensor of a capsule of __dlpack__(). Its memory stays valid while this object exists.")
      .def_prop_ro("address", [](const tensor& of) { return reinterpret_cast<std::uintptr_t>(of.imported.data()); })
      .def_prop_ro("type", [](const tensor& of) { return name_of(of.imported.dtype()); })
      .def_prop_ro("itemsize", [](const tensor& of) { return of.imported.itemsize(); })
      .def_prop_ro("shape", [](const tensor& of) { return by_axis(of, size); })
      .def_prop_ro("strides", [](const tensor& of) { return by_axis(of, byte_stride); }, "In bytes.");
}

}  // namespace gpuhist::python
