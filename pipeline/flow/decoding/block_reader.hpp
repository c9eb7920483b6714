// Reads compressed bytes ahead of their decoders, in blocks. One coroutine reads the blocks, one takes them, and any
// number of decoders release them. Each reader has a few blocks of its own, and takes extra blocks while there are any.
//
// A file for a device is read by up to eight threads, up to 24 consecutive blocks at a time (docs/tuning.md, "Archives
// that a device decodes"):
//
//     fill()    memory for 24 | block 0 ...| block 2 ...| block 4 ... | pushes 0 to 23 | memory for 24 ...
//     helper                   | block 1 ... | block 3 ...|  ... 23 |
//     helper, begins late                                               finds no block
#pragma once

#include "async/channel.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "io/decoder.hpp"
#include "io/source.hpp"
#include "pipeline/flow/decoding/block_pool.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// Places in the bytes of a block, in order.
using place_list = std::shared_ptr<const std::vector<std::uint32_t>>;

/// A block of compressed bytes. Its memory returns to the pool when the last copy of `memory` is destroyed.
struct block {
  std::shared_ptr<const std::byte> memory{};
  std::span<const std::byte> bytes{};
  block_memory* lent = nullptr;  ///< what `memory` will return; may be exchanged. Null: other blocks use it, too
  bool lost = false;             ///< from some offset in this block on, the ends of frames are unknown
  bool end = false;              ///< there are no more blocks
  place_list places{};           ///< of what was looked for; null: nothing was
  std::exception_ptr error{};    ///< with `end`: the cause, if reading failed
  std::shared_ptr<const io::frame_context> part{};  ///< of a part that begins here (io::split_step); null: none does
};

/// The blocks of one input, in order. One consumer calls next(). Reading runs concurrently.
class block_reader {
 public:
  /// `own`: the number of blocks that belong to this reader, 2 or more. `range`: of a file.
  block_reader(std::shared_ptr<block_pool> pool, std::size_t own, io::source& source, stage_clock& clock,
               std::stop_token stop, const io::file_range& range = {});

  /// Several threads read a file, because its decoder is faster than one of them. Before start().
  void read_concurrently() noexcept { reads_concurrently_ = true; }

  /// The threads that read a file look for these bytes in each block. Before start(). `sought`: of static lifetime.
  void look_for(std::string_view sought) noexcept {
    sought_ = sought;
    is_looking_ = !sought.empty();
  }

  /// Thread-safe.
  void stop_looking() noexcept { is_looking_ = false; }

  /// Starts to fill blocks, until the source ends, fails, or give_up() is called. `head`: bytes that were already read
  /// from a stream; they come first. `on`: the executor of the source (any pool for files, whose threads then read).
  /// Keeps the reader and `source`, which the reader reads, alive until the end. Throws std::bad_alloc, and then
  /// nothing was started.
  static void start(async::executor& on, std::shared_ptr<block_reader> reader, std::shared_ptr<io::source> source,
                    std::vector<std::byte> head);

  /// The next block. A block with `end` after the last one, and after a stop.
  async::task<block> next();

  /// The next block, if it has been read.
  std::optional<block> try_next() { return filled_.try_take(); }

  /// Permits the use of extra blocks, because there are several decoders. Thread-safe.
  void read_farther_ahead() { may_take_extra_ = true; }

  /// Takes up to `blocks` extra blocks for this reader alone, until all its blocks are released. Returns the number of
  /// blocks that it has then. One caller at a time; any thread.
  std::size_t own_more(std::size_t blocks);

  /// Ends the reading soon. Thread-safe.
  void give_up() noexcept;

  /// Blocks the calling thread until the reading has ended and does not use the source any more. Not to be called on a
  /// thread of the executor.
  void wait_for_end() noexcept { ended_.wait(false); }

 private:
  // The part of the reader that blocks need. Blocks may outlive the reader.
  struct account {
    account(std::shared_ptr<block_pool> blocks, std::size_t own_blocks)
        : pool(std::move(blocks)), own(own_blocks), number(own_blocks) {}
    ~account() {
      for (; taken > 0; --taken) pool->release_extra();
    }
    std::shared_ptr<block_pool> pool;
    async::semaphore own;   // the reader's own blocks
    std::size_t number;     // of own blocks
    std::size_t taken = 0;  // extra blocks among them
  };

  class credit;
  class concurrent_reads;

  async::task<> fill(async::executor& on, std::shared_ptr<io::source> kept_alive, std::vector<std::byte> head);
  async::task<> fill_from(const io::file_source& file, async::executor& on);
  async::task<> fill_from(io::stream_source& stream);
  async::task<std::size_t> read_into(std::span<std::byte> out, io::stream_source& stream);
  static block block_of(const std::shared_ptr<block_memory>& memory, std::size_t bytes);
  async::task<std::shared_ptr<block_memory>> memory();
  std::shared_ptr<block_memory> free_memory();
  std::shared_ptr<block_memory> lend(async::semaphore::permit own);
  [[nodiscard]] place_list places_in(std::span<const std::byte> bytes) const noexcept;
  [[nodiscard]] bool goes_on() const { return !stop_.stop_requested() && !given_up_; }

  io::source& source_;
  stage_clock& clock_;
  std::stop_token stop_;
  std::shared_ptr<account> account_;
  std::atomic<bool> may_take_extra_{false};
  std::atomic<bool> given_up_{false};
  bool reads_concurrently_ = false;
  std::string_view sought_{};
  std::atomic<bool> is_looking_{false};
  std::uint64_t offset_;     // of files
  const std::uint64_t end_;  // of files
  async::channel<block> filled_;
  std::atomic<bool> ended_{false};
};

}  // namespace gpuhist::pipeline
