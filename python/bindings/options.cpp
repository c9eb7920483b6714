// Options as objects with attributes. gpuhist/_options.py fills them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <gpuhist/files.hpp>
#include <gpuhist/options.hpp>

#include <array>

#include "bind.hpp"
#include "text.hpp"
#include "values.hpp"

namespace nb = nanobind;

namespace gpuhist::python {
namespace {

constexpr std::array engine_names{"automatic", "host", "cuda"};
constexpr std::array decoding_names{"automatic", "on", "off"};
constexpr std::array window_units{"bytes", "lines", "milliseconds"};
constexpr std::array unit_kinds{"line", "record", "part", "input", "window"};
constexpr std::array filters{"none", "keep", "drop"};

void bind_parts(nb::module_& core) {
  using unit_kind = unit_options::kind;
  nb::class_<window_options>(core, "WindowOptions")
      .def(nb::init<>())
      .def_rw("length", &window_options::length)
      .def_rw("step", &window_options::step)
      .def_rw("per_input", &window_options::per_input)
      .def("set_measured_in", [](window_options& options, const std::string& name) {
        options.measured_in = value_of<window_options::unit>(window_units, name, "measured_in");
      });
  nb::class_<unit_options>(core, "UnitOptions")
      .def(nb::init<>())
      .def("set_delimiter",
           [](unit_options& options, unsigned char byte) { options.delimiter = static_cast<char>(byte); })
      .def_rw("part_bytes", &unit_options::part_bytes)
      .def_rw("where", &unit_options::where)
      .def_rw("top", &unit_options::top)
      .def_rw("top_by", &unit_options::top_by)
      .def_rw("distribution_of", &unit_options::distribution_of)
      .def_rw("jsonl_field", &unit_options::jsonl_field)
      .def("set_each", [](unit_options& options,
                          const std::string& name) { options.each = value_of<unit_kind>(unit_kinds, name, "each"); })
      .def("set_filter", [](unit_options& options, const std::string& name) {
        options.filter = value_of<unit_filter>(filters, name, "filter");
      });
  nb::class_<read_options>(core, "ReadOptions")
      .def(nb::init<>())
      .def_rw("schemes", &read_options::schemes)
      .def_rw("ignore_case", &read_options::ignore_case)
      .def_rw("pairs", &read_options::pairs);
}

void bind_counted(nb::class_<counting_options>& type) {
  type.def(nb::init<>())
      .def_rw("schemes", &counting_options::schemes)
      .def_rw("ignore_case", &counting_options::ignore_case)
      .def_rw("byte_counts", &counting_options::byte_counts)
      .def_rw("pairs", &counting_options::pairs)
      .def_rw("measures", &counting_options::measures)
      .def_rw("baseline", &counting_options::baseline)
      .def_rw("previous_windows", &counting_options::previous_windows)
      .def_rw("windows", &counting_options::windows)
      .def_rw("units", &counting_options::units)
      .def_rw("fail_if", &counting_options::fail_if)
      .def_rw("alert_if", &counting_options::alert_if)
      .def_rw("fail_fast", &counting_options::fail_fast);
}

void bind_means(nb::class_<counting_options>& type) {
  type.def_rw("devices", &counting_options::devices)
      .def_rw("all_devices", &counting_options::all_devices)
      .def_rw("device_memory", &counting_options::device_memory)
      .def_rw("kernel", &counting_options::kernel)
      .def_rw("threads", &counting_options::threads)
      .def_rw("memory_limit", &counting_options::memory_limit)
      .def("set_engine",
           [](counting_options& options, const std::string& name) {
             options.counting_engine = value_of<engine>(engine_names, name, "engine");
           })
      .def("set_device_decode", [](counting_options& options, const std::string& name) {
        options.device_decode = value_of<device_decoding>(decoding_names, name, "device_decode");
      });
}

void bind_file_options(nb::module_& core) {
  nb::class_<tree_options>(core, "TreeOptions")
      .def(nb::init<>())
      .def_rw("include", &tree_options::include)
      .def_rw("exclude", &tree_options::exclude)
      .def_rw("follow_symlinks", &tree_options::follow_symlinks);
  nb::class_<file_options>(core, "FileOptions")
      .def(nb::init<>())
      .def_rw("counting", &file_options::counting)
      .def_rw("trees", &file_options::trees)
      .def_rw("format", &file_options::format)
      .def_rw("max_output", &file_options::max_output)
      .def_rw("skip_damage", &file_options::skip_damage)
      .def_rw("strict_names", &file_options::strict_names)
      .def_rw("fail_on_unknown", &file_options::fail_on_unknown)
      .def_rw("count_unverified", &file_options::count_unverified)
      .def("add_input", [](file_options& options, nb::handle path) { options.inputs.push_back(as_name(path)); })
      .def("set_dictionary", [](file_options& options, nb::handle path) { options.dictionary = as_name(path); });
}

}  // namespace

void bind_options(nb::module_& core) {
  bind_parts(core);
  nb::class_<counting_options> counting(core, "CountingOptions");
  bind_counted(counting);
  bind_means(counting);
  bind_file_options(core);
}

}  // namespace gpuhist::python
