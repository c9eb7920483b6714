// The rolling counts of a run: totals and counts of every input, verified and unverified bytes apart. At any moment the
// counts of every input are those of a prefix of it (input_counts).
//
// The report of an input is spilled (finished_inputs) as soon as the input is finished and all of its text is merged.
// Memory holds only the inputs that are not finished.
#pragma once

#include "async/brief_mutex.hpp"
#include "gpu/tally.hpp"
#include "pipeline/counts/archive_members.hpp"
#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/frame_group.hpp"
#include "pipeline/counts/input_counts.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/counts/segment.hpp"
#include "pipeline/counts/windows/rolling_windows.hpp"

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// What was merged of a chunk.
struct merged_segments {
  std::size_t segments = 0;      ///< the first segments of the chunk, each merged whole; the others were not merged
  std::exception_ptr failure{};  ///< why the others were not merged; null: all were merged
};

/// All members are thread-safe. A member that throws, for lack of memory, has changed nothing.
///
/// Members of archives whose text waits for a verdict are spilled, too, if they take more memory than permitted
/// (limit_waiting). Any call for such a member restores its counts.
///
/// If the report of a finished input cannot be spilled, or counts of a group cannot be committed, they stay in memory
/// and a stop of the run is requested. Memory is bounded by the inputs that were begun until then. failure() returns
/// the cause.
class rolling_counts {
 public:
  /// `counted`: the partition of the tallies. `rows`: the layout of the merged rows, at least as fine. `spilled_to`:
  /// the folder for reports of finished inputs.
  rolling_counts(const gpu::partition& counted, const gpu::row_layout& rows, std::vector<std::string> input_names,
                 const spill_folder& spilled_to = {});

  /// Adds windows, which are notified of the ends of inputs and the verdicts on frames. Must be called before any other
  /// member. `changed`: passed to rolling_windows.
  void add_windows(const window_shape& shape, std::function<void()> changed);

  /// Records the order in which inputs are finished. Must be called before any other member.
  void record_completions();

  /// Counts of members that wait for a verdict may take this memory. Must be called before any other member.
  void limit_waiting(std::uint64_t bytes) { max_waiting_bytes_ = bytes; }

  /// Null without add_windows().
  [[nodiscard]] rolling_windows* windows() const { return windows_.get(); }

  /// How many bytes of a row of the engine are '\n'.
  [[nodiscard]] std::uint64_t lines_in(std::span<const std::uint32_t> row) const { return rows_.lines_in(row); }

  /// Whether merging must wait until windows have been taken by rolling_windows::next().
  [[nodiscard]] bool is_backed_up() const { return windows_ && windows_->is_backed_up(); }

  /// Text of this input was lost; the text that follows resumes after it.
  void note_gap(input_id input, const std::string& cause);

  /// Adds an input and returns its number.
  input_id open_input(std::string name);

  /// Adds an input of which a prefix was counted by an earlier run: its counts and the totals begin with it.
  input_id open_input(const input_prefix& counted);

  /// Adds an input that is a member of an archive. In reports it follows the archive and its earlier members.
  input_id open_member(std::string name, input_id archive);

  /// All text of this member, `bytes` bytes, was passed on to be merged, as one frame of one group, and waits for the
  /// verdict.
  void await_verdict(input_id member, std::uint64_t bytes);

  /// The number of members that await a verdict.
  [[nodiscard]] std::size_t waiting_members() const;

  /// Reports omit this archive, unless it failed or has notices; its members represent it.
  void represent_by_members(input_id archive);

  [[nodiscard]] std::string name_of(input_id input) const;

  /// A number that orders unfinished inputs as results do: by the list of inputs, then by the members of an archive.
  [[nodiscard]] std::uint64_t order_of(input_id input) const;

  /// Opens the next group of an input.
  group_id open_group(input_id input);

  /// Adds one row per segment. Bytes of frame 0 are verified, bytes of other frames are provisional. Text of an input
  /// whose end was reported too early is not counted, and the counts are incomplete. Segments that were not merged for
  /// lack of memory must be dropped, or never merged. Then their input is incomplete.
  [[nodiscard]] merged_segments merge(std::span<const segment> segments, std::span<const std::uint32_t> rows) noexcept;

