// Counting files on the thread of the caller.
#include <nanobind/stl/string.h>
#include <gpuhist/files.hpp>

#include <array>
#include <utility>

#include "bind.hpp"
#include "callbacks.hpp"
#include "outcome.hpp"
#include "text.hpp"
#include "values.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace gpuhist::python {
namespace {

constexpr std::array status_names{"complete", "incomplete", "condition_held", "stopped"};

/// Between two looks for Ctrl-C.
constexpr std::chrono::milliseconds signal_interval{100};

/// Runs the signal handlers of Python, so that Ctrl-C raises KeyboardInterrupt here and ends the run. Python runs them
/// on its main thread only.
void look_for_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::function<void(const progress&)> progress_callback(const nb::object& callable) {
  return [&callable](const progress& now) {
    const nb::gil_scoped_acquire held;
    look_for_signals();
    if (!callable.is_none()) callable(now.source_bytes, now.text_bytes, now.elapsed.count());
  };
}

void set_output(file_options& options, nb::handle output) {
  if (output.is_none()) return;
  options.pass_through = pass_through_options{.forwarded = pass_through_options::content::text};
  if (nb::isinstance<nb::int_>(output)) {
    options.pass_through->descriptor = nb::cast<int>(output);
  } else {
    options.pass_through->sink = receiver_of(shared_python<nb::object>(nb::borrow(output)));
  }
}

nb::object count(const file_options& given, const nb::object& on_progress, nb::object on_alert, nb::object on_notice,
                 nb::handle output) {
  file_options options = given;
  set_output(options, output);
  file_events events{
      events_of(shared_python<callables>(nb::none(), std::move(on_alert), nb::none(), std::move(on_notice)))};
  events.on_progress = progress_callback(on_progress);
  events.progress_interval = signal_interval;
  file_outcome outcome;
  {
    const nb::gil_scoped_release released;
    outcome = count_files(options, events);
  }
  return as_object(std::move(outcome));
}

}  // namespace

nb::object as_object(file_outcome outcome) {
  const int write_error = outcome.pass_through_error ? outcome.pass_through_error->error : 0;
  return nb::make_tuple(std::move(outcome.result), name_of(status_names, outcome.status), as_text(outcome.warning),
                        write_error);
}

void bind_files(nb::module_& core) {
  core.def("count_files", count, "options"_a, "on_progress"_a.none(), "on_alert"_a.none(), "on_notice"_a.none(),
           "output"_a.none());
}

}  // namespace gpuhist::python
