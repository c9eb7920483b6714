// Windows and conditions that hold.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <gpuhist/results.hpp>

#include <array>
#include <chrono>
#include <utility>

#include "bind.hpp"
#include "text.hpp"
#include "values.hpp"

namespace nb = nanobind;

namespace gpuhist::python {
namespace {

constexpr std::array end_names{"full", "input", "error"};
constexpr std::array subject_names{"totals", "input", "window"};

double seconds(window::time_point moment) { return std::chrono::duration<double>(moment.time_since_epoch()).count(); }

std::optional<std::pair<std::uint64_t, std::uint64_t>> pair_of(const std::optional<line_range>& lines) {
  if (!lines) return std::nullopt;
  return std::pair(lines->first, lines->last);
}

void bind_window(nb::module_& core) {
  nb::class_<window>(core, "Window",
                     "A window of the text. `first_offset` to `end_offset`: bytes of the text of the input, or of all "
                     "inputs in sequence. `line_numbers`: first and last, or None. Times: seconds since 1970. "
                     "`end_reason`: 'full', 'input' or 'error'. `counts(scheme)`: one count for each bucket.")
      .def_prop_ro("index", &window::index)
      .def_prop_ro("input", [](const window& closed) { return as_text(closed.input()); })
      .def_prop_ro("last_input", [](const window& closed) { return as_text(closed.last_input()); })
      .def_prop_ro("first_offset", &window::first_offset)
      .def_prop_ro("end_offset", &window::end_offset)
      .def_prop_ro("line_numbers", [](const window& closed) { return pair_of(closed.line_numbers()); })
      .def_prop_ro("start_time", [](const window& closed) { return seconds(closed.start_time()); })
      .def_prop_ro("end_time", [](const window& closed) { return seconds(closed.end_time()); })
      .def_prop_ro("end_reason", [](const window& closed) { return name_of(end_names, closed.end_reason()); })
      .def_prop_ro("error", [](const window& closed) { return as_text(closed.error()); })
      .def_prop_ro("verified", &window::verified)
      .def_prop_ro("bytes", &window::bytes)
      .def_prop_ro("lines", &window::lines)
      .def("counts", &window::counts)
      .def("pairs", &window::pairs)
      .def("measurement", &window::measure)
      .def("measure", [](const window& closed, std::string_view name) { return closed.measure(name).value; });
}

}  // namespace

void bind_windows(nb::module_& core) {
  bind_window(core);
  nb::class_<alert::matched_line>(core, "MatchedLine", "The beginning of a line, and its place in the text of `input`.")
      .def_prop_ro("input", [](const alert::matched_line& found) { return as_text(found.input); })
      .def_ro("line", &alert::matched_line::line)
      .def_ro("offset", &alert::matched_line::offset)
      .def_prop_ro("text",
                   [](const alert::matched_line& found) { return nb::bytes(found.text.data(), found.text.size()); });
  nb::class_<alert>(core, "Alert",
                    "A condition that holds for `subject`: 'totals', 'input' or 'window'. `values`: of each name in "
                    "the condition. `fails`: it is one of `fail_if`. `line`: with `show_text`, the first line that "
                    "an expression in the condition matches.")
      .def_ro("fails", &alert::fails)
      .def_ro("condition", &alert::condition)
      .def_prop_ro("subject", [](const alert& held) { return name_of(subject_names, held.of); })
      .def_prop_ro("input", [](const alert& held) { return as_text(held.input); })
      .def_ro("window", &alert::window)
      .def_ro("first_offset", &alert::first_offset)
      .def_ro("end_offset", &alert::end_offset)
      .def_prop_ro("line_numbers", [](const alert& held) { return pair_of(held.lines); })
      .def_prop_ro("values", [](const alert& held) { return values_of(held.values); })
      .def_ro("line", &alert::line);
}

}  // namespace gpuhist::python
