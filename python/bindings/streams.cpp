// Iterators over the windows and units of files.
#include "file_stream.hpp"

#include <deque>

#include "bind.hpp"
#include "outcome.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace gpuhist::python {
namespace {

/// A Python iterator. Its members are called with the GIL.
template <class Item>
class item_iterator {
 public:
  item_iterator(const file_options& options, typename file_stream<Item>::callback kind) : stream_(options, kind) {}
  item_iterator(const item_iterator&) = delete;
  item_iterator& operator=(const item_iterator&) = delete;
  ~item_iterator() { close(); }

  [[nodiscard]] Item next() {
    while (taken_.empty()) {
      refill();
      if (PyErr_CheckSignals() != 0) {
        close();
        throw nb::python_error();
      }
    }
    Item item = std::move(taken_.front());
    taken_.pop_front();
    return item;
  }

  void close() {
    taken_.clear();
    const nb::gil_scoped_release released;
    stream_.close();
  }

  [[nodiscard]] nb::object outcome() {
    if (!ended()) return nb::none();
    return as_object(stream_.outcome());
  }

 private:
  [[nodiscard]] bool ended() const {
    const nb::gil_scoped_release released;
    return stream_.ended();
  }

  void refill() {
    std::vector<Item> items;
    bool ended = false;
    {
      const nb::gil_scoped_release released;
      items = stream_.take(std::chrono::milliseconds(100));
      ended = items.empty() && stream_.ended();
    }
    for (Item& item : items) taken_.push_back(std::move(item));
    if (!ended || !taken_.empty()) return;
    static_cast<void>(stream_.outcome());  // throws what ended the run
    close();
    throw nb::stop_iteration();
  }

  file_stream<Item> stream_;
  std::deque<Item> taken_;
};

template <class Item>
void bind_iterator(nb::module_& core, const char* name, typename file_stream<Item>::callback kind) {
  using iterator = item_iterator<Item>;
  nb::class_<iterator>(core, name)
      .def("__init__", [kind](iterator* self, const file_options& options) { new (self) iterator(options, kind); })
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &iterator::next)
      .def("close", &iterator::close)
      .def("outcome", &iterator::outcome);
}

}  // namespace

void bind_streams(nb::module_& core) {
  bind_iterator<window>(core, "WindowIterator", &counting_events::on_window);
  bind_iterator<unit>(core, "UnitIterator", &counting_events::on_unit);
}

}  // namespace gpuhist::python
