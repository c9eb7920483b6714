#include "arrow_text.hpp"

#include <gpuhist/errors.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace gpuhist::python {
namespace {

using value = arrow_texts::value;

// Few enough for the cache, and so many that the text of short values is counted where it lies.
constexpr std::int64_t rows_at_once = 16384;

template <class Imported>
owned_import<Imported> imported(nb::handle capsule, const char* name) {
  void* const pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (pointer == nullptr) throw nb::python_error();
  auto& from = *static_cast<Imported*>(pointer);
  if (from.release == nullptr) throw nb::value_error("the Arrow structure was released before");
  return owned_import<Imported>(from);
}

std::optional<text_layout> layout_of(const arrow_schema& schema) {
  using enum text_layout::storage;
  const std::string_view format = schema.format;
  if (schema.dictionary != nullptr) {
    constexpr std::string_view integers = "cCsSiIlL";
    std::optional<text_layout> made = layout_of(*schema.dictionary);
    if (!made || schema.dictionary->dictionary != nullptr || format.size() != 1 ||
        integers.find(format.front()) == std::string_view::npos) {
      return std::nullopt;
    }
    made->index = format.front();
    return made;
  }
  if (format == "u" || format == "z") return text_layout{.kind = offsets_32};
  if (format == "U" || format == "Z") return text_layout{.kind = offsets_64};
  if (format == "vu" || format == "vz") return text_layout{.kind = views};
  if (!format.starts_with("w:")) return std::nullopt;
  text_layout made{.kind = fixed};
  std::from_chars(format.data() + 2, format.data() + format.size(), made.width);
  return made;
}

bool is_valid(const arrow_array& array, std::int64_t row) {
  const auto* const bits = static_cast<const std::uint8_t*>(array.buffers[0]);
  return bits == nullptr || (bits[row / 8] >> static_cast<unsigned>(row % 8) & 1U) != 0;
}

template <class Element>
Element element(const arrow_array& array, std::size_t buffer, std::int64_t row) {
  return static_cast<const Element*>(array.buffers[buffer])[row];
}

template <class Offset>
std::string_view text_between(const arrow_array& array, std::int64_t row) {
  const auto begin = element<Offset>(array, 1, row);
  const auto end = element<Offset>(array, 1, row + 1);
  return {static_cast<const char*>(array.buffers[2]) + begin, static_cast<std::size_t>(end - begin)};
}

// 16 bytes: the length, and up to 12 bytes of text; or 4 bytes of it, the number of a buffer, and an offset there.
std::string_view text_of_view(const arrow_array& array, std::int64_t row) {
  constexpr std::size_t bytes_of_view = 16;
  constexpr std::size_t longest_inside = 12;
  const char* const view = static_cast<const char*>(array.buffers[1]) + static_cast<std::size_t>(row) * bytes_of_view;
  std::array<std::int32_t, 4> parts{};
  std::memcpy(parts.data(), view, bytes_of_view);
  const auto size = static_cast<std::size_t>(parts[0]);
  if (size <= longest_inside) return {view + sizeof(std::int32_t), size};
  return {static_cast<const char*>(array.buffers[2 + parts[2]]) + parts[3], size};
}

// `row`: counts from the beginning of the buffers.
value stored_text(const arrow_array& array, const text_layout& layout, std::int64_t row) {
  using enum text_layout::storage;
  if (!is_valid(array, row)) return std::nullopt;
  switch (layout.kind) {
    case offsets_32:
      return text_between<std::int32_t>(array, row);
    case offsets_64:
      return text_between<std::int64_t>(array, row);
    case views:
      return text_of_view(array, row);
    case fixed:
      break;
  }
  return std::string_view(static_cast<const char*>(array.buffers[1]) + static_cast<std::size_t>(row) * layout.width,
                          layout.width);
}

std::int64_t index_at(const arrow_array& array, char format, std::int64_t row) {
  switch (format) {
    case 'c':
      return element<std::int8_t>(array, 1, row);
    case 'C':
      return element<std::uint8_t>(array, 1, row);
    case 's':
      return element<std::int16_t>(array, 1, row);
    case 'S':
      return element<std::uint16_t>(array, 1, row);
    case 'i':
      return element<std::int32_t>(array, 1, row);
    case 'I':
      return element<std::uint32_t>(array, 1, row);
    default:
      return element<std::int64_t>(array, 1, row);  // no dictionary has 2^63 texts
  }
}

value text_at(const arrow_array& array, const text_layout& layout, std::int64_t row) {
  if (layout.index == '\0') return stored_text(array, layout, row);
  if (!is_valid(array, row)) return std::nullopt;
  const arrow_array& texts = *array.dictionary;
  return stored_text(texts, layout, texts.offset + index_at(array, layout.index, row));
}

std::string names_of(const arrow_schema& table) {
  std::string names;
  for (std::int64_t i = 0; i < table.n_children; ++i)
    names += (i == 0 ? "" : ", ") + std::string(table.children[i]->name);
  return names;
}

std::int64_t column_number(const arrow_schema& table, const std::optional<std::string>& name) {
  if (!name) {
    if (table.n_children == 1) return 0;
    throw nb::type_error(("the table has several columns; give the name of one: " + names_of(table)).c_str());
  }
  for (std::int64_t i = 0; i < table.n_children; ++i) {
    if (*name == table.children[i]->name) return i;
  }
  throw nb::key_error(("there is no column '" + *name + "'; the table has " + names_of(table)).c_str());
}

}  // namespace

