#include "library/look_up_inputs.hpp"

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "pipeline/flow/inputs/input_list.hpp"

#include <cstddef>
#include <exception>
#include <iterator>
#include <vector>

namespace gpuhist::pipeline {
namespace {

async::task<> take_all(input_list& from, std::vector<listed_input>& to) {
  constexpr std::size_t batch = 1024;
  for (;;) {
    std::vector<listed_input> next = co_await from.next(batch);
    if (next.empty()) co_return;
    to.insert(to.end(), std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
  }
}

}  // namespace

looked_up_inputs look_up_inputs(const counting_plan& planned) {
  looked_up_inputs found;
  async::event_loop loop;
  input_list list(planned, loop, {});
  std::exception_ptr failure;
  bool has_ended = false;
  async::spawn(loop, take_all(list, found.inputs), [&](const std::exception_ptr& error) noexcept {
    failure = error;
    has_ended = true;
  });
  loop.run_until([&] { return has_ended && !loop.has_tasks(); });
  if (failure) std::rethrow_exception(failure);
  found.skipped = list.skipped();
  found.empty_trees = list.empty_trees();
  return found;
}

}  // namespace gpuhist::pipeline
