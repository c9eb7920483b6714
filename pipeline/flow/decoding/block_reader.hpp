// Reads compressed bytes ahead of their decoders, in blocks: one coroutine that fills them, one that takes them, and
// any number of decoders that let go of them. A reader has a few blocks for certain, and more where others do not need
// them.
#pragma once

#include "async/channel.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "io/source.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// Memory for the blocks of all readers: made when it is first needed, used again, and bounded. Thread-safe.
class block_pool {
 public:
  /// `extra`: blocks beyond those that every reader has for certain.
  block_pool(std::size_t block_bytes, std::size_t extra) : block_bytes_(block_bytes), extra_left_(extra) {}

  [[nodiscard]] std::size_t block_bytes() const { return block_bytes_; }

  /// The right to one extra block, if one is left.
  bool take_extra();
  void release_extra() noexcept;

  std::unique_ptr<std::byte[]> take_memory();  ///< throws std::bad_alloc
  void release_memory(std::unique_ptr<std::byte[]> memory) noexcept;

 private:
  const std::size_t block_bytes_;
  std::mutex mutex_;
  std::size_t extra_left_;
  std::vector<std::unique_ptr<std::byte[]>> free_;
};

/// Compressed bytes on loan: their memory goes back when the last copy of `memory` is gone.
struct block {
  std::shared_ptr<const std::byte> memory{};
  std::span<const std::byte> bytes{};
  bool lost = false;           ///< in them, or from them on, nobody knows where frames end
  bool end = false;            ///< there is no more
  std::exception_ptr error{};  ///< with `end`: what went wrong
};

/// One input's blocks, in order. `next` is for one consumer; the reading runs beside it.
class block_reader {
 public:
  /// `own`: how many blocks are the reader's for certain, 2 or more.
  block_reader(std::shared_ptr<block_pool> pool, std::size_t own, io::source& from, stage_clock& clock,
               std::stop_token stop);

  /// Fills blocks until the source ends, fails, or give_up() is called; first of all with `head`, bytes of a stream
  /// that were read before. On the executor of the source (any pool for files). Holds the reader and `source`, which
  /// the reader reads, until the end. Throws std::bad_alloc, and then nothing was begun.
  static void start(async::executor& on, std::shared_ptr<block_reader> reader, std::shared_ptr<io::source> source,
                    std::vector<std::byte> head);

  /// The next block; `end` when there is no more, also after a stop.
  async::task<block> next();

  /// From now on extra blocks are of use: there are several decoders. Thread-safe.
  void read_farther_ahead() { farther_ = true; }

  /// No more blocks are wanted: the reading ends soon. Safe at any time.
  void give_up() noexcept;

  /// Blocks the calling thread, which is none of the executor's, until the reading has ended and nothing of the source
  /// is in use any more.
  void wait_for_end() noexcept { ended_.wait(false); }

 private:
  // What blocks on loan need of the reader, which may be gone before them.
  struct account {
    account(std::shared_ptr<block_pool> blocks, std::size_t own_blocks) : pool(std::move(blocks)), own(own_blocks) {}
    std::shared_ptr<block_pool> pool;
    async::semaphore own;  // the reader's own blocks
  };

  // The right to fill one block: given back with the block.
  class credit;

  async::task<> fill(std::shared_ptr<io::source> held, std::vector<std::byte> head);
  async::task<std::shared_ptr<std::byte>> memory();
  async::task<std::size_t> read_into(std::span<std::byte> out);

  io::source& source_;
  stage_clock& clock_;
  std::stop_token stop_;
  std::shared_ptr<account> account_;
  std::atomic<bool> farther_{false};
  std::atomic<bool> given_up_{false};
  std::uint64_t offset_ = 0;  // of files
  async::channel<block> filled_;
  std::atomic<bool> ended_{false};
};

}  // namespace gpuhist::pipeline
