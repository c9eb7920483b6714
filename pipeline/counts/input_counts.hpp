// The counts of one input that is not finished. They are always the counts of a prefix of the input. Groups of frames
// that are decoded in parallel have separate counts, which are committed in the order of the input.
//
//     committed ........... | front group | later groups, merged or not ...
//     verified, unverified    verified,     in no report yet, and never
//                             open frames   if the front group is damaged
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/frame_group.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "pipeline/counts/segment.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// How many lost ranges of an input are listed. Further ones are only counted.
inline constexpr std::size_t max_lost_ranges = 1000;

/// The end of a frame.
struct input_position {
  std::uint64_t compressed_bytes = 0;
  std::uint64_t frames = 0;
};

/// Not thread-safe. A member that throws, for lack of memory, has changed nothing.
class input_counts {
 public:
  /// `rows` outlives the counts.
  input_counts(std::string name, const row_folding& rows) : rows_(&rows), name_(std::move(name)) {}

  /// Of an input of which a prefix was counted before.
  input_counts(const input_prefix& counted, const row_folding& rows);

  /// Of an input whose text waits for a verdict, as waiting_report() returned it.
  input_counts(input_report waiting, const row_folding& rows);

  /// If all text of the input, `bytes` bytes, is merged in one frame, which has no verdict: the report that follows if
  /// the frame is verified.
  [[nodiscard]] std::optional<input_report> waiting_report(std::uint64_t bytes) const;

  /// Bytes of memory, with the counts of one frame.
  [[nodiscard]] std::size_t held_bytes() const;

  [[nodiscard]] const std::string& name() const { return name_; }

  /// No more text will be added to the counts, all text that was passed on is merged or dropped, and what an observer
  /// has found is known.
  [[nodiscard]] bool is_finished() const;

  void set_format(std::string_view format) { format_ = format; }

  /// What was found in the text so far.
  void set_utf8(const utf8_report& found) { utf8_ = found; }

  /// An observer sees its text: the input is finished after end_observing() at the earliest.
  void begin_observing() { is_observed_ = true; }
  void end_observing(std::optional<observed_numbers> found) {
    is_observed_ = false;
    if (found) observed_ = std::move(found);
  }

  /// Before the input is finished.
  void note(const io::notice& added) { add_notice(notices_, added); }

  /// Decoding of this group has reached this offset of the input. Used only for the front group.
  void set_compressed_bytes(group_id group, std::uint64_t bytes);

  /// Appends the row of `bytes` verified bytes of text in no group. Returns the pair that it makes with the text before
  /// it.
  std::optional<byte_pair> merge(std::uint64_t bytes, std::span<const std::uint32_t> row);

  /// `bytes` bytes of text in no group will never be merged, because of `cause`. The counts end before them.
  void drop(std::uint64_t bytes, const std::string& cause);

  /// Opens the next group and returns its number.
  group_id open_group();

  /// Null if the group is not counted: it is committed, or an earlier group is damaged or was not counted to its end. A
  /// discarded group is there until all of its text has arrived.
  [[nodiscard]] frame_group* group(group_id group);

  /// Bytes of text of all groups closed so far.
  [[nodiscard]] std::uint64_t closed_bytes() const { return closed_; }

  /// Decoding of this group has ended. Precondition: group() is not null.
  void close_group(group_id group, group_end end);

  /// Discards this group and all later ones. A group that is opened next follows the groups before.
  void discard_groups(group_id first);

  /// Commits the finished groups at the front, to this input and to these totals, up to one that must be decoded again.
  /// After a group that is damaged or was not counted to its end, all later groups and their text are dropped. If it
  /// throws, the groups before the failed one are committed, here and in the totals.
  void commit_groups(gpu::tally& verified_of_run, gpu::tally& unverified_of_run);

  /// The text ends after `bytes` bytes: no more will be passed on to be merged.
  void finish(std::uint64_t bytes) { expected_ = bytes; }

  /// The text ends after `bytes` bytes because of this failure; 0: no text was added. The first failure is kept.
  void fail(std::uint64_t bytes, input_failure failure);

  /// Bytes of the prefix that were merged.
  [[nodiscard]] std::uint64_t merged_bytes() const;

  /// The report without the front group.
  [[nodiscard]] input_report report() const;

  /// What was counted so far up to a position from which a later run can continue, also if a stop has ended the input.
  /// Nothing: there is none, or the input was read to its end, or failed.
  [[nodiscard]] std::optional<input_prefix> prefix() const;

  /// Adds the front group's counts so far. Later groups are not part of a prefix.
  void add_front(gpu::tally& verified, gpu::tally& unverified) const;

  /// The pair that text of a window makes with the text before it, verified or not, of this input. `pane`: of the text.
  [[nodiscard]] std::optional<byte_pair> seam_in_windows(pane_id pane, const text_edges& text) const;

  /// This text was added to a window.
  void note_in_windows(pane_id pane, const text_edges& text);

  /// Text was lost before the text of this pane.
  void note_lost_before(pane_id pane) { lost_before_.push_back(pane); }

 private:
  [[nodiscard]] bool is_complete() const;
  [[nodiscard]] const frame_group* front() const;
  void commit(const frame_group& group, gpu::tally& verified_of_run, gpu::tally& unverified_of_run);
  [[nodiscard]] std::vector<lost_range> lost_in(const group_end& end) const;
  [[nodiscard]] input_failure failure_after(const frame_group& group) const;
  [[nodiscard]] std::string failure_text() const;

  const row_folding* rows_;
  std::string name_;
  std::string format_ = "unknown";
  std::optional<std::uint64_t> compressed_bytes_;
  std::optional<input_position> committed_to_;  // of compressed text, if a later run can continue there
  std::optional<utf8_report> utf8_;
  std::vector<io::notice> notices_;
  std::optional<observed_numbers> observed_;
  bool is_observed_ = false;
  text_tally verified_;    // empty until the first merge or commit
  gpu::tally unverified_;  // of damaged frames; empty until the first commit
  std::uint64_t merged_ = 0;
  std::uint64_t text_before_ = 0;     // bytes of text before the part that is counted; included in merged_
  std::uint64_t continued_from_ = 0;  // the end of what an earlier run counted, in bytes of text
  std::uint64_t dropped_ = 0;
  std::optional<std::uint64_t> expected_;  // bytes of text; set when reading has ended
  input_failure failure_;
  std::deque<frame_group> groups_;  // not committed, in order; at most those in flight
  std::vector<lost_range> lost_;
  std::uint64_t number_of_lost_ranges_ = 0;
  bool failed_by_loss_ = false;  // failure_ is the cause of lost_.front()
  std::uint64_t closed_ = 0;
  std::optional<input_prefix> interrupted_at_;  // before the group that ended the input
  text_edges in_windows_;                       // of the text that was added to windows
  std::vector<pane_id> lost_before_;            // panes that begin after lost text, and are not in in_windows_
  group_id front_ = 1;                          // the front group's number
  bool dropping_ = false;  // a group was damaged or not counted to its end: later groups are not counted
};

}  // namespace gpuhist::pipeline
