// What one group of frames has brought: provisional until each frame has its verdict.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/input_failure.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "pipeline/counts/segment.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// How the decoding of a group of frames ended.
struct group_end {
  std::uint64_t text_bytes = 0;        ///< handed on for merging, verified or not
  std::uint64_t compressed_bytes = 0;  ///< of the input, up to the end of the group

  /// What was lost within the group, and gone on behind. Offsets of text are within the group.
  std::vector<lost_stretch> lost{};
  std::uint64_t lost_stretches = 0;

  /// What went wrong, if anything did, given the bytes of the input's text before the group.
  std::function<input_failure(std::uint64_t text_before)> wrong{};
};

/// Not thread-safe. What throws, for lack of memory, has changed nothing.
class frame_group {
 public:
  /// `rows` outlives the group.
  explicit frame_group(const row_folding& rows);

  /// A row of so many bytes; those of frame 0 are verified.
  void merge(frame_id frame, std::uint64_t bytes, std::span<const std::uint32_t> row);

  /// The verdict over a frame of which `bytes` were, or will yet be, merged.
  void conclude(frame_id frame, std::uint64_t bytes, bool verified);

  /// So many bytes of its text never will be merged, because of `why`.
  void drop(std::uint64_t bytes, const std::string& why);

  /// Nothing more will be decoded.
  void close(group_end end) { end_ = std::move(end); }

  /// Closed, and all of its text was merged or dropped.
  [[nodiscard]] bool is_finished() const { return end_ && end_->text_bytes == merged_ + dropped_; }

  /// Precondition: closed.
  [[nodiscard]] const group_end& end() const { return *end_; }

  [[nodiscard]] bool has_dropped() const { return dropped_ > 0; }
  [[nodiscard]] const std::string& why_dropped() const { return why_dropped_; }

  /// Bytes of text, verified or not.
  [[nodiscard]] std::uint64_t merged_bytes() const { return merged_; }

  [[nodiscard]] const gpu::tally& verified() const { return verified_; }

  /// Of damaged frames, and of those that have no verdict.
  [[nodiscard]] gpu::tally unverified() const;

 private:
  struct open_frame {
    frame_id id = 0;
    gpu::tally counts;
    std::uint64_t merged = 0;
    std::optional<std::uint64_t> expected{};  // known once there is a verdict
    bool verified = false;
  };

  open_frame& named(frame_id id);
  void settle(const open_frame& frame);

  const row_folding* rows_;
  gpu::tally verified_;
  gpu::tally damaged_;
  std::vector<open_frame> frames_;  // few: one spans chunks, or waits for one
  std::uint64_t merged_ = 0;
  std::uint64_t dropped_ = 0;
  std::string why_dropped_;
  std::optional<group_end> end_;
};

}  // namespace gpuhist::pipeline
