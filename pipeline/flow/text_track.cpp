#include "pipeline/flow/text_track.hpp"

#include <algorithm>

namespace gpuhist::pipeline {

async::task<> text_track::take(held_reservation room, std::size_t filled) {
  if (filled > 0 && is_observed()) co_await observe(room.bytes().first(filled));
  commit(room, filled);
}

async::task<> text_track::put(cutter& cut, std::span<const std::byte> text) {
  if (is_observed()) co_await observe(text);
  while (!text.empty()) {
    held_reservation room(cut, co_await cut.reserve(text.size()));
    const std::size_t size = room.bytes().size();
    std::copy_n(text.begin(), size, room.bytes().begin());
    commit(room, size);
    text = text.subspan(size);
  }
}

async::task<> text_track::observe(std::span<const std::byte> text) const {
  return to_.is_written ? to_.taps->observe(owner_, text) : to_.taps->pass(owner_, text);
}

async::task<> text_track::note_gap() const {
  if (is_observed()) co_await to_.taps->note_gap(owner_);
}

async::task<> text_track::end_observing(input_observer::ending how) const {
  if (is_observed()) co_await to_.taps->end(owner_.input, how);
}

async::task<> text_track::end_group(bool whole) const {
  if (is_observed()) co_await to_.taps->end_group(owner_, whole);
}

async::task<> text_track::wait_for_turn() const {
  if (is_observed()) co_await to_.taps->wait_for_turn(owner_);
}

// In the chunk that is being filled, text becomes verified without provisional counts.
async::task<> text_track::end_frame(cutter* cut) {
  if (is_observed() && to_.taps->awaits_verdicts()) co_await to_.taps->note_verified(owner_);
  const bool is_settled = cut != nullptr && cut->verified_in_place(owner_, frame_bytes_);
  if (!is_settled && frame_bytes_ > 0) to_.counts.conclude(owner_, frame_bytes_, true);
  begin_frame();
}

async::task<> text_track::lose_frame(const std::string& cause) {
  to_.counts.note_gap(owner_.input, cause);
  if (is_observed()) co_await to_.taps->note_gap(owner_);
  if (frame_bytes_ > 0) to_.counts.conclude(owner_, frame_bytes_, false);
  begin_frame();
  ++owner_.lost_before;
}

input_failure failure_of_input(const std::exception_ptr& error, std::uint64_t reached, async::first_failure& failures) {
  if (is_of_input(error)) return failure_from(error);
  failures.note(error);
  return left_at(reached);
}

}  // namespace gpuhist::pipeline
