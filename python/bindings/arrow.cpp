// Exports a table by the Arrow C stream interface, and which rows of a table are kept. Every exported structure owns a
// share of the table, so a consumer may keep any column after the results have ended.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <memory>
#include <new>

#include "arrow_abi.hpp"
#include "arrow_table.hpp"
#include "bind.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace gpuhist::python {
namespace {

using shared_table = std::shared_ptr<const arrow_table>;

/// What the private_data of a schema or an array points to.
template <class Exported>
struct owned {
  shared_table table;
  std::vector<Exported> children{};
  std::vector<Exported*> pointers{};
  std::vector<const void*> buffers{};
};

/// A consumer may have moved children out, and these have a null `release` here.
template <class Exported>
void release(Exported* exported) {
  const std::unique_ptr<owned<Exported>> last(static_cast<owned<Exported>*>(exported->private_data));
  for (Exported& child : last->children) {
    if (child.release != nullptr) child.release(&child);
  }
  exported->release = nullptr;
}

/// Passes ownership of `parts` to the exported structure.
template <class Exported>
void own(Exported& exported, std::unique_ptr<owned<Exported>> parts) {
  for (Exported& child : parts->children) parts->pointers.push_back(&child);
  exported.n_children = static_cast<std::int64_t>(parts->children.size());
  exported.children = parts->pointers.data();
  exported.release = release<Exported>;
  exported.private_data = parts.release();
}

arrow_schema schema_of(const shared_table& table, const arrow_column& column) {
  arrow_schema exported{.format = column.format, .name = column.name.c_str()};
  exported.flags = column.nullable ? arrow_schema::nullable : 0;
  own(exported, std::make_unique<owned<arrow_schema>>(table));
  return exported;
}

arrow_schema schema_of(const shared_table& table) {
  auto parts = std::make_unique<owned<arrow_schema>>(table);
  for (const arrow_column& column : table->columns) parts->children.push_back(schema_of(table, column));
  arrow_schema exported{.format = "+s", .name = ""};
  own(exported, std::move(parts));
  return exported;
}

void set_buffers(arrow_array& exported, owned<arrow_array>& parts, std::vector<const void*> buffers) {
  parts.buffers = std::move(buffers);
  exported.n_buffers = static_cast<std::int64_t>(parts.buffers.size());
  exported.buffers = parts.buffers.data();
}

arrow_array array_of(const shared_table& table, const arrow_column& column) {
  auto parts = std::make_unique<owned<arrow_array>>(table);
  arrow_array exported{.length = column.rows, .null_count = column.nulls};
  set_buffers(exported, *parts, column.buffers());
  own(exported, std::move(parts));
  return exported;
}

arrow_array array_of(const shared_table& table) {
  auto parts = std::make_unique<owned<arrow_array>>(table);
  for (const arrow_column& column : table->columns) parts->children.push_back(array_of(table, column));
  arrow_array exported{.length = table->rows};
  set_buffers(exported, *parts, {nullptr});
  own(exported, std::move(parts));
  return exported;
}

struct stream_state {
  shared_table table;
  bool ended = false;
};

stream_state& state_of(arrow_stream* stream) { return *static_cast<stream_state*>(stream->private_data); }

int get_schema(arrow_stream* stream, arrow_schema* out) noexcept try {
  *out = schema_of(state_of(stream).table);
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

int get_next(arrow_stream* stream, arrow_array* out) noexcept try {
  *out = state_of(stream).ended ? arrow_array{} : array_of(state_of(stream).table);
  state_of(stream).ended = true;
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

const char* get_last_error(arrow_stream*) noexcept { return nullptr; }

void release_stream(arrow_stream* stream) noexcept {
  delete &state_of(stream);  // NOLINT(cppcoreguidelines-owning-memory): the interface of Arrow
  stream->release = nullptr;
}

template <class Exported>
void destroy_capsule(void* pointer) noexcept {
  const std::unique_ptr<Exported> exported(static_cast<Exported*>(pointer));
  if (exported->release != nullptr) exported->release(exported.get());  // else a consumer has taken it
}

template <class Exported>
nb::capsule capsule_of(const Exported& exported, const char* name) {
  return {std::make_unique<Exported>(exported).release(), name, destroy_capsule<Exported>};
}

nb::capsule export_stream(const results& counted, const std::vector<std::string>& measures) {
  auto state = std::make_unique<stream_state>();
  {
    const nb::gil_scoped_release released;
    state->table = std::make_shared<const arrow_table>(table_of(counted, measures));
  }
  return capsule_of(arrow_stream{get_schema, get_next, get_last_error, release_stream, state.release()},
                    "arrow_array_stream");
}

nb::typed<nb::tuple, nb::object, nb::object> export_mask(const row_mask& mask, const nb::object& /*requested_schema*/) {
  const auto table = std::make_shared<const arrow_table>(arrow_table{.rows = mask.kept.rows, .columns = {mask.kept}});
  const arrow_column& column = table->columns.front();
  return nb::make_tuple(capsule_of(schema_of(table, column), "arrow_schema"),
                        capsule_of(array_of(table, column), "arrow_array"));
}

nb::typed<nb::iterator, bool> flags_of(const row_mask& mask) {
  nb::list flags;
  for (std::int64_t row = 0; row < mask.kept.rows; ++row) flags.append(mask.kept.flag(row));
  return nb::iter(flags);
}

bool flag_at(const row_mask& mask, std::int64_t row) {
  if (row < 0) row += mask.kept.rows;
  if (row < 0 || row >= mask.kept.rows) throw nb::index_error("no such row");
  return mask.kept.flag(row);
}

}  // namespace

void bind_arrow(nb::module_& core) {
  core.def("arrow_stream", export_stream, "results"_a, "measures"_a);
  nb::class_<row_mask>(core, "RowMask",
                       "Which rows are kept, in order: a boolean array of the Arrow C data interface, and a sequence. "
                       "`kept`, `nulls`: numbers of rows; `bytes`, `kept_bytes`: of their texts.")
      .def("__len__", [](const row_mask& mask) { return mask.kept.rows; })
      .def("__getitem__", flag_at)
      .def("__iter__", flags_of)
      .def("__arrow_c_array__", export_mask, "requested_schema"_a.none() = nb::none())
      .def_ro("kept", &row_mask::kept_rows)
      .def_ro("nulls", &row_mask::nulls)
      .def_ro("bytes", &row_mask::bytes)
      .def_ro("kept_bytes", &row_mask::kept_bytes)
      .def_ro("texts", &row_mask::texts,
              "With `rewrite`, or a preset that rewrites texts: those of all rows; else None.");
}

}  // namespace gpuhist::python
