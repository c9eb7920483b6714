#include "pipeline/flow/inputs/plain_files.hpp"

#include "pipeline/counts/input_failure.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace gpuhist::pipeline {

plain_files::plain_files(const settings& options, cutter& cut, rolling_counts& counts, stage_clock& clock,
                         async::executor& pool, async::first_failure& failures, std::stop_token stop)
    : options_(options),
      cutter_(cut),
      counts_(counts),
      clock_(clock),
      pool_(pool),
      failures_(failures),
      stop_(std::move(stop)),
      in_flight_(options.in_flight) {}

async::task<> plain_files::add(input_id input, std::shared_ptr<const io::file_source> source, io::file_part part) {
  const auto file = std::make_shared<open_file>();
  file->input = input;
  file->source = std::move(source);
  file->committed = part.begin;
  file->end = part.end;
  std::exception_ptr error;
  try {
    co_await start_all(file);
  } catch (...) {
    error = std::current_exception();
  }
  if (error || stop_.stop_requested()) {
    // before all reads have ended, the number of committed bytes is not final
    const async::semaphore::permit all = co_await all_read();
    const std::scoped_lock lock(mutex_);
    fail(*file, error);
  }
  co_await read_growing_files();
}

async::task<> plain_files::start_all(std::shared_ptr<open_file> file) {
  std::uint64_t offset = file->committed;
  const std::uint64_t size = std::max(file->end.value_or(file->source->size_hint()), offset);
  do {  // also once if the size is 0, because the size may be wrong
    async::semaphore::permit permit = co_await in_flight_.acquire();
    if (stop_.stop_requested() || has_ended(*file)) break;
    auto next = std::make_unique<range>(*this, file, offset, std::move(permit));
    if (size > offset) {
      next->target.emplace(cutter_,
                           co_await cutter_.reserve(std::min<std::uint64_t>(size - offset, options_.range_bytes)));
    }
    offset += next->room().size();
    next->last = offset == size;
    start(std::move(next));
  } while (offset < size);
}

async::task<> plain_files::drain() {
  static_cast<void>(co_await all_read());
  co_await read_growing_files();
}

void plain_files::start(std::unique_ptr<range> next) {
  range* begun = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    ranges_.push_back(std::move(next));
    if (reading_ < options_.readers) {
      clock_.note_in_flight(++reading_);
      begun = begin_next();
    }
  }
  if (begun != nullptr) pool_.post(*begun);
}

void plain_files::read_ranges(range& first) noexcept {
  for (range* next = &first; next != nullptr;) {
    read(*next);
    {
      const std::scoped_lock lock(mutex_);
      next->is_read = true;
      commit_oldest();
      next = begin_next();
      if (next == nullptr) --reading_;
    }
    if (next != nullptr && !options_.keeps_threads) return pool_.post(*next);
  }
}

// The oldest range that no thread has begun to read, or null. Under the lock.
plain_files::range* plain_files::begin_next() noexcept {
  return begun_ < ranges_.size() ? ranges_[begun_++].get() : nullptr;
}

// Under the lock.
void plain_files::commit_oldest() noexcept {
  while (!ranges_.empty() && ranges_.front()->is_read) {
    try {
      settle(*ranges_.front());
    } catch (...) {
      failures_.note(std::current_exception());
    }
    ranges_.pop_front();
    --begun_;
  }
}

// On a thread of the pool.
void plain_files::read(range& item) {
  const stopwatch busy(clock_.busy_nanoseconds);
  try {
    item.filled = item.file->source->read_at(item.room(), item.offset);
    if (item.last && !item.file->end && item.filled == item.room().size()) {
      std::array<std::byte, 1> beyond{};
      item.is_longer = item.file->source->read_at(beyond, item.offset + item.filled) > 0;
    }
  } catch (...) {
    item.error = std::current_exception();
  }
  clock_.bytes += item.filled;
}

// Under the lock.
void plain_files::settle(range& oldest) {
  open_file& file = *oldest.file;
  const std::size_t kept = file.ended ? 0 : oldest.filled;
  file.committed += kept;
  if (oldest.target) oldest.target->commit(kept, {.input = file.input});
  if (file.ended) return;
  if (oldest.error) {
    fail(file, oldest.error);
  } else if (oldest.is_longer) {
    growing_.push_back(oldest.file);
  } else if (oldest.last || oldest.filled < oldest.room().size()) {
    finish(file);
  }
}

async::task<> plain_files::read_growing_files() {
  std::vector<std::shared_ptr<open_file>> growing;
  {
    const std::scoped_lock lock(mutex_);
    growing.swap(growing_);
  }
  for (const auto& file : growing) co_await read_rest(*file);
}

// Reads range after range. Only reading finds the end of a file that is growing, or that is in /proc.
async::task<> plain_files::read_rest(open_file& file) {
  std::exception_ptr error;
  bool at_end = false;
  while (!at_end && !error && !stop_.stop_requested()) {
    range next(*this, {std::shared_ptr<void>{}, &file}, file.committed);  // does not own the file
    try {
      next.target.emplace(cutter_, co_await cutter_.reserve(options_.range_bytes));
    } catch (...) {
      error = std::current_exception();
      break;
    }
    read(next);
    file.committed += next.filled;
    next.target->commit(next.filled, {.input = file.input});
    at_end = next.filled < next.room().size();
    error = next.error;
  }
  const std::scoped_lock lock(mutex_);
  if (at_end && !error) {
    finish(file);
  } else {
    fail(file, error);
  }
}

bool plain_files::has_ended(const open_file& file) {
  const std::scoped_lock lock(mutex_);
  return file.ended;
}

void plain_files::finish(open_file& file) {
  file.ended = true;
  file.source->leave_offset_at(file.committed);
  counts_.finish(file.input, file.committed);
}

// Does nothing if the file has already ended.
void plain_files::fail(open_file& file, const std::exception_ptr& error) {
  if (file.ended) return;
  file.ended = true;
  file.source->leave_offset_at(file.committed);
  counts_.fail(file.input, file.committed, error ? failure_from(error) : left_at(file.committed));
}

}  // namespace gpuhist::pipeline
