#include "pipeline/flow/decoding/frame_divider.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline {

std::optional<frame_divider::piece> frame_divider::next(const block& source) {
  for (;;) {
    switch (stage_) {
      case stage::held_after_end:
        stage_ = stage::walking;
        if (!held_.empty()) return take_held();
        break;
      case stage::held_before_end:
        stage_ = stage::walking;
        if (auto found = end_frame(source)) return found;
        break;
      case stage::walking:
        if (auto found = walk(source)) return found;
        measure_rest(source);
        break;
      case stage::held_before_rest:
        stage_ = stage::rest;
        if (!held_.empty()) return take_held();
        break;
      case stage::rest:
        stage_ = stage::keeping;
        if (rest_ > begin_) return part_of(source, rest_);
        break;
      case stage::keeping:
        held_.insert(held_.end(), source.bytes.begin() + static_cast<std::ptrdiff_t>(begin_), source.bytes.end());
        walked_ = begin_ = 0;
        stage_ = stage::walking;
        return std::nullopt;
    }
  }
}

// Up to the end of a group or of a part of a frame, or to the end of a frame where held-back bytes have to be given
// first.
std::optional<frame_divider::piece> frame_divider::walk(const block& source) {
  if (walked_ == 0) splitter_->note_places(source.bytes, source.places.get());
  while (walked_ < source.bytes.size()) {
    const io::split_step step = splitter_->advance(source.bytes.subspan(walked_));
    walked_ += step.taken;
    // the part with the first block ends the first piece of a group, before which the group has no settings
    if (step.part_ends && (has_parts_ || in_group_ == 0)) return end_part(source);
    if (step.part_ends) continue;
    if (!step.frame_ends) break;
    if (splitter_->counts_frame()) ++frames_;
    has_guesses_ = has_guesses_ || step.is_guess;
    frame_end_ = walked_ - std::min(walked_, step.beyond);  // 0: the frame ends where held-back bytes begin
    if (frame_end_ > 0 && !held_.empty()) {
      stage_ = stage::held_before_end;
      return take_held();
    }
    if (auto found = end_frame(source)) return found;
  }
  return std::nullopt;
}

std::optional<frame_divider::piece> frame_divider::end_frame(const block& source) {
  if (in_group_ + (frame_end_ - begin_) >= group_bytes_) {
    stage_ = stage::held_after_end;
    return end_group(source);
  }
  if (!held_.empty()) return take_held();
  return std::nullopt;
}

// Bytes that may have to be held back include those that are held back already, if they are more than the rest.
void frame_divider::measure_rest(const block& source) {
  const std::size_t left = source.bytes.size() - begin_;
  const std::size_t wanted = splitter_->held_back();
  const bool keeps_all = wanted > left;
  rest_ = keeps_all ? begin_ : source.bytes.size() - wanted;
  stage_ = keeps_all ? stage::keeping : stage::held_before_rest;
}

frame_divider::piece frame_divider::end_group(const block& source) {
  piece last = part_of(source, frame_end_);
  last.ends_group = true;
  last.has_guesses = std::exchange(has_guesses_, false);
  start_ = {.frames = frames_,
            .compressed_bytes = start_.compressed_bytes + std::exchange(in_group_, 0),
            .context = splitter_->context()};
  return last;
}

frame_divider::piece frame_divider::end_part(const block& source) {
  piece last = part_of(source, walked_);
  part_ = splitter_->context();
  return last;
}

frame_divider::piece frame_divider::part_of(const block& source, std::size_t end) {
  const std::size_t begin = std::exchange(begin_, end);
  in_group_ += end - begin;
  const bool is_whole = end - begin == source.bytes.size();
  return {.bytes = {.memory = source.memory,
                    .bytes = source.bytes.subspan(begin, end - begin),
                    .lent = is_whole ? source.lent : nullptr,
                    .lost = splitter_->is_lost(),
                    .part = std::exchange(part_, nullptr)},
          .start = start_};
}

// Held bytes are copied, because the number of blocks is small.
frame_divider::piece frame_divider::take_held() {
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::exchange(held_, {}));
  in_group_ += bytes->size();
  return {.bytes = {.memory = {bytes, bytes->data()}, .bytes = *bytes, .lost = splitter_->is_lost()}, .start = start_};
}

std::optional<frame_divider::piece> frame_divider::rest() {
  if (held_.empty()) return std::nullopt;
  return take_held();
}

}  // namespace gpuhist::pipeline
