#include "pipeline/flow/decoding/block_reader.hpp"

#include "io/magic_search.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

// The permit to fill one block, and the memory of the block. The destructor returns both.
class block_reader::credit {
 public:
  credit(std::shared_ptr<account> owner, async::semaphore::permit own) noexcept
      : account_(std::move(owner)), own_(std::move(own)) {}
  credit(const credit&) = delete;
  credit& operator=(const credit&) = delete;
  ~credit() {
    if (memory_.bytes != nullptr) account_->pool->release_memory(memory_);
    if (!own_) account_->pool->release_extra();
  }

  block_memory* take_memory() {
    memory_ = account_->pool->take_memory();
    return &memory_;
  }

 private:
  std::shared_ptr<account> account_;  // destroyed last
  async::semaphore::permit own_;      // empty: this is an extra block
  block_memory memory_;
};

block_reader::block_reader(std::shared_ptr<block_pool> pool, std::size_t own, io::source& source, stage_clock& clock,
                           std::stop_token stop, const io::file_range& range)
    : source_(source),
      clock_(clock),
      stop_(std::move(stop)),
      account_(std::make_shared<account>(std::move(pool), own)),
      offset_(range.begin),
      end_(range.end.value_or(std::numeric_limits<std::uint64_t>::max())) {}

void block_reader::start(async::executor& on, std::shared_ptr<block_reader> reader, std::shared_ptr<io::source> source,
                         std::vector<std::byte> head) {
  block_reader& started = *reader;
  // the consumer never waits for a reader that has ended, whatever the cause
  async::spawn(on, started.fill(on, std::move(source), std::move(head)),
               [reader = std::move(reader)](std::exception_ptr error) noexcept {
                 reader->filled_.end({.end = true, .error = std::move(error)});
                 reader->ended_ = true;
                 reader->ended_.notify_all();
               });
}

// Consecutive blocks of a file that several threads read: each takes the next block that no other has taken. A helper
// that begins late finds none, and uses neither the file nor the reader.
class block_reader::concurrent_reads {
 public:
  static constexpr std::size_t most = 24;
  static constexpr std::size_t most_threads = 8;

  concurrent_reads(const block_reader& of, const io::file_source& file) : reader_(of), file_(file) {}

  /// Reads `bytes` bytes, at least 1. Before help().
  void add(std::shared_ptr<block_memory> memory, std::size_t bytes, std::uint64_t offset) {
    std::byte* const to = memory->bytes;
    reads_.push_back({.memory = std::move(memory), .room = {to, bytes}, .offset = offset});
  }

  [[nodiscard]] std::size_t size() const { return reads_.size(); }

  /// Reads until no block is left to take. Thread-safe.
  void help() noexcept {
    for (std::size_t i = taken_++; i < reads_.size(); i = taken_++) {
      read_one(reads_[i]);
      done_.add(1);
    }
  }

  /// If there is no memory for a helper, none is started.
  static void start_helper(async::executor& on, const std::shared_ptr<concurrent_reads>& all) noexcept {
    const auto helper = [](std::shared_ptr<concurrent_reads> reads) -> async::task<> {
      reads->help();
      co_return;
    };
    try {
      async::spawn(on, helper(all), [](const std::exception_ptr&) noexcept {});
    } catch (const std::bad_alloc&) {
      return;
    }
  }

  /// Awaitable, after help(): completes when all blocks have been read. Only threads that read now are waited for.
  [[nodiscard]] auto ended() noexcept { return done_.acquire(reads_.size()); }

  /// Pushes the blocks in order, up to one that is not full: the file ended there. Returns the bytes. Throws the error
  /// of the first read that failed, after the blocks before it were pushed.
  std::size_t push_to(async::channel<block>& filled) {
    std::size_t bytes = 0;
    bool is_full = true;
    std::exception_ptr error;
    for (read& each : reads_) {
      const std::shared_ptr<block_memory> memory = std::move(each.memory);  // a late helper keeps no block
      if (!is_full) continue;
      error = each.error;
      if (each.bytes > 0) {
        block next = block_of(memory, each.bytes);
        next.places = std::move(each.places);
        filled.push(std::move(next));
      }
      bytes += each.bytes;
      is_full = each.bytes == each.room.size();
    }
    if (error) std::rethrow_exception(error);
    return bytes;
  }

 private:
  struct read {
    std::shared_ptr<block_memory> memory{};
    std::span<std::byte> room{};
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
    place_list places{};
    std::exception_ptr error{};
  };

  // After a stop the block stays empty.
  void read_one(read& of) noexcept {
    if (!reader_.goes_on()) return;
    const busy_time busy(reader_.clock_);
    try {
      of.bytes = file_.read_at(of.room, of.offset);
    } catch (...) {
      of.error = std::current_exception();
    }
    if (reader_.is_looking_) of.places = reader_.places_in(of.room.first(of.bytes));
    reader_.clock_.bytes += of.bytes;
  }

