// Reads many small files: whole batches of them at once on the threads of the pool, each file opened, looked at, read
// straight into a slot and closed by one thread. What a batch needs is a cutter of its own, so it borrows a decode
// context. No file waits for another: each is one stretch of text, wherever it comes to lie.
//
// What turns out not to be small and plain is left to whoever asked, to be read as other inputs are.
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

/// An input that has its number.
struct numbered_input {
  input_id input = 0;
  listed_input what{};
};

/// add(), drain() and take_left() are for one coroutine.
class small_files {
 public:
  struct settings {
    std::uint64_t max_bytes = 0;                ///< files with more are left
    const io::format* forced_format = nullptr;  ///< null: by content
  };

  small_files(const settings& how, decode_contexts& contexts, rolling_counts& counts, feed_notes& notes,
              async::executor& pool, async::first_failure& failures, std::stop_token stop);

  /// Begins to read a batch; waits while there are as many under way as contexts.
  async::task<> add(std::vector<numbered_input> batch);

  /// Awaited, waits until all batches were read. What no input is to blame for is noted in the failures.
  [[nodiscard]] auto drain() noexcept { return reading_.ended(); }

  /// What was left so far, in no order. More may come until drain() has ended.
  std::vector<numbered_input> take_left();

  /// Files that were read here. After drain().
  [[nodiscard]] std::uint64_t files_read() const { return files_read_; }

 private:
  async::task<> read_all(std::vector<numbered_input> batch, decode_contexts::lease with);
  async::task<> read_one(numbered_input& one, cutter& into);
  async::task<bool> read_text(const numbered_input& one, const io::file_source& from, cutter& into);
  bool is_plain(const numbered_input& one, std::span<const std::byte> head);
  void leave(numbered_input& one);

  const settings how_;
  decode_contexts& contexts_;
  rolling_counts& counts_;
  feed_notes& notes_;
  async::executor& pool_;
  const std::stop_token stop_;
  std::atomic<std::uint64_t> files_read_{0};

  std::mutex mutex_;
  std::vector<numbered_input> left_;  // under the mutex
  async::task_group reading_;
};

}  // namespace gpuhist::pipeline
