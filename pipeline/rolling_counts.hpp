// The rolling counts: totals and the tallies of every input, what is verified apart from what is not. At any moment the
// counts of every input are those of exactly a prefix of it: groups of frames that are decoded side by side are kept
// apart until their turn has come.
//
//     input:   committed ........... | front group | younger groups, merged or not ...
//              verified, unverified    verified,     not part of any report yet, and never
//                                      open frames   if the front group turns out damaged
//
// An input that is over is laid down (finished_inputs) as soon as all of its text was merged, so that memory holds
// those that are not, however many there are.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/reports/finished_inputs.hpp"
#include "pipeline/reports/report.hpp"
#include "pipeline/ring.hpp"
#include "pipeline/windows/rolling_windows.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// So many lost stretches of an input are listed; further ones are counted.
inline constexpr std::size_t most_lost_stretches = 1000;

/// How the decoding of a group of frames ended.
struct group_end {
  std::uint64_t text_bytes = 0;        ///< handed on for merging, verified or not
  std::uint64_t compressed_bytes = 0;  ///< of the input, up to the end of the group

  /// What was lost within the group, and gone on behind. Offsets of text are within the group.
  std::vector<lost_stretch> lost{};
  std::uint64_t lost_stretches = 0;

  /// What went wrong, if anything did: a clause, given the bytes of the input's text before the group.
  std::function<std::string(std::uint64_t text_before)> wrong{};
};

/// All members are thread-safe.
class rolling_counts {
 public:
  /// `counted`: the partition of the tallies; `rows`: that of the rows to be merged, at least as fine.
  rolling_counts(const gpu::partition& counted, const gpu::partition& rows, std::vector<std::string> input_names);

  /// Windows are wanted as well; to be called before anything else. `changed`: as of rolling_windows, which are told
  /// from here what becomes of inputs and frames.
  void add_windows(const window_shape& shape, std::function<void()> changed);

  /// Those; null where none are wanted.
  [[nodiscard]] rolling_windows* windows() const { return windows_.get(); }
  [[nodiscard]] bool has_panes() const { return windows_ != nullptr; }

  /// Appends the panes that this text belongs to, which comes next in its stream. Precondition: windows are wanted.
  void cut(std::span<const std::byte> text, const text_owner& owner, std::vector<pane_part>& parts);

  /// Whether merging is to wait until windows have been told.
  [[nodiscard]] bool is_backed_up() const { return windows_ && windows_->is_backed_up(); }

  /// Text of this input was lost, and what follows goes on behind it.
  void note_gap(input_id input, const std::string& cause);

  /// One more input, known by the number that comes back.
  input_id open_input(std::string name);

  /// One more input, a member of another one: reports show it behind that one and its members before.
  input_id open_member(std::string name, input_id archive);

  /// An input that is represented by its members: reports leave it out, unless something is wrong with it.
  void stand_back(input_id archive);

  /// As it is reported.
  [[nodiscard]] std::string name_of(input_id input) const;

  /// The next group of an input.
  group_id open_group(input_id input);

  /// Adds one row a segment. Bytes of frame 0 are verified, those of other frames are provisional.
  void merge(std::span<const segment> segments, std::span<const std::uint32_t> rows);

  /// Text that was handed on for merging and never will be merged, because of `why`: the counts of its input, or of its
  /// group, end before it. Nothing that was cut after it by the same cutter is merged any more.
  void drop(std::span<const segment> segments, const std::string& why);

  /// The verdict over a frame of which `bytes` were, or will yet be, merged: its provisional counts become verified
  /// or, where it is damaged, unverified for good.
  void conclude(const text_owner& frame, std::uint64_t bytes, bool verified);

  /// Nothing more will be decoded of a group. Where something went wrong, that is the input's error once its turn has
  /// come, what was decoded of younger groups is dropped, and so is what they will yet bring.
  void close_group(input_id input, group_id group, group_end end);

  void set_format(input_id input, std::string_view format);

  /// Decoding has come so far in an input; heeded where it is the front group's.
  void set_compressed_bytes(input_id input, group_id group, std::uint64_t bytes);

  /// Inputs opened so far.
  [[nodiscard]] std::size_t inputs() const;

  /// Inputs that are over, with all before them: those with the first numbers in reports.
  [[nodiscard]] std::size_t inputs_in_order() const;

  /// One of them. Throws std::system_error where it cannot be read back.
  [[nodiscard]] input_report input_in_order(std::size_t number) const;

  /// The input was read to its end: `bytes` of text were handed on for merging. Nothing more is said of it, but what
  /// is merged.
  void finish(input_id input, std::uint64_t bytes);

