// A counter and its inputs. Every call that may wait for another thread releases the GIL, because callbacks need it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <gpuhist/counter.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrow_table.hpp"
#include "arrow_text.hpp"
#include "bind.hpp"
#include "buffer.hpp"
#include "callbacks.hpp"
#include "text.hpp"
#include "values.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace gpuhist::python {
namespace {

/// What becomes of rows without text.
enum class null_rows : std::uint8_t { keep, drop, fail };
constexpr std::array null_row_names{"keep", "drop", "fail"};

/// `first`: the number of the first row.
void refuse_nulls(std::span<const arrow_texts::value> values, std::int64_t first) {
  const auto found = std::ranges::find_if(values, [](const arrow_texts::value& each) { return !each; });
  if (found == values.end()) return;
  throw error(errc::invalid_argument, "row " + std::to_string(first + (found - values.begin())) +
                                          R"( (from 0) is null; give nulls="drop" or nulls="keep")");
}

/// An input of a counter. The text of large buffers is counted where it lies.
class fed_input {
 public:
  /// `steps`: rewrite values before they are fed; empty: they are fed as they are.
  fed_input(input opened, std::shared_ptr<nb::object> on_kept, const std::vector<std::string>& steps)
      : on_kept_(std::move(on_kept)), input_(std::move(opened)) {
    if (!steps.empty()) rewriter_.emplace(steps);
  }
  fed_input(const fed_input&) = delete;
  fed_input& operator=(const fed_input&) = delete;
  ~fed_input() {
    const nb::gil_scoped_release released;
    input_.reset();
  }

  void feed(nb::handle object) {
    const exported_buffer buffer(object);
    const nb::gil_scoped_release released;
    input_->feed(buffer.bytes());
  }

  /// `exported`, `column`: as those of arrow_texts. `nulls`: "keep", "drop" or "fail".
  [[nodiscard]] row_mask feed_values(nb::handle exported, const std::optional<std::string>& column,
                                     const std::string& nulls) {
    arrow_texts texts(exported, column);
    const auto how = value_of<null_rows>(null_row_names, nulls, "treatment of nulls");
    row_mask mask;
    const nb::gil_scoped_release released;
    texts.read([&](std::span<const arrow_texts::value> values) { feed_rows(values, how, mask); });
    return mask;
  }

  void finish() {
    const nb::gil_scoped_release released;
    input_->finish();
  }

  void fail(nb::handle cause) {
    const std::string text = as_name(cause);
    const nb::gil_scoped_release released;
    input_->fail(text);
  }

  [[nodiscard]] bool failed() const {
    const nb::gil_scoped_release released;
    return input_->failed();
  }

  static int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<fed_input>(self)->on_kept_->ptr());
    return 0;
  }

  static int clear(PyObject* self) noexcept {
    *nb::inst_ptr<fed_input>(self)->on_kept_ = nb::object();
    return 0;
  }

 private:
  void feed_rows(std::span<const arrow_texts::value> values, null_rows how, row_mask& mask) {
    if (how == null_rows::fail) refuse_nulls(values, mask.kept.rows);
    const std::vector<bool> kept = rewriter_ ? feed_rewritten(values, mask) : input_->feed_values(values);
    for (std::size_t row = 0; row < values.size(); ++row) {
      const bool is_kept = values[row] ? kept[row] : how == null_rows::keep;
      const std::size_t size = values[row] ? values[row]->size() : 0;
      mask.kept.append_flag(is_kept);
      mask.bytes += size;
      if (!values[row]) ++mask.nulls;
      if (!is_kept) continue;
      ++mask.kept_rows;
      mask.kept_bytes += size;
    }
  }

  std::vector<bool> feed_rewritten(std::span<const arrow_texts::value> values, row_mask& mask) {
    if (!mask.texts) mask.texts.emplace();
    const std::size_t first = mask.texts->size();
    for (const arrow_texts::value& each : values) {
      mask.texts->push_back(each ? std::optional(rewriter_->rewrite(*each)) : std::nullopt);
    }
    const std::vector<arrow_texts::value> made(mask.texts->begin() + static_cast<std::ptrdiff_t>(first),
                                               mask.texts->end());
    return input_->feed_values(made);
  }

  std::shared_ptr<nb::object> on_kept_;
  std::optional<input> input_;
  std::optional<text_rewriter> rewriter_;
};