arrow_texts::arrow_texts(nb::handle exported, const std::optional<std::string>& column)
    : stream_(nb::isinstance<nb::tuple>(exported) ? owned_import<arrow_stream>()
                                                  : imported<arrow_stream>(exported, "arrow_array_stream")),
      schema_(nb::isinstance<nb::tuple>(exported) ? imported<arrow_schema>(exported[0], "arrow_schema")
                                                  : schema_of(*stream_)),
      only_(nb::isinstance<nb::tuple>(exported) ? imported<arrow_array>(exported[1], "arrow_array")
                                                : owned_import<arrow_array>()) {
  const arrow_schema* texts = &*schema_;
  if (std::string_view(texts->format) == "+s") {
    child_ = column_number(*texts, column);
    texts = texts->children[*child_];
  } else if (column) {
    throw nb::type_error("a column was given, but the data is no table");
  }
  const std::optional<text_layout> found = layout_of(*texts);
  if (!found) {
    throw nb::type_error(("the column" + (column ? " '" + *column + "'" : "") + " has the Arrow format '" +
                          texts->format +
                          "', which is no text; convert it to string, large_string, string_view, or a " + "binary type")
                             .c_str());
  }
  layout_ = *found;
}

owned_import<arrow_schema> arrow_texts::schema_of(arrow_stream& stream) {
  arrow_schema made;
  int failure = 0;
  {
    const nb::gil_scoped_release released;
    failure = stream.get_schema(&stream, &made);
  }
  check(stream, failure);
  return owned_import<arrow_schema>(made);
}

void arrow_texts::check(arrow_stream& stream, int failure) {
  if (failure == 0) return;
  const char* const text = stream.get_last_error == nullptr ? nullptr : stream.get_last_error(&stream);
  throw error(errc::system, "the Arrow stream failed: " +
                                (text != nullptr ? std::string(text) : std::system_category().message(failure)));
}

void arrow_texts::read(const receiver& receive) {
  if (stream_->release == nullptr) return read_batch(*only_, receive);
  while (true) {
    arrow_array made;
    check(*stream_, stream_->get_next(&*stream_, &made));
    if (made.release == nullptr) return;
    owned_import<arrow_array> batch(made);
    read_batch(*batch, receive);
  }
}

// A row of a table may itself be null: then its texts are.
void arrow_texts::read_batch(const arrow_array& batch, const receiver& receive) const {
  const arrow_array& texts = child_ ? *batch.children[*child_] : batch;
  const std::int64_t offset = texts.offset + (child_ ? batch.offset : 0);
  const bool has_null_rows = child_ && batch.null_count != 0 && batch.n_buffers > 0 && batch.buffers[0] != nullptr;
  std::vector<value> values;
  for (std::int64_t first = 0; first < batch.length; first += rows_at_once) {
    values.clear();
    for (std::int64_t row = first; row < std::min(batch.length, first + rows_at_once); ++row) {
      const bool is_null = has_null_rows && !is_valid(batch, batch.offset + row);
      values.push_back(is_null ? std::nullopt : text_at(texts, layout_, offset + row));
    }
    receive(values);
  }
}

}  // namespace gpuhist::python
