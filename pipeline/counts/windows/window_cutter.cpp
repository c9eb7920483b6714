#include "pipeline/counts/windows/window_cutter.hpp"

#include "pipeline/counts/windows/panes.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr pane_id no_frontier = std::numeric_limits<pane_id>::max();

// After a longer pause of the process, the empty windows of the pause are omitted: they would fill the memory.
constexpr std::int64_t max_empty_panes = 65536;

bool same(const source_name& first, const source_name& second) { return first && second && *first == *second; }

}  // namespace

std::string_view name_of(window_end reason) {
  switch (reason) {
    case window_end::full:
      return "full";
    case window_end::input:
      return "end";
    case window_end::error:
      return "error";
  }
  return {};
}

window_cutter::window_cutter(const window_shape& shape, window_time now, sink events)
    : shape_(shape),
      events_(std::move(events)),
      began_(now),
      pane_time_(std::chrono::milliseconds(shape.unit == pane_unit::milliseconds ? shape.pane : 0)) {
  if (shape.unit == pane_unit::milliseconds && !shape.per_input) stream_for(0, began_);
}

stream_id window_cutter::stream_of(input_id input) const { return shape_.per_input ? input : 0; }

window_cutter::stream& window_cutter::stream_for(input_id input, window_time now) {
  const auto [found, is_new] = streams_.try_emplace(stream_of(input), stream{.id = stream_of(input)});
  if (is_new && shape_.unit == pane_unit::milliseconds) open_pane(found->second, now);
  return found->second;
}

void window_cutter::open_pane(stream& current, window_time now) {
  current.open = pane_start{.pane = next_pane_++, .offset = current.offset, .time = now};
  current.remaining = shape_.pane;
  current.last = now + pane_time_;
}

window_cutter::stream& window_cutter::begin_text(const text_owner& owner, const source_name& name, window_time now) {
  if (is_new(owner.input)) {
    if (name_ && shape_.per_input && !shape_.interleaved) end_input(input_, now);
    input_ = owner.input;
    name_ = name;
  }
  stream& current = stream_for(owner.input, now);
  catch_up(current, now);
  current.source = name_;
  return current;
}

// The text of the owner that was just cut is in the open pane.
void window_cutter::add_to_pane(stream& current, const text_owner& owner, window_time now) {
  note_frame(owner, current.open->pane);
  if (!current.open->source) current.open->source = name_;
  if (shape_.unit != pane_unit::milliseconds) current.last = now;
  if (current.remaining == 0) end_pane(current);
}

void window_cutter::cut(std::span<const std::byte> text, const text_owner& owner, const source_name& name,
                        window_time now, std::vector<pane_slice>& slices) {
  stream& current = begin_text(owner, name, now);
  for (std::size_t at = 0; at < text.size();) {
    if (!current.open) open_pane(current, now);
    const std::size_t taken = fill_pane(current, text.subspan(at));
    at += taken;
    current.offset += taken;
    if (taken > 0) current.ends_line = text[at - 1] == std::byte{'\n'};  // 0: an earlier attempt to end the pane failed
    slices.push_back({.end = at, .pane = current.open->pane});
    add_to_pane(current, owner, now);
  }
}

std::uint64_t window_cutter::missing_in_pane(input_id input) const {
  const auto found = streams_.find(stream_of(input));
  if (found == streams_.end() || !found->second.open || found->second.remaining == 0) return shape_.pane;
  return found->second.remaining;
}

void window_cutter::cut_slices(std::span<const planned_slice> text, const text_owner& owner, const source_name& name,
                               window_time now, std::vector<pane_slice>& slices) {
  stream& current = begin_text(owner, name, now);
  if (current.open && current.remaining == 0) end_pane(current);  // an earlier attempt failed
  std::size_t at = 0;
  for (const planned_slice& each : text) {
    if (each.bytes == 0) continue;
    if (!current.open) open_pane(current, now);
    if (each.units > current.remaining) throw std::logic_error("a planned slice is longer than its pane");
    current.remaining -= each.units;
    current.offset += each.bytes;
    current.ends_line = each.ends_line;
    at += static_cast<std::size_t>(each.bytes);
    slices.push_back({.end = at, .pane = current.open->pane});
    add_to_pane(current, owner, now);
  }
}

