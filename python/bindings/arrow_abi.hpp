// The Arrow C data and stream interfaces: three structures whose layout the Arrow specification fixes. Consumers such
// as pyarrow, pandas, polars and DuckDB have the same definitions.
#pragma once

#include <cstdint>

namespace gpuhist::python {

/// The type of a column. A released structure has a null `release`.
struct arrow_schema {
  /// "L": uint64, "g": float64, "b": boolean, "+s": structure; "u", "U": text with offsets of 32 or 64 bits, "vu":
  /// views of text; "z", "Z", "vz": the same of bytes that are not UTF-8; "w:N": N bytes. With a dictionary that of the
  /// indices.
  const char* format{};
  const char* name{};
  const char* metadata{};
  std::int64_t flags{};
  std::int64_t n_children{};
  arrow_schema** children{};
  arrow_schema* dictionary{};
  void (*release)(arrow_schema*){};
  void* private_data{};

  static constexpr std::int64_t nullable = 2;
};

/// The values of a column.
struct arrow_array {
  std::int64_t length{};
  std::int64_t null_count{};
  std::int64_t offset{};
  std::int64_t n_buffers{};
  std::int64_t n_children{};
  const void** buffers{};  ///< of a column: validity bits or null, then offsets or views (text), then values
  arrow_array** children{};
  arrow_array* dictionary{};
  void (*release)(arrow_array*){};
  void* private_data{};
};

/// A sequence of arrays of one schema. The functions return 0 or an errno.
struct arrow_stream {
  int (*get_schema)(arrow_stream*, arrow_schema* out){};
  int (*get_next)(arrow_stream*, arrow_array* out){};  ///< a released array: the end
  const char* (*get_last_error)(arrow_stream*){};
  void (*release)(arrow_stream*){};
  void* private_data{};
};

}  // namespace gpuhist::python