  /// The input failed, or was left, after `bytes` of text. Likewise.
  void fail(input_id input, std::uint64_t bytes, std::string_view error);

  /// Text of an input's prefix that was merged so far.
  [[nodiscard]] std::uint64_t merged_bytes(input_id input) const;

  /// Text merged so far, of all inputs, whether its turn has come or not.
  [[nodiscard]] std::uint64_t merged_bytes() const;

  /// Fills in what the counts know of a report: totals, inputs, completeness. Frames without a verdict are unverified.
  void write_to(report& out) const;

 private:
  struct open_frame {
    frame_id id = 0;
    gpu::tally counts;
    std::uint64_t merged = 0;
    std::optional<std::uint64_t> expected{};  // known once there is a verdict
    bool verified = false;
  };

  struct frame_group {
    gpu::tally verified;
    gpu::tally unverified;             // of damaged frames
    std::vector<open_frame> frames{};  // few: one spans chunks, or waits for one
    std::uint64_t merged = 0;
    std::uint64_t dropped = 0;  // bytes that never will be
    std::string why_dropped{};
    std::optional<group_end> end{};
  };

  struct input_counts {
    std::string name;
    std::string format = "unknown";
    std::optional<std::uint64_t> compressed_bytes;
    gpu::tally verified;    // empty until there is something in it, as is
    gpu::tally unverified;  // of damaged frames
    std::uint64_t merged = 0;
    std::uint64_t dropped = 0;              // bytes that never will be
    std::optional<std::uint64_t> expected;  // known once reading ended
    std::string error;
    std::deque<frame_group> groups;  // whose turn has not come, the front one first; bounded by those in flight
    std::vector<lost_stretch> lost;
    std::uint64_t lost_stretches = 0;
    std::uint64_t closed = 0;  // bytes of text of groups that were closed, in the order of closing
    group_id front = 1;        // the front one's number
    bool dropping = false;  // a group was damaged, or not counted to its end: what comes of younger ones does not count

    [[nodiscard]] bool complete() const;
    [[nodiscard]] bool is_over() const;
  };

  // An input that is open, or where it was laid down.
  struct input_entry {
    std::unique_ptr<input_counts> open;
    finished_inputs::location at = 0;
    std::optional<input_id> archive{};  // whose member it is: it is reported behind that one
    std::vector<input_id> members{};    // of an archive, in their order
    std::size_t open_members = 0;
    bool stands_back = false;  // of an archive: it is left out where nothing is wrong with it
    bool is_wrong = false;     // of one that was laid down
  };

  [[nodiscard]] input_counts* open_one(input_id input) const;
  [[nodiscard]] input_report report_of(const input_counts& input) const;
  [[nodiscard]] input_entry& entry(input_id input) { return inputs_[input - before_]; }
  [[nodiscard]] const input_entry& entry(input_id input) const { return inputs_[input - before_]; }
  [[nodiscard]] input_report laid_down(input_id input) const;
  void lay_down_if_over(input_id input);
  void append_over();
  void write_input(const input_entry& from, report& out) const;
  void add_row(gpu::tally& to, std::span<const std::uint32_t> row) const;
  void add(gpu::tally& to, const gpu::tally& more) const;
  frame_group* group_of(const text_owner& owner);
  void drop_one(const segment& what, const std::string& why);
  static void stop_at(input_counts& input, const frame_group& group);
  void merge_into(frame_group& group, const segment& what, std::span<const std::uint32_t> row);
  open_frame& frame_named(frame_group& group, frame_id id) const;
  static void settle(frame_group& group, const open_frame& frame);
  void break_off_windows(input_id input, group_id group, const group_end& end);
  void commit_groups(input_counts& input);
  void commit(input_counts& input, const frame_group& group);
  static void note_lost(input_counts& input, const group_end& end);
  static void add_front(const input_counts& input, gpu::tally& verified, gpu::tally& unverified);

  const gpu::partition counted_;
  std::size_t row_classes_;
  std::array<std::uint8_t, 256> class_of_column_{};  // from a row's column to a class of counted_

  mutable std::mutex mutex_;
  gpu::tally verified_;
  gpu::tally unverified_;  // of damaged frames
  std::uint64_t merged_ = 0;
  std::deque<input_entry> inputs_;  // from the first one that is not over on
  std::size_t before_ = 0;          // those before it
  std::size_t appended_ = 0;        // of those: in the report
  bool all_complete_ = true;        // of those that were laid down
  std::shared_ptr<finished_inputs> finished_;
  std::unique_ptr<rolling_windows> windows_;  // has a lock of its own, taken last
};

}  // namespace gpuhist::pipeline
