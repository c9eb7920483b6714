// The rolling counts: totals and the tallies of every input, what is verified apart from what is not. Chunks are
// merged in stream order, so at any moment the counts of every input are those of exactly a prefix of it.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/report.hpp"
#include "pipeline/ring.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace gpuhist::pipeline {

/// All members are thread-safe.
class rolling_counts {
 public:
  /// `counted`: the partition of the tallies; `rows`: that of the rows to be merged, at least as fine.
  rolling_counts(const gpu::partition& counted, const gpu::partition& rows, std::vector<std::string> input_names);

  /// Adds one row a segment. Bytes of frame 0 are verified at once, those of other frames are provisional.
  void merge(std::span<const segment> segments, std::span<const std::uint32_t> rows);

  /// The verdict over a frame of which `bytes` were, or will yet be, merged: its provisional counts become verified
  /// or, where it is damaged, unverified for good.
  void conclude(frame_id id, input_id input, std::uint64_t bytes, bool verified);

  void set_format(input_id input, std::string_view format);
  void set_compressed_bytes(input_id input, std::uint64_t bytes);

  /// The input was read to its end: `bytes` of text were handed on for merging.
  void finish(input_id input, std::uint64_t bytes);

  /// The input failed, or was left, after `bytes` of text.
  void fail(input_id input, std::uint64_t bytes, std::string_view error);

  /// Text merged of an input so far.
  [[nodiscard]] std::uint64_t merged_bytes(input_id input) const;
  [[nodiscard]] std::uint64_t merged_bytes() const;

  /// Fills in what the counts know of a report: totals, inputs, completeness. Frames without a verdict are unverified.
  void write_to(report& out) const;

 private:
  struct open_frame {
    input_id input = 0;
    gpu::tally counts;
    std::uint64_t merged = 0;
    std::optional<std::uint64_t> expected{};  // known once there is a verdict
    bool verified = false;
  };

  struct input_counts {
    std::string name;
    std::string format = "unknown";
    std::optional<std::uint64_t> compressed_bytes;
    gpu::tally verified;
    gpu::tally unverified;  // of damaged frames
    std::uint64_t merged = 0;
    std::optional<std::uint64_t> expected;  // known once reading ended
    std::string error;

    [[nodiscard]] bool complete() const;
  };

  using open_frames = std::unordered_map<frame_id, open_frame>;

  open_frames::iterator frame_named(frame_id id, input_id input);
  void settle(open_frames::iterator frame);
  void add_row(gpu::tally& to, std::span<const std::uint32_t> row) const;

  const gpu::partition counted_;
  std::size_t row_classes_;
  std::array<std::uint8_t, 256> class_of_column_{};  // from a row's column to a class of counted_

  mutable std::mutex mutex_;
  gpu::tally verified_;
  gpu::tally unverified_;  // of damaged frames
  std::uint64_t merged_ = 0;
  std::vector<input_counts> inputs_;
  open_frames frames_;  // bounded: a frame in here spans chunks, or waits for one
};

}  // namespace gpuhist::pipeline
