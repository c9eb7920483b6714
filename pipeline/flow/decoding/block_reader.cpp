#include "pipeline/flow/decoding/block_reader.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

bool block_pool::take_extra() {
  const std::scoped_lock lock(mutex_);
  if (extra_left_ == 0) return false;
  --extra_left_;
  return true;
}

void block_pool::release_extra() noexcept {
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

void block_pool::release_memory(std::unique_ptr<std::byte[]> memory) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(memory));
  } catch (const std::bad_alloc&) {
    memory.reset();  // without space in the list, the memory is freed
  }
}

// The permit to fill one block, and the memory of the block. The destructor returns both.
class block_reader::credit {
 public:
  credit(std::shared_ptr<account> owner, async::semaphore::permit own) noexcept
      : account_(std::move(owner)), own_(std::move(own)) {}
  credit(const credit&) = delete;
  credit& operator=(const credit&) = delete;
  ~credit() {
    if (memory_) account_->pool->release_memory(std::move(memory_));
    if (!own_) account_->pool->release_extra();
  }

  std::byte* take_memory() {
    memory_ = account_->pool->take_memory();
    return memory_.get();
  }

 private:
  std::shared_ptr<account> account_;  // destroyed last
  async::semaphore::permit own_;      // empty: this is an extra block
  std::unique_ptr<std::byte[]> memory_{};
};

block_reader::block_reader(std::shared_ptr<block_pool> pool, std::size_t own, io::source& source, stage_clock& clock,
                           std::stop_token stop)
    : source_(source),
      clock_(clock),
      stop_(std::move(stop)),
      account_(std::make_shared<account>(std::move(pool), own)) {}

void block_reader::start(async::executor& on, std::shared_ptr<block_reader> reader, std::shared_ptr<io::source> source,
                         std::vector<std::byte> head) {
  block_reader& started = *reader;
  // the consumer never waits for a reader that has ended, whatever the cause
  async::spawn(on, started.fill(std::move(source), std::move(head)),
               [reader = std::move(reader)](std::exception_ptr error) noexcept {
                 reader->filled_.end({.end = true, .error = std::move(error)});
                 reader->ended_ = true;
                 reader->ended_.notify_all();
               });
}

// Returns null after give_up().
async::task<std::shared_ptr<std::byte>> block_reader::memory() {
  async::semaphore::permit own = account_->own.try_acquire();
  const bool extra = !own && may_take_extra_ && account_->pool->take_extra();
  if (!own && !extra) own = co_await account_->own.acquire();
  if (!own && !extra) co_return nullptr;
  std::shared_ptr<credit> permit;
  try {
    permit = std::make_shared<credit>(account_, std::move(own));
  } catch (...) {
    if (extra) account_->pool->release_extra();
    throw;
  }
  std::byte* const bytes = permit->take_memory();
  co_return std::shared_ptr<std::byte>(std::move(permit), bytes);
}

async::task<> block_reader::fill(std::shared_ptr<io::source>, std::vector<std::byte> head) {
  while (!stop_.stop_requested() && !given_up_) {
    const std::shared_ptr<std::byte> target = co_await memory();
    if (!target) break;
    const std::span<std::byte> room(target.get(), account_->pool->block_bytes());
    std::size_t size = std::min(head.size(), room.size());
    if (size != 0) {
      std::copy_n(head.begin(), size, room.begin());
      head.erase(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(size));
    } else {
      size = co_await read_into(room);
    }
    if (size == 0) break;
    filled_.push(block{.memory = target, .bytes = room.first(size)});
  }
}

// Reads whole blocks of a file. Of a stream it reads the bytes that are available, so that a slow stream is decoded
// without delay.
async::task<std::size_t> block_reader::read_into(std::span<std::byte> out) {
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

// Takes an available block at once. If each block waited for its turn in the pool, the splitter could not keep up with
// many decoders.
async::task<block> block_reader::next() { return filled_.take(); }

std::size_t block_reader::own_more(std::size_t blocks) {
  std::size_t taken = 0;
  while (taken < blocks && account_->pool->take_extra()) ++taken;
  account_->taken += taken;
  account_->own.add(taken);
  return account_->number += taken;
}

void block_reader::give_up() noexcept {
  given_up_ = true;
  account_->own.close();
}

}  // namespace gpuhist::pipeline
