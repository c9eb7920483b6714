// The rolling counts: totals, and every input's, what is verified apart from what is not. At any moment the counts of
// every input are those of exactly a prefix of it (input_counts).
//
// An input that is over is laid down (finished_inputs) as soon as all of its text was merged, so that memory holds
// those that are not, however many there are.
#pragma once

#include "gpu/tally.hpp"
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
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// How much of a chunk was merged.
struct merged_part {
  std::size_t segments = 0;      ///< the first ones, each of them whole; nothing of the others
  std::exception_ptr failure{};  ///< why there are others; null where there are none
};

/// All members are thread-safe. What throws, for lack of memory, has changed nothing.
///
/// Where the report of an input that is over cannot be spilled, or counts whose turn has come cannot be committed, they
/// stay in memory, and the run is asked to stop: memory is bounded by what was begun until then. failure() says why.
class rolling_counts {
 public:
  /// `counted`: the partition of the tallies; `rows`: that of the rows to be merged, at least as fine.
  rolling_counts(const gpu::partition& counted, const gpu::partition& rows, std::vector<std::string> input_names);

  /// Windows are wanted as well; to be called before anything else. `changed`: as of rolling_windows, which are told
  /// from here what becomes of inputs and frames.
  void add_windows(const window_shape& shape, std::function<void()> changed);

  /// Those; null where none are wanted.
  [[nodiscard]] rolling_windows* windows() const { return windows_.get(); }

  /// Whether merging is to wait until windows have been told.
  [[nodiscard]] bool is_backed_up() const { return windows_ && windows_->is_backed_up(); }

  /// Text of this input was lost, and what follows goes on behind it.
  void note_gap(input_id input, const std::string& cause);

  /// One more input, known by the number that comes back.
  input_id open_input(std::string name);

  /// One more input, a member of another one: reports show it behind that one and its members before.
  input_id open_member(std::string name, input_id archive);

  /// An input that is represented by its members: reports leave it out, unless something is wrong with it.
  void represent_by_members(input_id archive);

  /// As it is reported.
  [[nodiscard]] std::string name_of(input_id input) const;

  /// The next group of an input.
  group_id open_group(input_id input);

  /// Adds one row a segment. Bytes of frame 0 are verified, those of other frames are provisional. Text of an input
  /// that ended before it (its end was reported too early) is in no count, and the counts are incomplete. What was not
  /// merged for lack of memory must be dropped or never merged: then its input is incomplete.
  [[nodiscard]] merged_part merge(std::span<const segment> segments, std::span<const std::uint32_t> rows) noexcept;

  /// Text that was handed on for merging and never will be merged, because of `why`: the counts of its input, or of its
  /// group, end before it. Nothing that was cut after it by the same cutter is merged any more. Where it throws, for
  /// lack of memory, some of the inputs do not end, and are incomplete.
  void drop(std::span<const segment> segments, const std::string& why);

  /// Asked to stop when something fails; to be called before anything is merged.
  void stop_on_failure(std::stop_source stop) { stop_ = std::move(stop); }

  /// Something failed that changed no count, but after which the counts lack the end of an input.
  void note_failure(std::exception_ptr error) noexcept;

  /// What failed first, if anything did: the run must not be called complete then.
  [[nodiscard]] std::exception_ptr failure() const;

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
  void fail(input_id input, std::uint64_t bytes, const input_failure& failure);

  /// Text of an input's prefix that was merged so far.
  [[nodiscard]] std::uint64_t merged_bytes(input_id input) const;

  /// Text merged so far, of all inputs, whether its turn has come or not.
  [[nodiscard]] std::uint64_t merged_bytes() const;

  /// The counts at this moment: partition, totals, inputs, completeness. Frames without a verdict are unverified.
  [[nodiscard]] run_counts counts() const;

 private:
  // An input that is open, or where it was laid down.
  struct input_entry {
    std::unique_ptr<input_counts> open;
    finished_inputs::location at = 0;
    std::optional<input_id> archive{};  // whose member it is: it is reported behind that one
    std::vector<input_id> members{};    // of an archive, in their order
    std::size_t open_members = 0;
    bool is_represented_by_members = false;  // of an archive: it is left out where nothing is wrong with it
    bool is_wrong = false;                   // of one that was laid down
  };

  // Locks; once that ends, asks for the stop that a failure meanwhile makes necessary.
  class guard {
   public:
    explicit guard(rolling_counts& of) : of_(of), lock_(of.mutex_) {}
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard();

   private:
    rolling_counts& of_;
    std::unique_lock<std::mutex> lock_;
  };

  [[nodiscard]] input_counts* open_one(input_id input) const;
  [[nodiscard]] input_entry& entry(input_id input) { return inputs_[input - before_]; }
  [[nodiscard]] const input_entry& entry(input_id input) const { return inputs_[input - before_]; }
  [[nodiscard]] input_report spilled(input_id input) const;
  void merge_one(const segment& what, std::span<const std::uint32_t> row);
  void settle(input_id input) noexcept;
  void spill_if_finished(input_id input);
  void append_finished();
  static void write_input(const input_entry& from, run_counts& out);
  void drop_one(const segment& what, const std::string& why);
  [[nodiscard]] frame_group* group_of(const text_owner& owner) const;

  const gpu::partition counted_;
  const row_folding rows_;

  mutable std::mutex mutex_;
  gpu::tally verified_;
  gpu::tally unverified_;  // of damaged frames
  std::uint64_t merged_ = 0;
  std::deque<input_entry> inputs_;  // from the first one that is not over on
  std::size_t before_ = 0;          // those before it
  std::size_t appended_ = 0;        // of those: in the report
  bool all_complete_ = true;        // of those that were laid down
  std::shared_ptr<finished_inputs> finished_;
  std::vector<finished_inputs::location> appending_;
  std::exception_ptr failure_;
  bool stop_is_due_ = false;
  std::stop_source stop_{std::nostopstate};
  std::unique_ptr<rolling_windows> windows_;  // has a lock of its own, taken last
};

}  // namespace gpuhist::pipeline
