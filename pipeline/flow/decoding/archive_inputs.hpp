// Feeds inputs that are archives: each is walked by a thread of its own, because what reads archives pulls its bytes
// and blocks. As many at once as there are decode contexts for.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task_group.hpp"
#include "io/format.hpp"
#include "io/source.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/decoding/archive_walk.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/decoding/decode_contexts.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace gpuhist::pipeline {

/// add() and drain() are for one coroutine. The threads end before this does.
class archive_inputs {
 public:
  struct settings {
    archive_limits limits{};
    std::size_t block_bytes = 0;  ///< streams are read ahead in blocks of this size
    std::size_t own_blocks = 0;   ///< and so many of them
  };

  struct executors {
    async::executor& pool;
    async::event_loop& streams;  ///< where streams are read
  };

  archive_inputs(settings how, const executors& where, decode_contexts& contexts, rolling_counts& counts,
                 feed_notes& notes, async::first_failure& failures, std::stop_token stop);

  /// Begins to walk an input, in the result as `name`, whose first bytes were looked at (`head`; of files they are read
  /// again). Waits while there is no decode context. `forced`: the archive that is asked for; nothing: by content.
  /// Throws io::input_error where no thread can be started for it.
  async::task<> add(input_id input, std::string name, std::shared_ptr<io::source> source, std::vector<std::byte> head,
                    std::optional<io::archive_kind> forced);

  /// Awaited, waits until all inputs are over, and gives a permit that keeps others from being begun. What no input is
  /// to blame for is noted in the failures.
  [[nodiscard]] auto drain() noexcept { return rights_.acquire(threads_.size()); }

  /// What the archives hold that is no file, by kind. Thread-safe.
  [[nodiscard]] std::vector<skipped_names> skipped() const;

 private:
  struct task {
    input_id input = 0;
    std::string name;
    std::shared_ptr<io::source> source;
    std::vector<std::byte> head;
    std::optional<io::archive_kind> forced;
    async::semaphore::permit right{};  // to a thread
    decode_contexts::lease context{};
    std::size_t thread = 0;
  };

  void start(task what);
  void work(task what) noexcept;
  void walk(task& what);
  void walk_source(task& what, archive_walk& walk);
  void walk_stream(task& what, archive_walk& walk);

  const settings how_;
  const executors where_;
  decode_contexts& contexts_;
  rolling_counts& counts_;
  feed_notes& notes_;
  const std::stop_token stop_;
  const std::shared_ptr<block_pool> blocks_;
  std::atomic<std::int64_t> members_left_;
  async::first_failure& failures_;
  async::semaphore rights_;  // to those in free_
  mutable std::mutex mutex_;
  std::vector<skipped_names> skipped_;  // under the mutex, as is
  std::vector<std::size_t> free_;       // with room for all: of the threads
  std::vector<std::jthread> threads_;
};

}  // namespace gpuhist::pipeline
