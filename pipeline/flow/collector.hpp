// Receives counted chunks from the engine in any order, merges the chunks of each cutter in the order in which it cut
// them, and frees their slots. A chunk that could not be counted ends the prefix: no later chunk of its cutter is
// merged.
#pragma once

#include "async/brief_mutex.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "gpu/engine.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/ring.hpp"

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// A chunk that was not counted or not merged.
struct lost_chunk {
  input_id input = 0;        ///< the first input with bytes in it
  std::uint64_t offset = 0;  ///< the first byte of that input's text that is not counted so far
  std::exception_ptr reason;
};

/// The progress of a cutter at one moment.
struct cut_mark {
  cutter_id cut_by = 0;
  std::uint64_t chunks = 0;  ///< sealed so far
};

class collector {
 public:
  /// A lost chunk or a failure of the counts (rolling_counts::stop_on_failure) requests `stop`. `merged` is called
  /// after each merge without the collector's lock; the lock of a cutter may be held.
  collector(ring& slots, gpu::engine& engine, rolling_counts& counts, std::stop_source stop,
            std::function<void()> merged);
  collector(const collector&) = delete;
  collector& operator=(const collector&) = delete;

  /// Merges the chunks that waited for windows to be taken (rolling_counts::is_backed_up). Thread-safe.
  void resume() noexcept;

  /// A lost chunk does not request the stop, because the bytes are still forwarded. Later chunks of its cutter are
  /// dropped (rolling_counts::drop). `on_loss` is called once, by any thread, under the lock; its exceptions are
  /// ignored. Must be called before the first submit().
  void continue_after_loss(std::function<void()> on_loss) { on_continued_loss_ = std::move(on_loss); }

  /// Returns the number of a new cutter. Thread-safe.
  cutter_id add_cutter();

  /// Submits a sealed slot to the engine. The sequence numbers of a cutter begin at 0 and are submitted in any order.
  /// If the engine throws, the chunk is lost. Thread-safe.
  void submit(slot& sealed) noexcept;

  /// Merges text that was decoded and counted on a device, without a chunk. If there is no memory for that, the text is
  /// lost, as that of a chunk. Called before settled(). Thread-safe.
  void merge_decoded(const segment& text, std::span<const std::uint32_t> row) noexcept;

  /// As merge_decoded(), for text with a row for each segment, which belong to panes. Completes when all is merged,
  /// which waits while too many windows wait to be taken (rolling_counts::is_backed_up). Throws std::bad_alloc.
  async::task<> merge_panes(std::span<const segment> text, std::span<const std::uint32_t> rows);

  /// Whether the engine counts on the calling thread if counting_job::count_here is set. Thread-safe.
  [[nodiscard]] bool counts_here() const { return engine_.counts_here(); }

  /// Whether the engine counts text outside the ring (slot::lent). Thread-safe.
  [[nodiscard]] bool accepts_lent_text() const { return engine_.counts_lent_bytes(); }

  /// The awaitable completes when every submitted chunk is merged or lost, and no call of `merged` is running. Must be
  /// called once, after the last submit().
  [[nodiscard]] auto settled() noexcept {
    note_last_submitted();
    return settled_.wait();
  }

  /// Chunks merged so far, of all cutters. Thread-safe.
  [[nodiscard]] std::uint64_t merged_chunks() const;

  /// Whether all chunks up to these marks are merged. Thread-safe.
  [[nodiscard]] bool has_merged(std::span<const cut_mark> marks) const;

  /// Why the first lost chunk was lost; null if no chunk was. Thread-safe.
  [[nodiscard]] std::exception_ptr loss_reason() const;

  /// The first lost chunk. Thread-safe.
  [[nodiscard]] std::optional<lost_chunk> lost() const;

  /// A failure that stopped the run without losing a chunk: of the counts (rolling_counts::failure) or of `merged`.
  /// Null: none. Thread-safe.
  [[nodiscard]] std::exception_ptr failure() const;

 private:
  struct answer {
    slot* chunk = nullptr;
    std::exception_ptr error;
  };

  struct cutter_order {
    std::vector<answer> waiting;  // by sequence modulo slots: counted chunks that cannot be merged yet
    std::uint64_t next = 0;
    bool lost = false;
  };

  struct waiting_panes {
    std::span<const segment> text;
    std::span<const std::uint32_t> rows;
    async::event merged{};
  };

  struct loss {
    input_id input = 0;
    std::exception_ptr reason;
  };

  void notify_merged() noexcept;
  void answered(slot& chunk, std::exception_ptr error) noexcept;
  [[nodiscard]] std::exception_ptr miscount_of(const slot& chunk) const;  // null: the rows are plausible
  void merge_in_order(cutter_order& order) noexcept;
  bool merge_waiting_panes() noexcept;
  void merge_now(std::span<const segment> text, std::span<const std::uint32_t> rows) noexcept;
  void merge_or_drop(cutter_order& order, std::span<const segment> segments, std::span<const std::uint32_t> rows);
  [[nodiscard]] bool is_settled() const;
  void note_last_submitted() noexcept;
  void note_loss(cutter_order& order, std::span<const segment> segments, std::exception_ptr reason) noexcept;
  void note_first_loss(std::span<const segment> segments, std::exception_ptr reason) noexcept;

  ring& ring_;
  gpu::engine& engine_;
  rolling_counts& counts_;
  std::stop_source stop_;
  std::function<void()> merged_;
  std::function<void()> on_continued_loss_{};  // empty: a loss ends the run

  mutable async::brief_mutex mutex_;
  std::deque<cutter_order> orders_;  // by cutter_id
  std::deque<waiting_panes*> panes_;
  std::uint64_t submitted_ = 0;
  std::uint64_t merged_chunks_ = 0;
  unsigned answering_ = 0;  // calls of notify_merged() that are due or running
  bool last_was_submitted_ = false;
  std::optional<loss> lost_;
  std::exception_ptr failure_;  // thrown by merged_
  async::event settled_;
};

}  // namespace gpuhist::pipeline
