// Reads compressed bytes ahead of their decoders, in blocks: one coroutine that fills them, one that takes them, and
// any number of decoders that let go of them. A reader has a few blocks for certain, and more where others do not need
// them.
#pragma once

#include "io/source.hpp"
#include "pipeline/statistics/stage_clock.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>

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
  void give_back_extra();

  std::unique_ptr<std::byte[]> take_memory();
  void give_back_memory(std::unique_ptr<std::byte[]> memory);

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

/// One input's blocks, in order. `next` is for one consumer; `fill` runs beside it.
class block_reader {
 public:
  /// `own`: how many blocks are the reader's for certain, 2 or more.
  block_reader(std::shared_ptr<block_pool> pool, std::size_t own, io::source& from, stage_clock& clock,
               const boost::asio::any_io_executor& executor, std::stop_token stop);

  /// Fills blocks until the source ends, fails, or give_up() is called; first of all with `head`, bytes of a stream
  /// that were read before. To be spawned on the executor of the source (any pool for files). Does not throw.
  boost::asio::awaitable<void> fill(std::vector<std::byte> head);

  /// The next block; `end` when there is no more, also after a stop.
  boost::asio::awaitable<block> next();

  /// From now on extra blocks are of use: there are several decoders. Thread-safe.
  void read_farther_ahead() { farther_ = true; }

  /// No more blocks are wanted: fill() ends soon. Safe at any time.
  void give_up();

 private:
  using permits = boost::asio::experimental::concurrent_channel<void(boost::system::error_code)>;
  using channel = boost::asio::experimental::concurrent_channel<void(boost::system::error_code, block)>;

  // What blocks on loan need of the reader, which may be gone before them.
  struct account {
    account(std::shared_ptr<block_pool> blocks, const boost::asio::any_io_executor& executor, std::size_t own_blocks)
        : pool(std::move(blocks)), own(executor, own_blocks) {}
    std::shared_ptr<block_pool> pool;
    permits own;  // a message in it is the right to one of the reader's own blocks
  };

  // The right to fill one block: given back with the block.
  class credit;

  boost::asio::awaitable<std::shared_ptr<std::byte>> memory();
  boost::asio::awaitable<std::size_t> read_into(std::span<std::byte> out);

  io::source& source_;
  stage_clock& clock_;
  std::stop_token stop_;
  std::shared_ptr<account> account_;
  std::atomic<bool> farther_{false};
  std::atomic<bool> given_up_{false};
  std::uint64_t offset_ = 0;  // of files
  channel filled_;
};

}  // namespace gpuhist::pipeline
