#include "pipeline/flow/decoding/block_reader.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;

std::size_t blocks_of_slab(std::size_t block_bytes) {
  constexpr std::size_t large_block = std::size_t{128} << 10U;
  return block_bytes < large_block ? 1 : std::max<std::size_t>(1, huge_page_bytes / block_bytes);
}

}  // namespace

block_pool::block_pool(std::size_t block_bytes, std::size_t extra)
    : block_bytes_(block_bytes), blocks_of_slab_(blocks_of_slab(block_bytes)), extra_left_(extra) {}

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

std::byte* block_pool::take_memory() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) allocate_slab();
  std::byte* const memory = free_.back();
  free_.pop_back();
  return memory;
}

// A small input needs only some pages of the first slab.
void block_pool::allocate_slab() {
  const std::size_t bytes = block_bytes_ * blocks_of_slab_;
  slabs_.reserve(slabs_.size() + 1);
  free_.reserve((slabs_.size() + 1) * blocks_of_slab_);
  const bool is_huge = !slabs_.empty() && bytes % huge_page_bytes == 0;
  const std::align_val_t alignment{is_huge ? huge_page_bytes : alignof(std::max_align_t)};
  slabs_.emplace_back(static_cast<std::byte*>(::operator new(bytes, alignment)), slab_deleter{alignment});
  std::byte* const begin = slabs_.back().get();
  if (is_huge) ::madvise(begin, bytes, MADV_HUGEPAGE);  // optional
  for (std::size_t i = blocks_of_slab_; i-- > 0;) free_.push_back(begin + i * block_bytes_);
}

void block_pool::slab_deleter::operator()(std::byte* memory) const noexcept { ::operator delete(memory, alignment); }

void block_pool::release_memory(std::byte* memory) noexcept {
  const std::scoped_lock lock(mutex_);
  free_.push_back(memory);  // does not allocate
}

// The permit to fill one block, and the memory of the block. The destructor returns both.
class block_reader::credit {
 public:
  credit(std::shared_ptr<account> owner, async::semaphore::permit own) noexcept
      : account_(std::move(owner)), own_(std::move(own)) {}
  credit(const credit&) = delete;
  credit& operator=(const credit&) = delete;
  ~credit() {
    if (memory_ != nullptr) account_->pool->release_memory(memory_);
    if (!own_) account_->pool->release_extra();
  }

  std::byte* take_memory() { return memory_ = account_->pool->take_memory(); }

 private:
  std::shared_ptr<account> account_;  // destroyed last
  async::semaphore::permit own_;      // empty: this is an extra block
  std::byte* memory_ = nullptr;
};

block_reader::block_reader(std::shared_ptr<block_pool> pool, std::size_t own, io::source& source, stage_clock& clock,
                           std::stop_token stop, const io::file_part& part)
    : source_(source),
      clock_(clock),
      stop_(std::move(stop)),
      account_(std::make_shared<account>(std::move(pool), own)),
      offset_(part.begin),
      end_(part.end.value_or(std::numeric_limits<std::uint64_t>::max())) {}

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
    const busy_time busy(clock_);
    out = out.first(std::min<std::uint64_t>(out.size(), end_ - std::min(offset_, end_)));
    const std::size_t read = out.empty() ? 0 : file->read_at(out, offset_);
    offset_ += read;
    clock_.bytes += read;
    co_return read;
  }
  auto& stream = std::get<io::stream_source>(source_);
  for (;;) {
    {
      const busy_time busy(clock_);
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
