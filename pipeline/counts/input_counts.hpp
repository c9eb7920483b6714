// The counts of one input that is not over: always those of exactly a prefix of it. Groups of frames that are decoded
// side by side are kept apart until their turn has come.
//
//     committed ........... | front group | younger groups, merged or not ...
//     verified, unverified    verified,     not part of any report yet, and never
//                             open frames   if the front group turns out damaged
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

/// So many lost stretches of an input are listed; further ones are counted.
inline constexpr std::size_t max_lost_stretches = 1000;

/// Not thread-safe. What throws, for lack of memory, has changed nothing.
class input_counts {
 public:
  /// `rows` outlives the counts.
  input_counts(std::string name, const row_folding& rows) : rows_(&rows), name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const { return name_; }

  /// Nothing that counts will come any more, and all of it was merged.
  [[nodiscard]] bool is_finished() const;

  void set_format(std::string_view format) { format_ = format; }

  /// Decoding has come so far; heeded where it is the front group's.
  void set_compressed_bytes(group_id group, std::uint64_t bytes);

  /// A row of so many verified bytes, of text in no group.
  void merge(std::uint64_t bytes, std::span<const std::uint32_t> row);

  /// So many bytes of text in no group never will be merged, because of `why`: the counts end before them.
  void drop(std::uint64_t bytes, const std::string& why);

  /// The next group, by the number that comes back.
  group_id open_group();

  /// Null where the group does not count any more: one before it is damaged, or was not counted to its end; or it was
  /// committed.
  [[nodiscard]] frame_group* group(group_id group);

  /// Text of the groups that were closed, in the order of closing.
  [[nodiscard]] std::uint64_t closed_bytes() const { return closed_; }

  /// Nothing more will be decoded of this group. Precondition: group() knows it.
  void close_group(group_id group, group_end end);

  /// Commits the groups that are over and whose turn has come, here and to these totals. After a damaged one, or one
  /// that was not counted to its end, those behind it are dropped, and so is what they will yet bring. Where it throws,
  /// the groups before the one that was not committed are, here and in the totals alike.
  void commit_groups(gpu::tally& verified, gpu::tally& unverified);

  /// No text is handed on for merging beyond this many bytes.
  void finish(std::uint64_t bytes) { expected_ = bytes; }

  /// Likewise, because of this failure; the first one stays.
  void fail(std::uint64_t bytes, input_failure failure);

  /// Text of the prefix that was merged.
  [[nodiscard]] std::uint64_t merged_bytes() const;

  /// Without the front group.
  [[nodiscard]] input_report report() const;

  /// Adds the front group as it is now; the younger ones are no part of a prefix.
  void add_front(gpu::tally& verified, gpu::tally& unverified) const;

 private:
  [[nodiscard]] bool is_complete() const;
  void commit(const frame_group& group, gpu::tally& verified, gpu::tally& unverified);
  [[nodiscard]] std::vector<lost_stretch> lost_in(const group_end& end) const;
  [[nodiscard]] input_failure failure_after(const frame_group& group) const;

  const row_folding* rows_;
  std::string name_;
  std::string format_ = "unknown";
  std::optional<std::uint64_t> compressed_bytes_;
  gpu::tally verified_;    // empty until there is something in it, as is
  gpu::tally unverified_;  // of damaged frames
  std::uint64_t merged_ = 0;
  std::uint64_t dropped_ = 0;
  std::optional<std::uint64_t> expected_;  // known once reading ended
  input_failure failure_;
  std::deque<frame_group> groups_;  // whose turn has not come, the front one first; bounded by those in flight
  std::vector<lost_stretch> lost_;
  std::uint64_t lost_stretches_ = 0;
  std::uint64_t closed_ = 0;
  group_id front_ = 1;     // the front group's number
  bool dropping_ = false;  // a group was damaged, or not counted to its end: what comes of younger ones does not count
};

}  // namespace gpuhist::pipeline
