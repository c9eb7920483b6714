// Callables of the caller as callbacks of the library.
#pragma once

#include <nanobind/nanobind.h>
#include <gpuhist/options.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace gpuhist::python {

/// Callables for counting_events; none() or null where the caller gave none. Shared by the owner and by the callbacks,
/// of which some may run when the owner has already been destroyed.
struct callables {
  nanobind::object window, alert, unit, notice;

  /// For the garbage collector: the owner visits and clears the members.
  int traverse(visitproc visit, void* arg) const;
  void clear() noexcept;
};

/// An object whose last owner may be a thread without the GIL.
template <class Value, class... Arguments>
[[nodiscard]] std::shared_ptr<Value> shared_python(Arguments&&... arguments) {
  return {new Value{std::forward<Arguments>(arguments)...}, [](Value* last) {
            const nanobind::gil_scoped_acquire held;
            delete last;  // NOLINT(cppcoreguidelines-owning-memory): the deleter of a shared_ptr
          }};
}

/// Callbacks that take the GIL and call the callables of `owner`. An exception of a callable ends the run, as of any
/// callback.
[[nodiscard]] counting_events events_of(const std::shared_ptr<callables>& owner);

/// Receives text; throws what the callable raises.
using receiver = std::function<void(std::span<const std::byte>)>;

/// A receiver that passes the text to the callable as bytes. Empty for none().
[[nodiscard]] receiver receiver_of(const std::shared_ptr<nanobind::object>& shared);

}  // namespace gpuhist::python
