// Passing and committing the text of a group. Where the text is observed, that takes part of the time of decoding; if
// another thread is idle, it does so while the group decodes what follows:
//
//     decoding:   | text 1 | text 2          | text 3         |
//     idle thread:         | passes, commits, counts text 1 | text 2 ...
#include "pipeline/flow/decoding/compressed_group.hpp"

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>

namespace gpuhist::pipeline {
namespace {

// Text that is passed ahead has a chunk of its own. Less text is not worth waking a thread.
constexpr std::size_t min_bytes_ahead = std::size_t{64} << 10U;

}  // namespace

// Only the text of an input whose groups before this one have ended: text that must wait for its turn would keep a
// slot, while the group needs another one.
bool compressed_inputs::may_pass_ahead(group& task) const {
  if (notes_.decompress.now_in_flight >= options_.threads) return false;
  const std::scoped_lock lock(task.input.mutex);
  return task.input.running_groups == 1;
}

async::task<> compressed_inputs::take_text(group& task, held_reservation target, const io::fill_result& result) {
  co_await wait_for_text(task);
  const bool ends_frame =
      result.status != io::fill_status::output_full && result.status != io::fill_status::needs_input;
  if (ends_frame || result.produced < min_bytes_ahead || !may_pass_ahead(task)) {
    co_return co_await task.text.take(std::move(target), result.produced);
  }
  const auto pending = std::make_shared<group::pending_text>();
  async::spawn(executors_.pool, task.text.take(std::move(target), result.produced),
               [pending](std::exception_ptr error) noexcept {
                 pending->error = std::move(error);
                 pending->ended.set();
               });
  task.pending = pending;
}

async::task<> compressed_inputs::wait_for_text(group& task) {
  const auto pending = std::exchange(task.pending, nullptr);
  if (!pending) co_return;
  co_await pending->ended.wait();
  if (pending->error) std::rethrow_exception(pending->error);
}

}  // namespace gpuhist::pipeline
