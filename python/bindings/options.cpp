// Options by name, with the texts of the command line. gpuhist/_options.py makes these texts.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <gpuhist/files.hpp>
#include <gpuhist/named_options.hpp>
#include <gpuhist/options.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace gpuhist::python {
namespace {

using settings = std::vector<std::pair<std::string, nb::bytes>>;

void set(named_options& options, const settings& given) {
  for (const auto& [name, text] : given) options.set(name, as_name(text));
}

file_options make_file_options(const std::vector<nb::bytes>& inputs, const settings& given,
                               std::optional<results> baseline) {
  named_options named;
  named.set("recursive", "true");  // unless it is given: the last value holds
  set(named, given);
  file_options made = named.files();
  for (const nb::bytes& input : inputs) made.inputs.push_back(as_name(input));
  if (baseline) made.counting.baseline = std::move(baseline);
  return made;
}

counting_options make_counting_options(const settings& given, std::optional<results> baseline) {
  named_options named;
  set(named, given);
  counting_options made = named.counting();
  if (baseline) made.baseline = std::move(baseline);
  return made;
}

/// Of a filter: without a condition of its own, presets select what is dropped.
void drop_selected(counting_options& options) {
  if (options.units && options.units->filter == unit_filter::none) options.units->filter = unit_filter::drop;
}

/// Those that Python accepts: text is passed through by the function filter().
std::vector<std::string> accepted_names() {
  std::vector<std::string> names = option_names();
  std::erase(names, "pass-through");
  return names;
}

}  // namespace

void bind_options(nb::module_& core) {
  nb::class_<read_options>(core, "ReadOptions")
      .def(nb::init<>())
      .def_rw("schemes", &read_options::schemes)
      .def_rw("ignore_case", &read_options::ignore_case)
      .def_rw("pairs", &read_options::pairs);
  nb::class_<counting_options>(core, "CountingOptions")
      .def_ro("measures", &counting_options::measures)
      .def_ro("schemes", &counting_options::schemes)
      .def_ro("ignore_case", &counting_options::ignore_case)
      .def_ro("pairs", &counting_options::pairs)
      .def_prop_ro("rewrites",
                   [](const counting_options& options) { return options.units && !options.units->rewrite.empty(); })
      .def("drop_selected", drop_selected)
      .def("without_buckets", [](counting_options& options) { options.schemes.clear(); });
  nb::class_<file_options>(core, "FileOptions")
      .def_prop_ro("measures", [](const file_options& options) { return options.counting.measures; })
      .def_prop_ro("schemes", [](const file_options& options) { return options.counting.schemes; })
      .def_prop_ro("ignore_case", [](const file_options& options) { return options.counting.ignore_case; })
      .def_prop_ro("pairs", [](const file_options& options) { return options.counting.pairs; })
      .def("drop_selected", [](file_options& options) { drop_selected(options.counting); })
      .def("without_buckets", [](file_options& options) { options.counting.schemes.clear(); });
  core.def("file_options", make_file_options, "inputs"_a, "settings"_a, "baseline"_a.none());
  core.def("counting_options", make_counting_options, "settings"_a, "baseline"_a.none());
  core.def("option_names", accepted_names);
}

}  // namespace gpuhist::python
