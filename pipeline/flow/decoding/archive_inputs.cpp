#include "pipeline/flow/decoding/archive_inputs.hpp"

#include "pipeline/flow/decoding/stream_cancel.hpp"

#include <system_error>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

archive_inputs::archive_inputs(settings options, const executors& executor_set, decode_contexts& contexts,
                               rolling_counts& counts, feed_notes& notes, async::first_failure& failures,
                               std::stop_token stop)
    : options_(std::move(options)),
      executors_(executor_set),
      contexts_(contexts),
      counts_(counts),
      notes_(notes),
      stop_(std::move(stop)),
      blocks_(std::make_shared<block_pool>(options_.block_bytes, 0)),
      failures_(failures),
      thread_permits_(contexts.size()),
      threads_(contexts.size()) {
  free_.reserve(threads_.size());
  for (std::size_t i = threads_.size(); i-- > 0;) free_.push_back(i);
}

async::task<> archive_inputs::add(input_id input, std::string name, std::shared_ptr<io::source> source,
                                  std::vector<std::byte> head, std::optional<io::archive_kind> forced) {
  task archive{
      .input = input, .name = std::move(name), .source = std::move(source), .head = std::move(head), .forced = forced};
  archive.permit = co_await thread_permits_.acquire();
  archive.context = co_await contexts_.acquire();
  start(std::move(archive));
}

// An earlier thread with the same number has finished its work, because the number is free.
void archive_inputs::start(task archive) {
  {
    const std::scoped_lock lock(mutex_);
    archive.thread = free_.back();
    free_.pop_back();
  }
  const std::size_t number = archive.thread;
  try {
    threads_[number] = std::jthread([this, moved = std::move(archive)]() mutable { work(std::move(moved)); });
  } catch (const std::system_error& error) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(number);
    throw io::input_error("no thread can be started to read the archive: " + error.code().message() +
                              "; raise the limit on processes (ulimit -u), or give fewer --threads",
                          0, io::failure_kind::out_of_memory);
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

void archive_inputs::work(task archive) noexcept {
  try {
    walk(archive);
  } catch (...) {
    failures_.note(std::current_exception());
  }
  archive.context.release();
  archive.source.reset();  // before another input opens the same file
  {
    const std::scoped_lock lock(mutex_);
    free_.push_back(archive.thread);
  }
  archive.permit.release();
}

void archive_inputs::walk(task& archive) {
  const piece_in_flight counted(notes_.decompress);
  archive_walk walk(options_.limits, *archive.context, executors_.pool, counts_, notes_, stop_);
  walk_source(archive, walk);
  const std::scoped_lock lock(mutex_);
  for (const skipped_names& each : walk.skipped()) add_skipped(skipped_, each);
}

void archive_inputs::walk_source(task& archive, archive_walk& walk) {
  if (std::holds_alternative<io::stream_source>(*archive.source)) return walk_stream(archive, walk);
  const auto& file = std::get<io::file_source>(*archive.source);
  source_bytes bytes(file, notes_, stop_);
  walk.run(archive.input, archive.name, bytes, archive.forced, &file);
  file.leave_offset_at(bytes.position());
}

// A stream is read on its own thread, which may use it slightly longer than this one.
void archive_inputs::walk_stream(task& archive, archive_walk& walk) {
  auto blocks = std::make_shared<block_reader>(blocks_, options_.own_blocks, *archive.source, notes_.read, stop_);
  const auto stream_end = make_stream_cancel(executors_.streams, archive.source);
  block_reader::start(executors_.streams, blocks, archive.source, std::move(archive.head));
  const struct end_of_reading {
    block_reader& blocks;
    async::deferred_call& stream;
    ~end_of_reading() {
      blocks.give_up();
      stream.post();
      blocks.wait_for_end();
    }
  } end{*blocks, *stream_end};
  source_bytes bytes(*blocks, executors_.streams, stop_);
  walk.run(archive.input, archive.name, bytes, archive.forced);
}

}  // namespace gpuhist::pipeline
