// Values of enumerations as strings, and named values as dictionaries.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <gpuhist/errors.hpp>
#include <gpuhist/results.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::python {

/// The name of a value of an enumeration that counts from 0. A value that a newer library adds is "unknown".
template <std::size_t size, class Enumeration>
[[nodiscard]] std::string name_of(const std::array<const char*, size>& names, Enumeration value) {
  const auto index = static_cast<std::size_t>(value);
  return index < size ? names.at(index) : "unknown";
}

/// The value with this name. Throws errc::invalid_argument, whose text lists the names.
template <class Enumeration, std::size_t size>
[[nodiscard]] Enumeration value_of(const std::array<const char*, size>& names, std::string_view name,
                                   const std::string& what) {
  std::string known;
  for (std::size_t index = 0; index < size; ++index) {
    if (name == names.at(index)) return static_cast<Enumeration>(index);
    known += (known.empty() ? "" : ", ") + std::string(names.at(index));
  }
  throw error(errc::invalid_argument, what + ": '" + std::string(name) + "' is not one of: " + known);
}

using value_dict = nanobind::typed<nanobind::dict, std::string, std::optional<double>>;

/// Names and values; None: these counts have no value. Needs the GIL.
[[nodiscard]] inline value_dict values_of(const std::vector<alert::named_value>& values) {
  value_dict made;
  for (const auto& [name, value] : values) {
    made[name.c_str()] = value ? nanobind::object(nanobind::float_(*value)) : nanobind::none();
  }
  return made;
}

}  // namespace gpuhist::python