// Returns how many bytes of the text belong to the open pane.
std::size_t window_cutter::fill_pane(stream& current, std::span<const std::byte> text) const {
  if (shape_.unit == pane_unit::milliseconds) return text.size();
  if (shape_.unit == pane_unit::lines) return through_newline(text, current.remaining);
  const std::uint64_t size = std::min<std::uint64_t>(current.remaining, text.size());
  current.remaining -= size;
  return static_cast<std::size_t>(size);
}

void window_cutter::note_frame(const text_owner& owner, pane_id pane) {
  if (owner.frame == 0) return;
  if (!frames_.empty() && frames_.back().owner == owner) {
    frames_.back().last = pane;
  } else {
    frames_.push_back({.owner = owner, .first = pane, .last = pane});
  }
}

void window_cutter::pass_time(window_time now) {
  for (auto& [id, each] : streams_) catch_up(each, now);
}

void window_cutter::catch_up(stream& current, window_time now) {
  if (shape_.unit != pane_unit::milliseconds || now < current.last) return;
  if ((now - current.last) / pane_time_ > max_empty_panes) {
    end_run(current, window_end::input, {}, current.last);
    open_pane(current, now);
  }
  while (now >= current.last) {
    const window_time border = current.last;
    end_pane(current);
    open_pane(current, border);
  }
}

window_time window_cutter::next_border() const {
  window_time first = window_time::max();
  if (shape_.unit != pane_unit::milliseconds) return first;
  for (const auto& [id, each] : streams_) first = std::min(first, each.last);
  return first;
}

void window_cutter::finish_pane(stream& current) {
  events_(
      pane_finished{.stream = current.id, .pane = current.open->pane, .bytes = current.offset - current.open->offset});
  current.panes.push_back(*std::exchange(current.open, std::nullopt));
}

void window_cutter::end_pane(stream& current) {
  finish_pane(current);
  if (current.panes.size() == shape_.window_panes) close_window(current, window_end::full, {});
}

// Closes windows that have text, full or not.
void window_cutter::end_run(stream& current, window_end reason, const std::string& error, window_time now) {
  if (current.open) {
    if (shape_.unit == pane_unit::milliseconds) current.last = now;
    finish_pane(current);
  }
  while (!current.panes.empty() && current.panes.front().offset < current.offset) close_window(current, reason, error);
  current.panes.clear();
  events_(run_finished{current.id});
}

window_head window_cutter::head_of(const stream& current) {
  window_head head{.first_offset = current.panes.front().offset,
                   .end_offset = current.offset,
                   .start = current.panes.front().time,
                   .end = current.last,
                   .ends_line = current.ends_line};
  const auto with_text =
      std::ranges::find_if(current.panes, [](const pane_start& each) { return each.source != nullptr; });
  head.source = with_text == current.panes.end() ? current.source : with_text->source;
  if (with_text != current.panes.end() && !same(head.source, current.source)) head.last_source = current.source;
  return head;
}

void window_cutter::close_window(stream& current, window_end reason, const std::string& error) {
  const std::uint64_t index = next_index(current);
  const waiting_windows window{.stream = shape_.numbered_by_input ? current.id : 0,
                               .first = index,
                               .count = 1,
                               .begin = current.panes.front().pane,
                               .end = current.panes.back().pane,
                               .is_damaged = current.panes.front().pane <= damaged_through_};
  const std::uint32_t dropped = std::min(shape_.step_panes, static_cast<std::uint32_t>(current.panes.size()));
  window_finished finished{.stream = current.id, .head = head_of(current), .panes_dropped = dropped};
  finished.head.index = index;
  finished.head.end_reason = reason;
  finished.head.error = error;
  finished.head.verified = !window.is_damaged && (frames_.empty() || frames_.front().first > window.end);
  ++next_index(current);
  const bool verified = finished.head.verified;
  events_(std::move(finished));
  current.panes.erase(current.panes.begin(), current.panes.begin() + dropped);
  if (verified) return;
  wait_for_verdict(window);
  judge();
}

