#include "pipeline/counts/frame_group.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline {

namespace {

// Allocates nothing.
void take(gpu::tally& to, gpu::tally& from) {
  if (to.counts.empty()) {
    to = std::move(from);
  } else {
    to += from;
  }
}

}  // namespace

void frame_group::merge(const text_owner& owner, std::uint64_t bytes, std::span<const std::uint32_t> row) {
  if (owner.frame == 0) {
    note_losses(owner.lost_before);
    rows_->append(verified_, row);
    merged_ += bytes;
    return;
  }
  open_frame& known = find_or_add(owner);  // first, because it may throw
  rows_->append(known.text, row);
  known.merged += bytes;
  merged_ += bytes;
  settle(known);
}

void frame_group::conclude(const text_owner& frame, std::uint64_t bytes, bool verified) {
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
frame_group::open_frame& frame_group::find_or_add(const text_owner& owner) {
  const auto found = std::ranges::find(frames_, owner.frame, &open_frame::id);
  if (found != frames_.end()) return *found;
  frames_.push_back({.id = owner.frame, .lost_before = owner.lost_before, .text = {.counts = rows_->no_text()}});
  return frames_.back();
}

// Adds a frame's counts to the verified or damaged ones once its verdict is known and all of its bytes were merged.
void frame_group::settle(open_frame& frame) {
  if (frame.expected != frame.merged) return;
  note_losses(frame.lost_before);
  if (frame.verified) {
    const auto seam = verified_.edges.append(frame.text.edges);
    take(verified_.counts, frame.text.counts);
    rows_->add(verified_.counts, seam);
  } else {
    take(damaged_, frame.text.counts);
    verified_.edges.append(text_edges::gap());
  }
  frames_.erase(frames_.begin() + (&frame - frames_.data()));
}

void frame_group::note_losses(std::uint64_t lost_before) {
  if (lost_before != lost_before_) verified_.edges.append(text_edges::gap());
  lost_before_ = lost_before;
}

gpu::tally frame_group::unverified() const {
  gpu::tally sum = damaged_;
  for (const open_frame& frame : frames_) rows_->add(sum, frame.text.counts);
  return sum;
}

std::optional<gpu::tally> frame_group::waiting_text() const {
  if (end_ || is_discarded_ || dropped_ > 0) return std::nullopt;
  if (merged_ == 0) return rows_->no_text();
  const bool is_in_one_frame = frames_.size() == 1 && frames_[0].merged == merged_ && !frames_[0].expected;
  return is_in_one_frame ? std::optional(frames_[0].text.counts) : std::nullopt;
}

void frame_group::restore(gpu::tally text) {
  merged_ = text.bytes();
  if (merged_ > 0) frames_.push_back({.id = 1, .text = {.counts = std::move(text)}, .merged = merged_});
}

}  // namespace gpuhist::pipeline
