#include "pipeline/flow/inputs/plain_files.hpp"

#include "pipeline/counts/input_report.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <thread>
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
      in_flight_(options.in_flight) {
  idle_.reserve(options.readers);
  while (readers_.size() < options.readers) idle_.push_back(&readers_.emplace_back(*this));
}

async::task<> plain_files::add(input_id input, std::shared_ptr<const io::file_source> source, io::file_range within) {
  const auto file = std::make_shared<open_file>(std::move(source), within.end,
                                                text_track({.counts = counts_}, {.input = input}, within.begin));
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
  constexpr std::uint64_t many = 16;
  std::uint64_t offset = file->text.bytes();
  const std::uint64_t size = std::max(file->end.value_or(file->source->size_hint()), offset);
  // shorter files are started ahead: a coroutine must be woken after each file whose ranges are reserved by readers
  if (options_.keeps_threads && (size - offset) / options_.range_bytes >= many * options_.readers) {
    unreserved rest{.file = std::move(file), .offset = offset, .end = size};  // g++ 12 destroys such a temporary twice
    co_return co_await let_readers_reserve(std::move(rest));
  }
  do {  // also once if the size is 0, because the size may be wrong
    async::semaphore::permit permit = co_await in_flight_.acquire();
    if (stop_.stop_requested() || has_ended(*file)) break;
    auto next = std::make_unique<range>(file, offset, std::move(permit));
    if (size > offset) {
      next->target.emplace(cutter_,
                           co_await cutter_.reserve(std::min<std::uint64_t>(size - offset, options_.range_bytes)));
    }
    offset += next->room().size();
    next->last = offset == size;
    start(std::move(next));
  } while (offset < size);
}

// Nothing else may be reserved meanwhile.
async::task<> plain_files::let_readers_reserve(unreserved rest) {
  {
    const std::scoped_lock reserving(reserving_mutex_);
    rest_ = std::move(rest);
    const std::scoped_lock lock(mutex_);
    readers_reserve_ = true;
    while (reader* const idle = idle_reader()) pool_.post(*idle);
  }
  while (!is_reserved()) co_await all_reserved_.wait();
  const std::scoped_lock reserving(reserving_mutex_);
  rest_ = {};
  if (reserving_error_) std::rethrow_exception(std::exchange(reserving_error_, nullptr));
}

bool plain_files::is_reserved() {
  const std::scoped_lock lock(mutex_);
  return !readers_reserve_;
}

async::task<> plain_files::drain() {
  static_cast<void>(co_await all_read());
  co_await read_growing_files();
}

void plain_files::start(std::unique_ptr<range> next) {
  reader* idle = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    ranges_.push_back(std::move(next));
    idle = idle_reader();
  }
  if (idle != nullptr) pool_.post(*idle);
}

// A reader that is to be posted, or null. Under the lock.
plain_files::reader* plain_files::idle_reader() noexcept {
  if (idle_.empty()) return nullptr;
  reader* const taken = idle_.back();
  idle_.pop_back();
  return taken;
}

void plain_files::read_ranges(reader& self) noexcept {
  while (range* const next = next_for(self)) {
    read(*next);
    {
      const std::scoped_lock lock(mutex_);
      --reading_;
      next->is_read = true;
      commit_oldest();
    }
    if (!options_.keeps_threads) return pool_.post(self);
  }
}

// Null: there is none, and the reader is idle.
plain_files::range* plain_files::next_for(reader& self) noexcept {
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      if (range* const started = begin_next()) return started;
      if (!readers_reserve_) {
        idle_.push_back(&self);  // does not allocate: reserved for all readers
        return nullptr;
      }
    }
    if (range* const reserved = reserve_next()) return reserved;
  }
}

// Reserves the next range of the long file, and begins one. Blocks while no slot is free. Null: nothing is left, or the
// file has ended.
plain_files::range* plain_files::reserve_next() noexcept {
  const std::scoped_lock reserving(reserving_mutex_);
  if (is_reserved()) return nullptr;
  try {
    auto next = std::make_unique<range>(rest_.file, rest_.offset, in_flight_.acquire_blocking(stop_));
    std::optional<reservation> room;
    if (!has_ended(*rest_.file))
      room = room_in_slot(std::min<std::uint64_t>(rest_.end - rest_.offset, options_.range_bytes));
    if (!room || stop_.stop_requested()) {
      if (room) cutter_.give_back(*room);
      end_reserving(nullptr);
      return nullptr;
    }
    next->target.emplace(cutter_, *room);
    rest_.offset += room->bytes.size();
    next->last = rest_.offset == rest_.end;
    const std::scoped_lock lock(mutex_);
    ranges_.push_back(std::move(next));
    if (rest_.offset == rest_.end) {
      readers_reserve_ = false;
      all_reserved_.notify();
    }
    return begin_next();  // an older range may wait: it was started after this reader found none
  } catch (...) {
    end_reserving(std::current_exception());
    return nullptr;
  }
}

void plain_files::end_reserving(std::exception_ptr error) noexcept {
  const std::scoped_lock lock(mutex_);
  readers_reserve_ = false;
  reserving_error_ = std::move(error);
  all_reserved_.notify();
}

// Nothing if a stop was requested.
std::optional<reservation> plain_files::room_in_slot(std::uint64_t bytes) {
  const std::uint64_t user = std::hash<std::thread::id>{}(std::this_thread::get_id()) | 1U;
  if (const auto room = cutter_.try_reserve(bytes, user)) return room;
  return cutter_.reserve_blocking(bytes, stop_);
}

// The oldest range that no thread has begun to read, or null. Under the lock.
plain_files::range* plain_files::begin_next() noexcept {
  if (begun_ == ranges_.size()) return nullptr;
  clock_.note_in_flight(++reading_);
  return ranges_[begun_++].get();
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
  const busy_time busy(clock_);
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
  if (oldest.target) file.text.commit(*oldest.target, kept);
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
    range next({std::shared_ptr<void>{}, &file}, file.text.bytes());  // does not own the file
    try {
      next.target.emplace(cutter_, co_await cutter_.reserve(options_.range_bytes));
    } catch (...) {
      error = std::current_exception();
      break;
    }
    read(next);
    file.text.commit(*next.target, next.filled);
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
  file.source->leave_offset_at(file.text.bytes());
  file.text.finish();
}

// Does nothing if the file has already ended.
void plain_files::fail(open_file& file, const std::exception_ptr& error) {
  if (file.ended) return;
  file.ended = true;
  file.source->leave_offset_at(file.text.bytes());
  file.text.fail(error ? failure_from(error) : left_at(file.text.bytes()));
}

}  // namespace gpuhist::pipeline