void window_cutter::wait_for_verdict(const waiting_windows& window) {
  if (!waiting_.empty()) {
    waiting_windows& before = waiting_.back();
    const std::uint64_t shift = before.count * shape_.step_panes;
    if (before.stream == window.stream && before.is_damaged == window.is_damaged &&
        before.first + before.count == window.first && before.begin + shift == window.begin &&
        before.end + shift == window.end) {
      ++before.count;
      return;
    }
  }
  waiting_.push_back(window);
}

void window_cutter::conclude(const text_owner& frame, bool verified) {
  const auto found = std::ranges::find(frames_, frame, &frame::owner);
  if (found == frames_.end() || found->verified) return;
  found->verified = verified;
  judge();
}

void window_cutter::abandon(input_id input, group_id group) {
  for (frame& each : frames_) {
    if (each.owner.input == input && each.owner.group == group && !each.verified) each.verified = false;
  }
  judge();
}

pane_id window_cutter::break_off(input_id input, const std::string& error, window_time now) {
  const auto found = streams_.find(stream_of(input));
  if (found == streams_.end()) return next_pane_;
  catch_up(found->second, now);
  end_run(found->second, window_end::error, error, now);
  if (shape_.unit == pane_unit::milliseconds) open_pane(found->second, now);
  return found->second.open ? found->second.open->pane : next_pane_;
}

void window_cutter::end_input(input_id input, window_time now) {
  if (!shape_.per_input) return;
  const auto found = streams_.find(stream_of(input));
  if (found == streams_.end()) return;
  catch_up(found->second, now);
  end_run(found->second, window_end::input, {}, now);
  events_(stream_finished{found->first});
  streams_.erase(found);
}

void window_cutter::end(window_time now) {
  for (auto& [id, each] : streams_) {
    catch_up(each, now);
    end_run(each, window_end::input, {}, now);
    events_(stream_finished{id});
  }
  streams_.clear();
  for (frame& each : frames_) {
    if (!each.verified) each.verified = false;
  }
  judge();
}

// Windows that end before the first frame without a verdict are verified if none of their frames is damaged.
void window_cutter::judge() {
  for (;;) {
    judge_before(frames_.empty() ? no_frontier : frames_.front().first);
    if (frames_.empty() || !frames_.front().verified) break;
    const frame judged = frames_.front();
    frames_.pop_front();
    if (*judged.verified) continue;
    damaged_through_ = std::max(damaged_through_, judged.last);
    judge_damaged(judged.last);
  }
  publish_verdict();
}

void window_cutter::judge_before(pane_id frontier) {
  while (!waiting_.empty() && waiting_.front().end < frontier) {
    const waiting_windows& oldest = waiting_.front();
    const std::uint64_t before = (frontier - 1 - oldest.end) / shape_.step_panes + 1;
    judge_oldest(std::min(before, oldest.count), !oldest.is_damaged);
  }
}

// All waiting windows end after the first pane of the damaged frame.
void window_cutter::judge_damaged(pane_id last) {
  while (!waiting_.empty() && waiting_.front().begin <= last) {
    const waiting_windows& oldest = waiting_.front();
    judge_oldest(std::min((last - oldest.begin) / shape_.step_panes + 1, oldest.count), false);
  }
}

void window_cutter::judge_oldest(std::uint64_t count, bool verified) {
  waiting_windows& oldest = waiting_.front();
  if (pending_ &&
      (pending_->verified != verified || pending_->stream != oldest.stream || pending_->last + 1 != oldest.first)) {
    publish_verdict();
  }
  if (!pending_) {
    pending_ = {.first = oldest.first, .last = oldest.first, .verified = verified, .stream = oldest.stream};
  }
  pending_->last = oldest.first + count - 1;
  oldest.first += count;
  oldest.count -= count;
  oldest.begin += count * shape_.step_panes;
  oldest.end += count * shape_.step_panes;
  if (oldest.count == 0) waiting_.pop_front();
}

void window_cutter::publish_verdict() {
  if (pending_) events_(*pending_);
  pending_.reset();
}

}  // namespace gpuhist::pipeline
