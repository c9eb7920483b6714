// Reads many small files, in batches, on the threads of the pool. One thread opens a file, checks its format, reads it
// directly into a slot, and closes it. Each batch borrows a decode context, because it needs a cutter of its own. Files
// do not wait for each other: each file is one segment of text, in any slot.
//
// Files that are not small, or not plain text, are deferred: the caller reads them as it reads other inputs.
#pragma once

#include "async/task_group.hpp"
#include "io/format.hpp"
#include "io/source.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/decoding/decode_contexts.hpp"
#include "pipeline/flow/inputs/input_list.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stop_token>
#include <vector>

namespace gpuhist::pipeline {

/// An input with its number in the counts.
struct numbered_input {
  input_id input = 0;
  listed_input listed{};
};

/// One coroutine calls add(), drain() and take_deferred().
class small_files {
 public:
  struct settings {
    std::uint64_t max_bytes = 0;                ///< larger files are deferred
    const io::format* forced_format = nullptr;  ///< null: by content
    io::content_rules rules{};
  };

  small_files(const settings& options, decode_contexts& contexts, rolling_counts& counts, feed_notes& notes,
              async::executor& pool, async::first_failure& failures, std::stop_token stop);

  /// Starts to read a batch. Waits for a decode context.
  async::task<> add(std::vector<numbered_input> batch);

  /// Awaitable; completes when all batches were read. Exceptions that belong to no input are noted in the failures.
  [[nodiscard]] auto drain() noexcept { return reading_.ended(); }

  /// The files that were deferred so far, in any order. More may follow until drain() has completed.
  std::vector<numbered_input> take_deferred();

  /// The number of files that were read. Valid after drain().
  [[nodiscard]] std::uint64_t files_read() const { return files_read_; }

 private:
  async::task<> read_all(std::vector<numbered_input> batch, decode_contexts::lease context);
  async::task<> read_one(numbered_input& entry, cutter& cut);
  async::task<bool> read_text(const numbered_input& entry, const io::file_source& file, cutter& cut);
  bool is_plain(const numbered_input& entry, std::span<const std::byte> head);
  void defer(numbered_input& entry);

  const settings options_;
  decode_contexts& contexts_;
  rolling_counts& counts_;
  feed_notes& notes_;
  async::executor& pool_;
  const std::stop_token stop_;
  std::atomic<std::uint64_t> files_read_{0};

  std::mutex mutex_;
  std::vector<numbered_input> deferred_;  // under the mutex
  async::task_group reading_;
};

}  // namespace gpuhist::pipeline
