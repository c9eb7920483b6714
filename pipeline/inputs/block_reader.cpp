#include "pipeline/inputs/block_reader.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace asio = boost::asio;
using boost::system::error_code;

bool block_pool::take_extra() {
  const std::scoped_lock lock(mutex_);
  if (extra_left_ == 0) return false;
  --extra_left_;
  return true;
}

void block_pool::give_back_extra() {
  const std::scoped_lock lock(mutex_);
  ++extra_left_;
}

std::unique_ptr<std::byte[]> block_pool::take_memory() {
  {
    const std::scoped_lock lock(mutex_);
    if (!free_.empty()) {
      auto memory = std::move(free_.back());
      free_.pop_back();
      return memory;
    }
  }
  return std::make_unique_for_overwrite<std::byte[]>(block_bytes_);
}

void block_pool::give_back_memory(std::unique_ptr<std::byte[]> memory) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(std::move(memory));
}

class block_reader::credit {
 public:
  credit(std::shared_ptr<account> from, bool extra) : from_(std::move(from)), extra_(extra) {}
  credit(credit&& other) noexcept : from_(std::move(other.from_)), extra_(other.extra_) {}
  credit& operator=(credit&&) = delete;
  ~credit() {
    if (!from_) return;
    if (extra_) {
      from_->pool->give_back_extra();
    } else {
      from_->own.try_send(error_code{});  // there is room for all of them
    }
  }

  [[nodiscard]] block_pool& pool() const { return *from_->pool; }

 private:
  std::shared_ptr<account> from_;
  bool extra_;
};

block_reader::block_reader(std::shared_ptr<block_pool> pool, std::size_t own, io::source& from, stage_clock& clock,
                           const asio::any_io_executor& executor, std::stop_token stop)
    : source_(from),
      clock_(clock),
      stop_(std::move(stop)),
      account_(std::make_shared<account>(std::move(pool), executor, own)),
      filled_(executor, std::numeric_limits<std::size_t>::max()) {
  for (std::size_t i = 0; i < own; ++i) account_->own.try_send(error_code{});
}

asio::awaitable<std::shared_ptr<std::byte>> block_reader::memory() {
  bool extra = false;
  if (!account_->own.try_receive([](error_code) {})) {
    extra = farther_ && account_->pool->take_extra();
    if (!extra) co_await account_->own.async_receive(asio::use_awaitable);
  }
  auto right = std::make_shared<credit>(account_, extra);
  std::byte* const memory = right->pool().take_memory().release();
  co_return std::shared_ptr<std::byte>(memory, [right = std::move(right)](std::byte* done) {
    right->pool().give_back_memory(std::unique_ptr<std::byte[]>(done));
  });
}

asio::awaitable<void> block_reader::fill(std::vector<std::byte> head) {
  block last{.end = true};
  try {
    while (!stop_.stop_requested() && !given_up_) {
      const std::shared_ptr<std::byte> into = co_await memory();
      const std::span<std::byte> room(into.get(), account_->pool->block_bytes());
      std::size_t size = std::min(head.size(), room.size());
      if (size != 0) {
        std::copy_n(head.begin(), size, room.begin());
        head.erase(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(size));
      } else {
        size = co_await read_into(room);
      }
      if (size == 0) break;
      filled_.try_send(error_code{}, block{.memory = into, .bytes = room.first(size)});
    }
  } catch (const boost::system::system_error& e) {
    // give_up() closes the channel: nobody waits for more
    if (e.code() != asio::experimental::channel_errc::channel_closed) last.error = std::current_exception();
  } catch (...) {
    last.error = std::current_exception();
  }
  filled_.try_send(error_code{}, last);
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

// A block that is there is taken at once: a turn of the pool for each would let the splitting fall behind many
// decoders.
asio::awaitable<block> block_reader::next() {
  block there;
  if (filled_.try_receive([&](error_code, block&& next) { there = std::move(next); })) co_return there;
  co_return co_await filled_.async_receive(asio::use_awaitable);
}

void block_reader::give_up() {
  given_up_ = true;
  account_->own.close();
}

}  // namespace gpuhist::pipeline
