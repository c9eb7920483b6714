// Takes counted chunks back from the engine in whatever order they finish, merges those of each cutter in the order in
// which it cut them, and frees their slots. What could not be counted ends the prefix: nothing that its cutter cut
// after it is merged.
#pragma once

#include "async/semaphore.hpp"
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

/// A chunk that the engine could not count: the first one merged of those.
struct lost_chunk {
  input_id input = 0;        ///< the first input with bytes in it
  std::uint64_t offset = 0;  ///< as of now, the first byte of that input's text that was not counted
  std::exception_ptr reason;
};

/// How far a cutter had come.
struct cut_mark {
  cutter_id cut_by = 0;
  std::uint64_t chunks = 0;  ///< that were sealed
};

class collector {
 public:
  /// `stop` is asked to stop when a chunk is lost, or the counts fail (rolling_counts::stop_on_failure). `merged` is
  /// called after each merge, with no lock of the collector held, but perhaps the cutter's.
  collector(ring& slots, gpu::engine& engine, rolling_counts& counts, std::stop_source stop,
            std::function<void()> merged);
  collector(const collector&) = delete;
  collector& operator=(const collector&) = delete;

  /// Merges what was held back while windows were not told (rolling_counts::is_backed_up). Thread-safe.
  void resume() noexcept;

  /// Others want the bytes, counted or not: when a chunk is lost `stop` is not asked to stop. What its cutter cuts
  /// after it is dropped (rolling_counts::drop). `told` is called once then, under the lock, from any thread; what it
  /// throws is of no consequence. To be called before the first submit().
  void continue_after_loss(std::function<void()> told) { on_continued_loss_ = std::move(told); }

  /// One more cutter will submit chunks. Thread-safe.
  cutter_id add_cutter();

  /// Hands a sealed slot to the engine. The sequences of a cutter begin at 0 and are submitted in any order. What fails
  /// ends as a loss of the chunk: it does not throw. Thread-safe.
  void submit(slot& sealed) noexcept;

  /// Whether chunks are counted where they were filled, if that is asked for (gpu::engine). Thread-safe.
  [[nodiscard]] bool counts_here() const { return engine_.counts_here(); }

  /// Awaited, completes when every submitted chunk was answered and no call of `merged` is under way. To be called
  /// once, after the last submit().
  [[nodiscard]] auto settled() noexcept {
    note_last_submitted();
    return settled_.wait();
  }

  /// Chunks merged so far, of all cutters. Thread-safe.
  [[nodiscard]] std::uint64_t merged_chunks() const;

  /// Whether all that was cut up to these marks was merged. Thread-safe.
  [[nodiscard]] bool has_merged(std::span<const cut_mark> marks) const;

  /// Why something was lost; null where nothing was. Thread-safe.
  [[nodiscard]] std::exception_ptr loss_reason() const;

  /// What was lost, if anything, and the run was stopped for. Thread-safe.
  [[nodiscard]] std::optional<lost_chunk> lost() const;

  /// What failed without losing a chunk, and the run was stopped for: the counts (rolling_counts::failure) or `merged`.
  /// Null where nothing did. Thread-safe.
  [[nodiscard]] std::exception_ptr failure() const;

 private:
  struct answer {
    slot* chunk = nullptr;
    std::exception_ptr error;
  };

  struct cutter_order {
    std::vector<answer> waiting;  // by sequence modulo slots: an answered chunk whose turn has not come
    std::uint64_t next = 0;
    bool lost = false;
  };

  struct loss {
    input_id input = 0;
    std::exception_ptr reason;
  };

  void notify_merged() noexcept;
  void answered(slot& chunk, std::exception_ptr error) noexcept;
  [[nodiscard]] std::exception_ptr fault_of(const slot& chunk) const;  ///< what an engine that failed did not notice
  void merge_in_order(cutter_order& order) noexcept;
  void merge_or_drop(cutter_order& order, std::span<const segment> segments, std::span<const std::uint32_t> rows);
  [[nodiscard]] bool is_settled() const;
  void note_last_submitted() noexcept;
  void note_loss(cutter_order& of, std::span<const segment> segments, std::exception_ptr reason) noexcept;

  ring& ring_;
  gpu::engine& engine_;
  rolling_counts& counts_;
  std::stop_source stop_;
  std::function<void()> merged_;
  std::function<void()> on_continued_loss_{};  // empty: a loss ends the run

  mutable std::mutex mutex_;
  std::deque<cutter_order> orders_;  // by cutter_id
  std::uint64_t submitted_ = 0;
  std::uint64_t merged_chunks_ = 0;
  unsigned answering_ = 0;  // threads in answered()
  bool last_was_submitted_ = false;
  std::optional<loss> lost_;
  std::exception_ptr failure_;  // of merged_
  async::event settled_;
};

}  // namespace gpuhist::pipeline
