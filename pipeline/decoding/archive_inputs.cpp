#include "pipeline/decoding/archive_inputs.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace asio = boost::asio;
using boost::system::error_code;

archive_inputs::archive_inputs(settings how, executors where, decode_contexts& contexts, rolling_counts& counts,
                               feed_notes& notes, std::stop_token stop)
    : how_(std::move(how)),
      where_(std::move(where)),
      contexts_(contexts),
      counts_(counts),
      notes_(notes),
      stop_(std::move(stop)),
      blocks_(std::make_shared<block_pool>(how_.block_bytes, 0)),
      members_left_(how_.limits.most_members),
      free_(where_.pool, contexts.size()),
      threads_(contexts.size()) {
  for (std::size_t i = 0; i < threads_.size(); ++i) free_.try_send(error_code{}, i);
}

asio::awaitable<void> archive_inputs::add(input_id input, std::string name, std::shared_ptr<io::source> source,
                                          std::vector<std::byte> head, std::optional<io::archive_kind> forced) {
  const std::size_t thread = co_await free_.async_receive(asio::use_awaitable);
  task what{.input = input,
            .name = std::move(name),
            .source = std::move(source),
            .head = std::move(head),
            .forced = forced,
            .thread = thread};
  std::exception_ptr error;
  try {
    what.context = co_await contexts_.acquire();
    // the one before has nothing left to do: it said so
    threads_[thread] = std::jthread([this, what]() mutable { work(std::move(what)); });
    co_return;
  } catch (...) {
    error = std::current_exception();
  }
  if (what.context != nullptr) contexts_.release(*what.context);
  free_.try_send(error_code{}, thread);
  std::rethrow_exception(error);
}

asio::awaitable<void> archive_inputs::drain() {
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < threads_.size(); ++i) free.push_back(co_await free_.async_receive(asio::use_awaitable));
  for (const std::size_t thread : free) free_.try_send(error_code{}, thread);
  const std::scoped_lock lock(mutex_);
  if (fatal_) std::rethrow_exception(std::exchange(fatal_, nullptr));
}

std::vector<skipped_names> archive_inputs::skipped() const {
  const std::scoped_lock lock(mutex_);
  return skipped_;
}

void archive_inputs::work(task what) {
  const std::size_t thread = what.thread;
  try {
    walk(what);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (!fatal_) fatal_ = std::current_exception();
  }
  contexts_.release(*what.context);
  what = {};  // the source goes before somebody opens it again
  free_.try_send(error_code{}, thread);
}

void archive_inputs::walk(task& what) {
  const piece_in_flight counted(notes_.decompress);
  archive_walk walk(how_.limits, members_left_, *what.context, where_.pool, counts_, notes_, stop_);
  walk_source(what, walk);
  const std::scoped_lock lock(mutex_);
  for (const skipped_names& each : walk.skipped()) add_skipped(skipped_, each);
}

void archive_inputs::walk_source(task& what, archive_walk& walk) {
  if (std::holds_alternative<io::stream_source>(*what.source)) return walk_stream(what, walk);
  const auto& file = std::get<io::file_source>(*what.source);
  source_bytes bytes(file, notes_, stop_);
  walk.run(what.input, what.name, bytes, what.forced);
  file.leave_offset_at(bytes.position());
}

// A stream is read on its own thread, and may be in use there for a moment longer than here.
void archive_inputs::walk_stream(task& what, archive_walk& walk) {
  auto blocks =
      std::make_shared<block_reader>(blocks_, how_.own_blocks, *what.source, notes_.read, where_.streams, stop_);
  const auto read = [](std::shared_ptr<block_reader> reader, std::shared_ptr<io::source>,
                       std::vector<std::byte> first) -> asio::awaitable<void> {
    co_await reader->fill(std::move(first));
  };
  auto reading = asio::co_spawn(where_.streams, read(blocks, what.source, std::move(what.head)), asio::use_future);
  const auto end_reading = [&] {
    blocks->give_up();
    asio::post(where_.streams, [kept = what.source] { std::get<io::stream_source>(*kept).cancel(); });
    reading.wait();
  };
  try {
    source_bytes bytes(*blocks, where_.streams, stop_);
    walk.run(what.input, what.name, bytes, what.forced);
  } catch (...) {
    end_reading();
    throw;
  }
  end_reading();
}

}  // namespace gpuhist::pipeline
