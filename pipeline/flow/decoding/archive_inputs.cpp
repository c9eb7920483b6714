#include "pipeline/flow/decoding/archive_inputs.hpp"

#include "pipeline/flow/decoding/stream_cancel.hpp"

#include <system_error>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

archive_inputs::archive_inputs(settings how, const executors& where, decode_contexts& contexts, rolling_counts& counts,
                               feed_notes& notes, async::first_failure& failures, std::stop_token stop)
    : how_(std::move(how)),
      where_(where),
      contexts_(contexts),
      counts_(counts),
      notes_(notes),
      stop_(std::move(stop)),
      blocks_(std::make_shared<block_pool>(how_.block_bytes, 0)),
      members_left_(how_.limits.max_members),
      failures_(failures),
      rights_(contexts.size()),
      threads_(contexts.size()) {
  free_.reserve(threads_.size());
  for (std::size_t i = threads_.size(); i-- > 0;) free_.push_back(i);
}

async::task<> archive_inputs::add(input_id input, std::string name, std::shared_ptr<io::source> source,
                                  std::vector<std::byte> head, std::optional<io::archive_kind> forced) {
  task what{
      .input = input, .name = std::move(name), .source = std::move(source), .head = std::move(head), .forced = forced};
  what.right = co_await rights_.acquire();
  what.context = co_await contexts_.acquire();
  start(std::move(what));
}

// The thread before on the same place has nothing left to do: it said so.
void archive_inputs::start(task what) {
  {
    const std::scoped_lock lock(mutex_);
    what.thread = free_.back();
    free_.pop_back();
  }
  const std::size_t number = what.thread;
  try {
    threads_[number] = std::jthread([this, given = std::move(what)]() mutable { work(std::move(given)); });
  } catch (const std::system_error& error) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(number);
    throw io::input_error("no thread can be started to read the archive: " + error.code().message() +
                              "; raise the limit on processes (ulimit -u), or give fewer --threads",
                          0);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(number);
    throw;
  }
}

std::vector<skipped_names> archive_inputs::skipped() const {
  const std::scoped_lock lock(mutex_);
  return skipped_;
}

void archive_inputs::work(task what) noexcept {
  try {
    walk(what);
  } catch (...) {
    failures_.note(std::current_exception());
  }
  what.context.release();
  what.source.reset();  // before somebody opens it again
  {
    const std::scoped_lock lock(mutex_);
    free_.push_back(what.thread);
  }
  what.right.release();
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
  auto blocks = std::make_shared<block_reader>(blocks_, how_.own_blocks, *what.source, notes_.read, stop_);
  const auto stream_end = make_stream_cancel(where_.streams, what.source);
  block_reader::start(where_.streams, blocks, what.source, std::move(what.head));
  const struct end_of_reading {
    block_reader& blocks;
    async::deferred_call& stream;
    ~end_of_reading() {
      blocks.give_up();
      stream.post();
      blocks.wait_for_end();
    }
  } end{*blocks, *stream_end};
  source_bytes bytes(*blocks, where_.streams, stop_);
  walk.run(what.input, what.name, bytes, what.forced);
}

}  // namespace gpuhist::pipeline
