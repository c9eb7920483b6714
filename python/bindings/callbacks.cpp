#include "callbacks.hpp"

#include "text.hpp"

namespace nb = nanobind;

namespace gpuhist::python {
namespace {

bool is_given(const nb::object& callable) { return callable.is_valid() && !callable.is_none(); }

/// A callback that copies its value into a Python object.
template <class Value>
std::function<void(const Value&)> callback(const std::shared_ptr<callables>& owner, nb::object callables::* member) {
  if (!is_given((*owner).*member)) return {};
  return [owner, member](const Value& value) {
    const nb::gil_scoped_acquire held;
    // a copy: the callable may release the last reference to its owner
    const nb::object callable = (*owner).*member;
    if (is_given(callable)) callable(nb::cast(value, nb::rv_policy::copy));
  };
}

}  // namespace

int callables::traverse(visitproc visit, void* arg) const {
  for (const nb::object* member : {&window, &alert, &unit, &notice}) {
    Py_VISIT(member->ptr());
  }
  return 0;
}

void callables::clear() noexcept {
  for (nb::object* member : {&window, &alert, &unit, &notice}) *member = nb::object();
}

counting_events events_of(const std::shared_ptr<callables>& owner) {
  counting_events events{.on_window = callback<gpuhist::window>(owner, &callables::window),
                         .on_alert = callback<gpuhist::alert>(owner, &callables::alert),
                         .on_unit = callback<gpuhist::unit>(owner, &callables::unit)};
  if (is_given(owner->notice)) {
    events.on_notice = [owner](std::string_view text) {
      const nb::gil_scoped_acquire held;
      const nb::object callable = owner->notice;
      if (is_given(callable)) callable(as_text(text));
    };
  }
  return events;
}

receiver receiver_of(const std::shared_ptr<nb::object>& shared) {
  if (!is_given(*shared)) return {};
  return [shared](std::span<const std::byte> text) {
    const nb::gil_scoped_acquire held;
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): owned while it runs, as it may release `shared`
    const nb::object callable = *shared;
    if (is_given(callable)) callable(nb::bytes(text.data(), text.size()));
  };
}

}  // namespace gpuhist::python