  /// These segments will never be merged, because of `cause`. The counts of their input, or of their group, end before
  /// them. The caller must not merge chunks that the same cutter cut after them. If it throws, for lack of memory, some
  /// of the inputs do not finish and are incomplete.
  void drop(std::span<const segment> segments, const std::string& cause);

  /// A failure requests this stop. Must be called before the first merge().
  void stop_on_failure(std::stop_source stop) { stop_ = std::move(stop); }

  /// A failure changed no count, but the end of an input is missing.
  void note_failure(std::exception_ptr error) noexcept;

  /// The first failure, after which the run must not be reported as complete. Null: none.
  [[nodiscard]] std::exception_ptr failure() const;

  /// Takes the verdict on a frame of `bytes` bytes, all of which are merged before or after this call. Its provisional
  /// counts become verified or, if it is damaged, unverified.
  void conclude(const text_owner& frame, std::uint64_t bytes, bool verified);

  /// Decoding of a group has ended. A failure becomes the error of the input once all earlier groups are committed; the
  /// text of later groups is dropped.
  void close_group(input_id input, group_id group, group_end end);

  /// This group and all later ones of the input will be decoded again, as other groups.
  void discard_groups(input_id input, group_id first);

  void set_format(input_id input, std::string_view format);

  /// Decoding of this group has reached this offset of the input. Used only for the front group.
  void set_compressed_bytes(input_id input, group_id group, std::uint64_t bytes);

  /// What --utf8 found in the text of an input so far. Must be called before this text can be merged, and before the
  /// input is finished.
  void note_utf8(input_id input, const utf8_report& found);

  /// An observer will see the text of an input: it is not finished before end_observing(). Must be called before text
  /// can be merged.
  void begin_observing(input_id input);

  /// `found`: in all of its text; nothing: it is not known.
  void end_observing(input_id input, std::optional<observed_numbers> found);

  /// Must be called before the input is finished. An archive that its members represent is in reports, too, if it has
  /// a notice.
  void note(input_id input, const io::notice& added);

  /// Inputs opened so far.
  [[nodiscard]] std::size_t inputs() const;

  /// The number of inputs that are finished together with all inputs before them: the first ones of reports.
  [[nodiscard]] std::size_t inputs_in_order() const;

  /// The report of finished input `number`, from 0. Throws std::system_error if it cannot be read back.
  [[nodiscard]] input_report input_in_order(std::size_t number) const;

  /// With record_completions(): the number of inputs that are finished so far. An archive that its members represent is
  /// one of them.
  [[nodiscard]] std::size_t completed() const { return completed_ ? completed_->size() : 0; }

  /// The input that was finished as number `number`, from 0. Throws std::system_error if it cannot be read back.
  [[nodiscard]] completed_input completed_input_at(std::size_t number) const;

  /// With record_completions(): the inputs of counts() that are not among the completed ones.
  [[nodiscard]] std::vector<input_report> incomplete_inputs() const;

  /// With record_completions(): the prefixes of unfinished inputs, and of those that a stop has ended, from which a
  /// later run can continue. Archives, and members of archives, have none.
  [[nodiscard]] std::vector<input_prefix> prefixes() const;

  /// The input was read to its end, and `bytes` bytes of text were passed on to be merged. Afterwards only merge(),
  /// drop() and conclude() are called for this input.
  void finish(input_id input, std::uint64_t bytes);

  /// The input failed, or reading it was stopped, after `bytes` bytes of text. Otherwise as finish().
  void fail(input_id input, std::uint64_t bytes, const input_failure& failure);

  /// Bytes of an input's prefix that are merged.
  [[nodiscard]] std::uint64_t merged_bytes(input_id input) const;

  /// Bytes of all inputs that are merged, in a prefix or not.
  [[nodiscard]] std::uint64_t merged_bytes() const;

  /// The counts at this moment. Frames without a verdict are unverified.
  [[nodiscard]] run_counts counts() const;

