// Reads inputs that are archives. Each is read by a thread of its own, because the archive library blocks while it
// waits for bytes. There are at most as many such threads as decode contexts.
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

/// One coroutine calls add() and drain(). The destructor waits for the threads.
class archive_inputs {
 public:
  struct settings {
    archive_limits limits{};
    std::size_t block_bytes = 0;  ///< streams are read ahead in blocks of this size
    std::size_t own_blocks = 0;   ///< the number of those blocks, for each stream
  };

  struct executors {
    async::executor& pool;
    async::event_loop& streams;  ///< where streams are read
  };

  archive_inputs(settings options, const executors& executor_set, decode_contexts& contexts, rolling_counts& counts,
                 feed_notes& notes, async::first_failure& failures, std::stop_token stop);

  /// Begins to read an archive. `name`: its name in the result. `head`: its first bytes, which were already read from a
  /// stream; those of a file are read again. `forced`: the kind of archive; nothing: detected by content. Waits for a
  /// decode context. Throws io::input_error if no thread can be started.
  async::task<> add(input_id input, std::string name, std::shared_ptr<io::source> source, std::vector<std::byte> head,
                    std::optional<io::archive_kind> forced);

  /// Awaitable; completes when all inputs have ended, with a permit that prevents new ones. Exceptions that belong to
  /// no input are noted in the failures.
  [[nodiscard]] auto drain() noexcept { return thread_permits_.acquire(threads_.size()); }

  /// The entries of the archives that are not regular files, by kind. Thread-safe.
  [[nodiscard]] std::vector<skipped_names> skipped() const;

 private:
  struct task {
    input_id input = 0;
    std::string name;
    std::shared_ptr<io::source> source;
    std::vector<std::byte> head;
    std::optional<io::archive_kind> forced;
    async::semaphore::permit permit{};  // for the thread
    decode_contexts::lease context{};
    std::size_t thread = 0;
  };

  void start(task archive);
  void work(task archive) noexcept;
  void walk(task& archive);
  void walk_source(task& archive, archive_walk& walk);
  void walk_stream(task& archive, archive_walk& walk);

  const settings options_;
  const executors executors_;
  decode_contexts& contexts_;
  rolling_counts& counts_;
  feed_notes& notes_;
  const std::stop_token stop_;
  const std::shared_ptr<block_pool> blocks_;
  async::first_failure& failures_;
  async::semaphore thread_permits_;  // one for each number in free_
  mutable std::mutex mutex_;
  std::vector<skipped_names> skipped_;  // under the mutex
  std::vector<std::size_t> free_;       // numbers of threads; under the mutex; has capacity for all
  std::vector<std::jthread> threads_;
};

}  // namespace gpuhist::pipeline