  const block_reader& reader_;
  const io::file_source& file_;
  std::vector<read> reads_;  // its size is constant from the first help() on
  std::atomic<std::size_t> taken_{0};
  async::semaphore done_{0};
};

block block_reader::block_of(const std::shared_ptr<block_memory>& memory, std::size_t bytes) {
  return {.memory = {memory, memory->bytes}, .bytes = {memory->bytes, bytes}, .lent = memory.get()};
}

std::shared_ptr<block_memory> block_reader::lend(async::semaphore::permit own) {
  const bool extra = !own;
  std::shared_ptr<credit> permit;
  try {
    permit = std::make_shared<credit>(account_, std::move(own));
  } catch (...) {
    if (extra) account_->pool->release_extra();
    throw;
  }
  block_memory* const taken = permit->take_memory();
  return {std::move(permit), taken};
}

// Null: there is no memory for them, or they would take more than a sixteenth of that of the bytes. Without places, the
// bytes are searched by the splitter.
place_list block_reader::places_in(std::span<const std::byte> bytes) const noexcept {
  constexpr std::size_t bytes_of_place = 64;
  try {
    std::vector<std::uint32_t> found = io::places_of_magic(bytes, sought_);
    if (found.size() > bytes.size() / bytes_of_place) return nullptr;
    return std::make_shared<const std::vector<std::uint32_t>>(std::move(found));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Null: all blocks are in use.
std::shared_ptr<block_memory> block_reader::free_memory() {
  async::semaphore::permit own = account_->own.try_acquire();
  if (!own && !(may_take_extra_ && account_->pool->take_extra())) return nullptr;
  return lend(std::move(own));
}

// Waits for a block. Returns null after give_up().
async::task<std::shared_ptr<block_memory>> block_reader::memory() {
  std::shared_ptr<block_memory> free = free_memory();
  if (free) co_return free;
  async::semaphore::permit own = co_await account_->own.acquire();
  if (!own) co_return nullptr;
  co_return lend(std::move(own));
}

async::task<> block_reader::fill(async::executor& on, std::shared_ptr<io::source>, std::vector<std::byte> head) {
  for (std::span<const std::byte> rest = head; !rest.empty() && goes_on();) {
    const std::shared_ptr<block_memory> target = co_await memory();
    if (!target) co_return;
    const std::size_t size = std::min(rest.size(), account_->pool->block_bytes());
    std::copy_n(rest.data(), size, target->bytes);
    filled_.push(block_of(target, size));
    rest = rest.subspan(size);
  }
  std::exchange(head, {});
  const auto* const file = std::get_if<io::file_source>(&source_);
  if (file != nullptr) co_await fill_from(*file, on);
  if (file == nullptr) co_await fill_from(std::get<io::stream_source>(source_));
}

// Reads whole blocks. The size of the file is not trusted: the first block of a batch is read wherever it ends.
async::task<> block_reader::fill_from(const io::file_source& file, async::executor& on) {
  const std::uint64_t expected_end = std::min(end_, file.size_hint());
  while (goes_on() && offset_ < end_) {
    const auto reads = std::make_shared<concurrent_reads>(*this, file);
    std::shared_ptr<block_memory> target = co_await memory();
    std::uint64_t to = offset_;
    while (target && goes_on()) {
      const std::size_t bytes = std::min<std::uint64_t>(account_->pool->block_bytes(), end_ - to);
      reads->add(std::move(target), bytes, std::exchange(to, to + bytes));
      const bool adds = reads_concurrently_ && reads->size() < concurrent_reads::most && to < expected_end;
      target = adds ? free_memory() : nullptr;
    }
    if (reads->size() == 0) break;
    const std::size_t threads = std::min(reads->size(), concurrent_reads::most_threads);
    for (std::size_t i = 1; i < threads; ++i) concurrent_reads::start_helper(on, reads);
    reads->help();
    const async::semaphore::permit all = co_await reads->ended();
    const std::size_t bytes = reads->push_to(filled_);
    if (bytes == 0) break;
    offset_ += bytes;
  }
}

// Passes the bytes that are available, so that a slow stream is decoded without delay.
async::task<> block_reader::fill_from(io::stream_source& stream) {
  while (goes_on()) {
    const std::shared_ptr<block_memory> target = co_await memory();
    if (!target) break;
    const std::size_t size = co_await read_into({target->bytes, account_->pool->block_bytes()}, stream);
    if (size == 0) break;
    filled_.push(block_of(target, size));
  }
}

async::task<std::size_t> block_reader::read_into(std::span<std::byte> out, io::stream_source& stream) {
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
