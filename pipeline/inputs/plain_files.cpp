#include "pipeline/inputs/plain_files.hpp"

#include "pipeline/inputs/input_failure.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace gpuhist::pipeline {
namespace asio = boost::asio;

plain_files::plain_files(const settings& how, cutter& cut, rolling_counts& counts, stage_clock& clock,
                         const asio::any_io_executor& pool, std::stop_token stop)
    : how_(how), cutter_(cut), counts_(counts), clock_(clock), pool_(pool), stop_(std::move(stop)), settled_(pool) {}

asio::awaitable<void> plain_files::add(input_id input, std::shared_ptr<const io::file_source> source) {
  const auto file = std::make_shared<open_file>();
  file->input = input;
  file->source = std::move(source);
  const std::uint64_t size = file->source->size_hint();
  std::uint64_t offset = 0;
  do {  // also once for an empty file: its size is no proof
    co_await until_in_flight_below(how_.in_flight);
    if (stop_.stop_requested() || has_ended(*file)) break;
    range next{.file = file, .offset = offset};
    if (size > 0) next.where = co_await cutter_.reserve(std::min<std::uint64_t>(size - offset, how_.range_bytes));
    offset += next.where.bytes.size();
    next.last = offset == size;
    start(std::move(next));
  } while (offset < size);
  if (stop_.stop_requested()) {
    co_await until_in_flight_below(1);
    const std::scoped_lock lock(mutex_);
    fail(*file, nullptr);
  }
  co_await read_on_where_files_grew();
}

asio::awaitable<void> plain_files::drain() {
  co_await until_in_flight_below(1);
  co_await read_on_where_files_grew();
}

void plain_files::start(range next) {
  range* started = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    started = &ranges_.emplace_back(std::move(next));
    clock_.most_in_flight = std::max<std::uint64_t>(clock_.most_in_flight, ranges_.size());
  }
  asio::post(pool_, [this, started] {
    read(*started);
    const std::scoped_lock lock(mutex_);
    started->done = true;
    while (!ranges_.empty() && ranges_.front().done) {
      settle(ranges_.front());
      ranges_.pop_front();
    }
    if (std::exchange(somebody_waits_, false)) settled_.notify();
  });
}

// On a thread of the pool.
void plain_files::read(range& each) {
  const stopwatch busy(clock_.busy_nanoseconds);
  try {
    each.filled = each.file->source->read_at(each.where.bytes, each.offset);
    if (each.last && each.filled == each.where.bytes.size()) {
      std::array<std::byte, 1> beyond{};
      each.goes_on = each.file->source->read_at(beyond, each.offset + each.filled) > 0;
    }
  } catch (...) {
    each.error = std::current_exception();
  }
  clock_.bytes += each.filled;
}

// Under the lock.
void plain_files::settle(const range& oldest) {
  open_file& file = *oldest.file;
  const std::size_t kept = file.ended ? 0 : oldest.filled;
  file.committed += kept;
  if (oldest.where.in != nullptr) cutter_.commit(oldest.where, kept, {.input = file.input});
  if (file.ended) return;
  if (oldest.error) {
    fail(file, oldest.error);
  } else if (oldest.goes_on) {
    growing_.push_back(oldest.file);
  } else if (oldest.last || oldest.filled < oldest.where.bytes.size()) {
    finish(file);
  }
}

asio::awaitable<void> plain_files::until_in_flight_below(std::size_t count) {
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      if (ranges_.size() < count) co_return;
      somebody_waits_ = true;
    }
    co_await settled_.wait();
  }
}

asio::awaitable<void> plain_files::read_on_where_files_grew() {
  std::vector<std::shared_ptr<open_file>> growing;
  {
    const std::scoped_lock lock(mutex_);
    growing.swap(growing_);
  }
  for (const auto& file : growing) co_await read_on(*file);
}

// One range after the other: where a file ends that is still growing (or is in /proc) only reading can tell.
asio::awaitable<void> plain_files::read_on(open_file& file) {
  std::exception_ptr error;
  bool at_end = false;
  while (!at_end && !error && !stop_.stop_requested()) {
    range next{.file = {std::shared_ptr<void>{}, &file}, .offset = file.committed};  // borrowed for the call
    next.where = co_await cutter_.reserve(how_.range_bytes);
    read(next);
    file.committed += next.filled;
    cutter_.commit(next.where, next.filled, {.input = file.input});
    at_end = next.filled < next.where.bytes.size();
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

// Does nothing for a file that has ended already.
void plain_files::fail(open_file& file, const std::exception_ptr& error) {
  if (file.ended) return;
  file.ended = true;
  file.source->leave_offset_at(file.committed);
  counts_.fail(file.input, file.committed, error ? failure_from(error) : left_at(file.committed));
}

}  // namespace gpuhist::pipeline
