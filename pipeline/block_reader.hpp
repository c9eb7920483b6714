// Reads compressed bytes ahead of their decoder: a few blocks, one coroutine that fills them, one that takes them.
#pragma once

#include "io/source.hpp"
#include "pipeline/stage_clock.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace gpuhist::pipeline {

/// A block of compressed bytes on loan from the reader, or the end (`end`), or what went wrong (`error`).
struct block {
  std::byte* memory = nullptr;
  std::size_t size = 0;
  bool end = false;
  std::exception_ptr error{};

  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory, size}; }
};

/// One input's blocks, in order. `next` and `give_back` are for one consumer; `fill` runs beside it.
class block_reader {
 public:
  struct settings {
    std::size_t block_bytes = 0;
    std::size_t blocks = 0;  ///< 2 or more
  };

  block_reader(const settings& how, io::source& from, stage_clock& clock, const boost::asio::any_io_executor& executor,
               std::stop_token stop);

  /// Fills blocks until the source ends, fails, or give_up() is called; first of all with `head`, bytes of a stream
  /// that were read before. To be spawned on the executor of the source (any pool for files). Does not throw.
  boost::asio::awaitable<void> fill(std::vector<std::byte> head);

  /// The next block; `end` when there is no more, also after a stop.
  boost::asio::awaitable<block> next();

  /// The consumer is done with a block of next().
  void give_back(const block& used);

  /// No more blocks are wanted: fill() ends soon. Safe at any time.
  void give_up();

 private:
  using channel = boost::asio::experimental::concurrent_channel<void(boost::system::error_code, block)>;

  boost::asio::awaitable<std::size_t> read_into(std::span<std::byte> out);

  io::source& source_;
  stage_clock& clock_;
  std::stop_token stop_;
  std::size_t block_bytes_;
  std::uint64_t offset_ = 0;  // of files
  std::unique_ptr<std::byte[]> memory_;
  channel filled_;
  channel empty_;
};

}  // namespace gpuhist::pipeline
