// Samples and weights of an array, as gpuhist/_arrays.py passes them: addresses of memory that it keeps valid during
// the call, so that arrays of any type, stride and alignment are read where they lie.
#pragma once

#include <gpuhist/samples.hpp>

#include <array>
#include <cstdint>
#include <string>

#include "values.hpp"

namespace gpuhist::python {

inline constexpr std::array sample_types{"uint8", "int8",    "uint16",   "int32",   "uint32",
                                         "int64", "float16", "bfloat16", "float32", "float64"};
inline constexpr std::array weight_types{"float32", "float64", "int32"};

[[nodiscard]] inline sample_type type_named(const std::string& name) {
  return value_of<sample_type>(sample_types, name, "type of samples");
}

/// Host or device memory of the caller. Members are those of sample_view; `stride` is in bytes.
struct array_view {
  std::uintptr_t address = 0;
  std::uint64_t frames = 0;
  unsigned channels = 1;
  std::int64_t stride = 0;
  std::string type{};

  [[nodiscard]] const void* data() const { return reinterpret_cast<const void*>(address); }
  [[nodiscard]] sample_view samples() const { return {data(), frames, channels, stride}; }
  [[nodiscard]] weight_view weights() const {
    return {data(), value_of<weight_type>(weight_types, type, "type of weights"), channels, stride};
  }
};

}  // namespace gpuhist::python
