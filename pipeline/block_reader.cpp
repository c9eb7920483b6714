#include "pipeline/block_reader.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace asio = boost::asio;
using boost::system::error_code;

block_reader::block_reader(const settings& how, io::source& from, stage_clock& clock,
                           const asio::any_io_executor& executor, std::stop_token stop)
    : source_(from),
      clock_(clock),
      stop_(std::move(stop)),
      block_bytes_(how.block_bytes),
      memory_(std::make_unique_for_overwrite<std::byte[]>(how.block_bytes * how.blocks)),
      filled_(executor, how.blocks + 1),
      empty_(executor, how.blocks) {
  for (std::size_t i = 0; i < how.blocks; ++i) {
    empty_.try_send(error_code{}, block{.memory = memory_.get() + i * block_bytes_});
  }
}

asio::awaitable<void> block_reader::fill(std::vector<std::byte> head) {
  block last{.end = true};
  try {
    while (!stop_.stop_requested()) {
      block next = co_await empty_.async_receive(asio::use_awaitable);
      if (!head.empty()) {
        next.size = std::min(head.size(), block_bytes_);
        std::copy_n(head.begin(), next.size, next.memory);
        head.erase(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(next.size));
      } else {
        next.size = co_await read_into({next.memory, block_bytes_});
      }
      if (next.size == 0) break;
      filled_.try_send(error_code{}, next);
    }
  } catch (const boost::system::system_error& e) {
    // give_up() closes the channel: nobody waits for more
    if (e.code() != asio::experimental::channel_errc::channel_closed) last.error = std::current_exception();
  } catch (...) {
    last.error = std::current_exception();
  }
  filled_.try_send(error_code{}, last);  // there is room for every block and this one
}

// Whole blocks of a file; of a stream what there is, so that a slow one is decoded as it comes.
asio::awaitable<std::size_t> block_reader::read_into(std::span<std::byte> out) {
  if (const auto* file = std::get_if<io::file_source>(&source_)) {
    const stopwatch busy(clock_.busy_nanoseconds);
    const std::size_t read = file->read_at(out, offset_);
    offset_ += read;
    clock_.bytes += read;
    co_return read;
  }
  auto& stream = std::get<io::stream_source>(source_);
  for (;;) {
    {
      const stopwatch busy(clock_.busy_nanoseconds);
      if (const auto read = stream.read_some(out)) {
        clock_.bytes += *read;
        co_return *read;
      }
    }
    const stopwatch waiting(clock_.waiting_nanoseconds);
    if (!co_await stream.readable()) co_return 0;
  }
}

asio::awaitable<block> block_reader::next() { co_return co_await filled_.async_receive(asio::use_awaitable); }

void block_reader::give_back(const block& used) { empty_.try_send(error_code{}, block{.memory = used.memory}); }

void block_reader::give_up() { empty_.close(); }

}  // namespace gpuhist::pipeline
