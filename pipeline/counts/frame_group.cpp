#include "pipeline/counts/frame_group.hpp"

#include <algorithm>

namespace gpuhist::pipeline {

frame_group::frame_group(const row_folding& rows) : rows_(&rows), verified_(rows.classes()), damaged_(rows.classes()) {}

void frame_group::merge(frame_id frame, std::uint64_t bytes, std::span<const std::uint32_t> row) {
  if (frame == 0) {
    rows_->add(verified_, row);
    merged_ += bytes;
    return;
  }
  open_frame& known = find_or_add(frame);  // first, because it may throw
  rows_->add(known.counts, row);
  known.merged += bytes;
  merged_ += bytes;
  settle(known);
}

void frame_group::conclude(frame_id frame, std::uint64_t bytes, bool verified) {
  open_frame& known = find_or_add(frame);
  known.expected = bytes;
  known.verified = verified;
  settle(known);
}

void frame_group::drop(std::uint64_t bytes, const std::string& cause) {
  drop_cause_ = cause;
  dropped_ += bytes;
}

// A frame is added by its first bytes or by its verdict, whichever is earlier.
frame_group::open_frame& frame_group::find_or_add(frame_id id) {
  const auto found = std::ranges::find(frames_, id, &open_frame::id);
  if (found != frames_.end()) return *found;
  frames_.push_back({.id = id, .counts = gpu::tally(rows_->classes())});
  return frames_.back();
}

// Adds a frame's counts to the verified or damaged ones once its verdict is known and all of its bytes were merged.
void frame_group::settle(const open_frame& frame) {
  if (frame.expected != frame.merged) return;
  (frame.verified ? verified_ : damaged_) += frame.counts;
  frames_.erase(frames_.begin() + (&frame - frames_.data()));
}

gpu::tally frame_group::unverified() const {
  gpu::tally sum = damaged_;
  for (const open_frame& frame : frames_) sum += frame.counts;
  return sum;
}

}  // namespace gpuhist::pipeline
