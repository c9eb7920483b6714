#include "pipeline/plain_files.hpp"

#include "pipeline/input_failure.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace gpuhist::pipeline {
namespace asio = boost::asio;

plain_files::plain_files(const settings& how, cutter& cut, rolling_counts& counts, stage_clock& clock,
                         const asio::any_io_executor& pool, std::stop_token stop)
    : how_(how),
      cutter_(cut),
      counts_(counts),
      clock_(clock),
      pool_(pool),
      stop_(std::move(stop)),
      completed_(pool, how.in_flight) {}

asio::awaitable<void> plain_files::add(input_id input, std::shared_ptr<const io::file_source> source) {
  const auto file = std::make_shared<open_file>();
  file->input = input;
  file->source = std::move(source);
  const std::uint64_t size = file->source->size_hint();
  std::uint64_t offset = 0;
  do {  // also once for an empty file: its size is no proof
    while (ranges_.size() >= how_.in_flight) co_await settle_oldest();
    if (file->ended || stop_.stop_requested()) break;
    range next{.file = file, .offset = offset};
    if (size > 0) next.where = co_await room_for(std::min<std::uint64_t>(size - offset, how_.range_bytes));
    offset += next.where.bytes.size();
    next.last = offset == size;
    start(ranges_.emplace_back(std::move(next)));
    co_await settle_finished();
  } while (offset < size);
  if (offset < size || stop_.stop_requested()) {
    while (!ranges_.empty()) co_await settle_oldest();
    if (!file->ended) fail(*file, nullptr);
  }
}

// Ranges that were read but not committed hold slots that nobody counts: while no slot is free they come first.
asio::awaitable<place> plain_files::room_for(std::uint64_t bytes) {
  while (!ranges_.empty()) {
    if (const auto room = cutter_.try_reserve(bytes)) co_return *room;
    co_await settle_oldest();
  }
  co_return co_await cutter_.reserve(bytes);
}

asio::awaitable<void> plain_files::settle_finished() {
  while (completed_.try_receive([](boost::system::error_code, range* it) { it->done = true; })) {
  }
  while (!ranges_.empty() && ranges_.front().done) co_await settle_oldest();
}

asio::awaitable<void> plain_files::drain() {
  while (!ranges_.empty()) co_await settle_oldest();
}

void plain_files::start(range& each) {
  asio::post(pool_, [this, &each] {
    read(each);
    completed_.try_send(boost::system::error_code{}, &each);  // there is room for every range in flight
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

asio::awaitable<void> plain_files::settle_oldest() {
  range& oldest = ranges_.front();
  while (!oldest.done) {
    range* finished = nullptr;
    if (!completed_.try_receive([&](boost::system::error_code, range* it) { finished = it; })) {
      finished = co_await completed_.async_receive(asio::use_awaitable);
    }
    finished->done = true;
  }
  const range settled = std::move(oldest);
  ranges_.pop_front();
  open_file& file = *settled.file;
  const std::size_t kept = file.ended ? 0 : settled.filled;
  file.committed += kept;
  if (settled.where.in != nullptr) cutter_.commit(settled.where, kept, file.input, 0);
  if (file.ended) co_return;

  if (settled.error) {
    fail(file, settled.error);
  } else if (settled.goes_on) {
    co_await read_on(file);
  } else if (settled.last || settled.filled < settled.where.bytes.size()) {
    file.ended = true;
    file.source->leave_offset_at(file.committed);
    counts_.finish(file.input, file.committed);
  }
}

// One range after the other: where a file ends that is still growing (or is in /proc) only reading can tell.
asio::awaitable<void> plain_files::read_on(open_file& file) {
  std::exception_ptr error;
  bool at_end = false;
  while (!at_end && !error && !stop_.stop_requested()) {
    const place where = co_await cutter_.reserve(how_.range_bytes);
    range next{.where = where, .offset = file.committed};
    next.file = std::shared_ptr<open_file>(std::shared_ptr<void>{}, &file);  // borrowed for the call
    read(next);
    file.committed += next.filled;
    cutter_.commit(where, next.filled, file.input, 0);
    at_end = next.filled < where.bytes.size();
    error = next.error;
  }
  if (at_end && !error) {
    file.ended = true;
    file.source->leave_offset_at(file.committed);
    counts_.finish(file.input, file.committed);
  } else {
    fail(file, error);
  }
}

void plain_files::fail(open_file& file, const std::exception_ptr& error) {
  file.ended = true;
  file.source->leave_offset_at(file.committed);
  counts_.fail(file.input, file.committed, error ? failure_text(error) : left_at(file.committed));
}

}  // namespace gpuhist::pipeline
