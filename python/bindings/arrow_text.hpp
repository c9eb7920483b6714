// Texts of a column that another library passes by the Arrow C data or stream interface. They are read where they lie.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "arrow_abi.hpp"

namespace gpuhist::python {

/// A structure of the interface that is released once, by the last owner.
template <class Imported>
class owned_import {
 public:
  owned_import() = default;
  /// Takes the structure over from its producer.
  explicit owned_import(Imported& from) : value_(from) { from.release = nullptr; }
  owned_import(const owned_import&) = delete;
  owned_import& operator=(const owned_import&) = delete;
  owned_import(owned_import&& from) noexcept : value_(from.value_) { from.value_.release = nullptr; }
  owned_import& operator=(owned_import&&) = delete;
  ~owned_import() {
    if (value_.release != nullptr) value_.release(&value_);
  }

  [[nodiscard]] Imported& operator*() { return value_; }
  [[nodiscard]] Imported* operator->() { return &value_; }

 private:
  Imported value_{};
};

/// How texts are stored.
struct text_layout {
  enum class storage : std::uint8_t {
    offsets_32,  ///< string, binary
    offsets_64,  ///< large_string, large_binary
    views,       ///< string_view, binary_view
    fixed,       ///< fixed_size_binary
  };

  storage kind = storage::offsets_32;
  std::size_t width = 0;  ///< of fixed texts
  char index = '\0';      ///< the format of the indices of a dictionary; '\0': there is no dictionary
};

/// Batches of a column of texts. Needs no GIL, except for its construction; the producer may take it.
class arrow_texts {
 public:
  using value = std::optional<std::string_view>;

  /// Receives texts in order; nothing: null. They are valid during the call.
  using receiver = std::function<void(std::span<const value>)>;

  /// `exported`: a capsule of __arrow_c_stream__, or the tuple of __arrow_c_array__. `column`: of a table; nothing: the
  /// arrays are the column, or the only one. Throws nanobind::type_error for other objects, nanobind::key_error for an
  /// unknown column, and nanobind::type_error for one of another type.
  arrow_texts(nanobind::handle exported, const std::optional<std::string>& column);

  /// Calls `receive` with all texts. Throws gpuhist::error of kind errc::system if the producer fails.
  void read(const receiver& receive);

 private:
  static owned_import<arrow_schema> schema_of(arrow_stream& stream);
  static void check(arrow_stream& stream, int failure);
  void read_batch(const arrow_array& batch, const receiver& receive) const;

  owned_import<arrow_stream> stream_;
  owned_import<arrow_schema> schema_;
  owned_import<arrow_array> only_;  // without a stream
  std::optional<std::int64_t> child_;
  text_layout layout_;
};

}  // namespace gpuhist::python