/// A counter and the callables that it calls.
class fed_counter {
 public:
  fed_counter(const counting_options& options, nb::object window, nb::object alert, nb::object unit, nb::object notice)
      : callables_(shared_python<callables>(std::move(window), std::move(alert), std::move(unit), std::move(notice))) {
    counting_events events = events_of(callables_);
    counting_options fed = options;
    if (fed.units && fed.units->each == unit_options::kind::value) steps_ = std::exchange(fed.units->rewrite, {});
    const nb::gil_scoped_release released;
    counter_.emplace(fed, std::move(events));
  }
  fed_counter(const fed_counter&) = delete;
  fed_counter& operator=(const fed_counter&) = delete;
  ~fed_counter() { end(); }

  [[nodiscard]] fed_input* open_input(nb::handle name, const std::string& format, std::uint64_t max_output,
                                      nb::object on_kept) {
    std::string bytes = as_name(name);
    auto receiver = shared_python<nb::object>(std::move(on_kept));
    const input_options options{.format = format, .max_output = max_output, .on_kept = receiver_of(receiver)};
    const nb::gil_scoped_release released;
    return new fed_input(counter_->open_input(std::move(bytes), options), std::move(receiver),
                         steps_);  // nanobind owns it
  }

  [[nodiscard]] results snapshot() {
    const nb::gil_scoped_release released;
    return counter_->snapshot();
  }

  [[nodiscard]] results finish() {
    const nb::gil_scoped_release released;
    return counter_->finish();
  }

  void cancel() noexcept { counter_->cancel(); }

  static int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
    Py_VISIT(Py_TYPE(self));
    const fed_counter* counter = nb::inst_ready(self) ? nb::inst_ptr<fed_counter>(self) : nullptr;
    return counter == nullptr ? 0 : counter->callables_->traverse(visit, arg);
  }

  /// Of a counter in a cycle of garbage: its callables are not called any more.
  static int clear(PyObject* self) noexcept {
    nb::inst_ptr<fed_counter>(self)->cancel();
    nb::inst_ptr<fed_counter>(self)->callables_->clear();
    return 0;
  }

 private:
  void end() {
    const nb::gil_scoped_release released;
    counter_.reset();
  }

  std::shared_ptr<callables> callables_;
  std::vector<std::string> steps_;  // rewrite values
  std::optional<counter> counter_;
};

/// The slots of a type that takes part in the collection of cycles.
template <class Collected>
PyType_Slot collected_slots[] = {  // NOLINT(*-avoid-c-arrays, *-avoid-non-const-global-variables): Python's interface
    {Py_tp_traverse, reinterpret_cast<void*>(Collected::traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(Collected::clear)},
    {0, nullptr}};

}  // namespace

void bind_counter(nb::module_& core) {
  nb::class_<fed_input>(core, "Input", nb::type_slots(collected_slots<fed_input>))
      .def("feed", &fed_input::feed)
      .def("feed_values", &fed_input::feed_values, "exported"_a, "column"_a.none(), "nulls"_a)
      .def("finish", &fed_input::finish)
      .def("fail", &fed_input::fail)
      .def_prop_ro("failed", &fed_input::failed);
  nb::class_<fed_counter>(core, "Counter", nb::type_slots(collected_slots<fed_counter>))
      .def(nb::init<const counting_options&, nb::object, nb::object, nb::object, nb::object>(), "options"_a,
           "window"_a.none(), "alert"_a.none(), "unit"_a.none(), "notice"_a.none())
      .def("open_input", &fed_counter::open_input, nb::rv_policy::take_ownership, "name"_a, "format"_a, "max_output"_a,
           "on_kept"_a.none())
      .def("snapshot", &fed_counter::snapshot)
      .def("finish", &fed_counter::finish)
      .def("cancel", &fed_counter::cancel);
}

}  // namespace gpuhist::python
