// The counts of one group of frames. The counts of a frame are provisional until its verdict is known.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "pipeline/counts/segment.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// How the decoding of a group of frames ended.
struct group_end {
  std::uint64_t text_bytes = 0;                     ///< passed on to be merged, verified or not
  std::optional<std::uint64_t> compressed_bytes{};  ///< of the input, up to the end of the group; nothing: plain text
  /// Frames of the input up to the end of the group, if a decoder that begins there needs to know nothing else.
  std::optional<std::uint64_t> frames{};

  std::optional<io::notice> notice{};  ///< about the input, if it ends after this group

  /// The ranges of the group that were lost before decoding resumed. Offsets of text count from the group's begin.
  std::vector<lost_range> lost_ranges{};
  std::uint64_t number_of_lost_ranges = 0;

  /// The text of the input may have a maximum, and the groups before this one were still being decoded. If they have
  /// more text than this, the maximum lies within this group or before it.
  std::uint64_t max_text_before = std::numeric_limits<std::uint64_t>::max();
  /// So much text was decoded that the input has more than the maximum, or a device has decoded only the begin of a
  /// frame, or a guess of the splitter was wrong.
  bool is_to_be_repeated = false;

  /// The group is not counted: it will be discarded, and decoded again after the groups before it.
  [[nodiscard]] bool must_be_decoded_again(std::uint64_t text_before) const {
    return is_to_be_repeated || text_before > max_text_before;
  }

  /// Returns the failure that ended the group, given the bytes of the input's text before the group. Empty: none.
  std::function<input_failure(std::uint64_t text_before)> failure{};
};

/// Not thread-safe. A member that throws, for lack of memory, has changed nothing.
class frame_group {
 public:
  /// `rows` outlives the group.
  explicit frame_group(const row_folding& rows) : rows_(&rows) {}

  /// Appends the row of `bytes` bytes, which follow the text of earlier calls. Bytes of frame 0 are verified.
  void merge(const text_owner& owner, std::uint64_t bytes, std::span<const std::uint32_t> row);

  /// Takes the verdict on a frame of `bytes` bytes, all of which are merged before or after this call. Verdicts precede
  /// the text of later frames, so frames are settled in the order of their text.
  void conclude(const text_owner& frame, std::uint64_t bytes, bool verified);

  /// `bytes` bytes of its text will never be merged, because of `cause`.
  void drop(std::uint64_t bytes, const std::string& cause);

  /// Nothing more will be decoded.
  void close(group_end end) { end_ = std::move(end); }

  /// The group is closed, and all of its text was merged or dropped.
  [[nodiscard]] bool is_finished() const { return end_ && end_->text_bytes == merged_ + dropped_; }

  /// The group is closed, and will be discarded (group_end::must_be_decoded_again).
  [[nodiscard]] bool must_be_decoded_again(std::uint64_t text_before) const {
    return end_ && end_->must_be_decoded_again(text_before);
  }

  /// It will be decoded again, as another group. Its text is not counted.
  void discard() { is_discarded_ = true; }
  [[nodiscard]] bool is_discarded() const { return is_discarded_; }

  /// Precondition: closed.
  [[nodiscard]] const group_end& end() const { return *end_; }

  [[nodiscard]] bool has_dropped() const { return dropped_ > 0; }
  [[nodiscard]] const std::string& drop_cause() const { return drop_cause_; }

  /// Bytes of text, verified or not.
  [[nodiscard]] std::uint64_t merged_bytes() const { return merged_; }

  /// Its text without frames that are damaged or have no verdict, which are gaps: no pair spans them.
  [[nodiscard]] const text_tally& verified() const { return verified_; }

  /// Text was lost after the text that was merged. Precondition: finished.
  [[nodiscard]] bool ends_with_gap() const { return end_->number_of_lost_ranges != lost_before_; }

  /// Counts of damaged frames and of frames without a verdict.
  [[nodiscard]] gpu::tally unverified() const;

  /// Its text, if all of it is in one frame without a verdict and the group is not closed.
  [[nodiscard]] std::optional<gpu::tally> waiting_text() const;

  /// As if this text had been merged, in frame 1. Precondition: nothing was merged.
  void restore(gpu::tally text);

 private:
  struct open_frame {
    frame_id id = 0;
    std::uint64_t lost_before = 0;
    text_tally text;
    std::uint64_t merged = 0;
    std::optional<std::uint64_t> expected{};  // known once there is a verdict
    bool verified = false;
  };

  open_frame& find_or_add(const text_owner& owner);
  void note_losses(std::uint64_t lost_before);
  void settle(open_frame& frame);

  const row_folding* rows_;
  text_tally verified_;            // without counts until the first verified text, as damaged_
  std::uint64_t lost_before_ = 0;  // the last text in verified_
  gpu::tally damaged_;
  std::vector<open_frame> frames_;  // few: those with chunks that are still counted
  std::uint64_t merged_ = 0;
  std::uint64_t dropped_ = 0;
  std::string drop_cause_;
  std::optional<group_end> end_;
  bool is_discarded_ = false;
};

}  // namespace gpuhist::pipeline