 private:
  // An open input, or the position of its spilled report.
  struct input_entry {
    std::unique_ptr<input_counts> open;            // null: spilled
    finished_inputs::location at = 0;              // if it is spilled
    std::optional<input_id> archive{};             // of a member: it follows this archive in reports
    std::uint32_t member = 0;                      // its position in the archive
    std::size_t held_bytes = 0;                    // of a member that is open
    std::optional<std::uint64_t> waiting_bytes{};  // of a member: all of its text, which waits for a verdict
    std::unique_ptr<archive_members> members{};    // of an archive that has any
    bool is_completed = false;                     // with record_completions()
    bool is_represented_by_members = false;        // of an archive: reports omit it unless it is remarkable
    bool is_remarkable = false;                    // if it is spilled: it failed or has notices
    bool is_appended = false;                      // to the order of the inputs; its members may not be

    [[nodiscard]] bool is_finished() const { return !open && (!members || members->unfinished() == 0); }
    [[nodiscard]] bool is_omitted() const { return is_represented_by_members && !is_remarkable; }
  };

  struct member_place {
    input_id archive = 0;
    std::uint32_t position = 0;
  };

  // Holds the lock. After unlocking it requests the stop that a failure under the lock made necessary.
  class stopping_lock {
   public:
    explicit stopping_lock(rolling_counts& counts) : counts_(counts), lock_(counts.mutex_) {}
    stopping_lock(const stopping_lock&) = delete;
    stopping_lock& operator=(const stopping_lock&) = delete;
    ~stopping_lock();

   private:
    rolling_counts& counts_;
    std::unique_lock<async::brief_mutex> lock_;
  };

  input_id add(std::unique_ptr<input_counts> opened);
  [[nodiscard]] input_counts* find_open(input_id input);
  [[nodiscard]] std::optional<member_place> find_waiting(input_id input) const;
  [[nodiscard]] input_counts* restore(input_id input);
  [[nodiscard]] input_entry& entry(input_id input) { return inputs_.at(input); }
  [[nodiscard]] const input_entry& entry(input_id input) const { return inputs_.at(input); }
  [[nodiscard]] input_report spilled(input_id input) const;
  void spill_waiting();
  void end_wait(input_entry& ended);
  void merge_segment(const segment& merged, std::span<const std::uint32_t> row);
  void merge_in_windows(const segment& merged, std::span<const std::uint32_t> row, input_counts* input);
  void settle(input_id input) noexcept;
  void spill_finished(input_id input);
  void append_finished();
  void note_completion(input_id input);
  void append_completion(input_id input);
  void add_incomplete(const input_entry& each, std::vector<input_report>& to) const;
  void add_incomplete(const archive_members::member& member, std::vector<input_report>& to) const;
  void add_member(const archive_members::member& from, run_counts& out) const;
  static void add_input(const input_entry& from, run_counts& out);
  [[nodiscard]] static bool is_remarkable(const input_report& report);
  void drop_segment(const segment& dropped, const std::string& cause);
  [[nodiscard]] frame_group* find_group(const text_owner& owner);

  const gpu::partition counted_;
  const row_folding rows_;

  mutable async::brief_mutex mutex_;
  gpu::tally verified_;
  gpu::tally unverified_;            // of damaged frames
  std::optional<utf8_report> utf8_;  // of spilled inputs
  std::uint64_t merged_ = 0;
  std::map<input_id, input_entry> inputs_;  // from the first unfinished input on, without finished and spilled members
  input_id next_ = 0;
  std::size_t appended_ = 0;  // reports of the inputs before inputs_, without the omitted archives
  bool all_complete_ = true;  // all spilled inputs are complete
  std::shared_ptr<finished_inputs> finished_;
  spilled_bytes member_pages_;               // of archive_members
  std::set<input_id> with_spilled_members_;  // archives with members that wait and are spilled
  std::deque<input_id> waiting_in_memory_;   // members, in the order in which they began to wait; some no longer wait
  std::size_t waiting_ = 0;                  // members
  std::uint64_t member_bytes_ = 0;           // of the counts of members in memory
  std::uint64_t max_waiting_bytes_ = std::numeric_limits<std::uint64_t>::max();
  std::unique_ptr<completed_inputs> completed_;  // null without record_completions()
  std::vector<input_prefix> interrupted_;        // of spilled inputs that a stop has ended
  std::unique_ptr<input_counts> ended_;          // by the present call
  std::exception_ptr failure_;
  bool stop_is_due_ = false;
  std::stop_source stop_{std::nostopstate};
  std::unique_ptr<rolling_windows> windows_;  // its own lock is taken last
};

}  // namespace gpuhist::pipeline
