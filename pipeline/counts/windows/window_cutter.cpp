#include "pipeline/counts/windows/window_cutter.hpp"

#include "pipeline/counts/windows/newlines.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr pane_id no_frontier = std::numeric_limits<pane_id>::max();

// Of a process that was stopped so long that the windows of that time would fill its memory, none are told.
constexpr std::int64_t max_empty_panes = 65536;

bool same(const source_name& one, const source_name& other) { return one && other && *one == *other; }

}  // namespace

std::string_view name_of(window_end why) {
  switch (why) {
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

void window_cutter::open_pane(stream& of, window_time now) {
  of.open = pane_start{.pane = next_pane_++, .offset = of.offset, .time = now};
  of.left = shape_.pane;
  of.last = now + pane_time_;
}

void window_cutter::cut(std::span<const std::byte> text, const text_owner& owner, const source_name& name,
                        window_time now, std::vector<pane_part>& parts) {
  if (is_new(owner.input)) {
    if (name_ && shape_.per_input && !shape_.interleaved) end_input(input_, now);
    input_ = owner.input;
    name_ = name;
  }
  stream& of = stream_for(owner.input, now);
  catch_up(of, now);
  of.source = name_;
  for (std::size_t at = 0; at < text.size();) {
    if (!of.open) open_pane(of, now);
    const std::size_t taken = take(of, text.subspan(at));
    at += taken;
    of.offset += taken;
    of.ends_line = text[at - 1] == std::byte{'\n'};
    parts.push_back({.end = at, .pane = of.open->pane});
    note_frame(owner, of.open->pane);
    if (!of.open->source) of.open->source = name_;
    if (shape_.unit != pane_unit::milliseconds) of.last = now;
    if (of.left == 0) end_pane(of);
  }
}

// As much as the open pane takes.
std::size_t window_cutter::take(stream& of, std::span<const std::byte> text) const {
  if (shape_.unit == pane_unit::milliseconds) return text.size();
  if (shape_.unit == pane_unit::lines) return through_newline(text, of.left);
  const std::uint64_t size = std::min<std::uint64_t>(of.left, text.size());
  of.left -= size;
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

void window_cutter::catch_up(stream& of, window_time now) {
  if (shape_.unit != pane_unit::milliseconds || now < of.last) return;
  if ((now - of.last) / pane_time_ > max_empty_panes) {
    end_run(of, window_end::input, {}, of.last);
    open_pane(of, now);
  }
  while (now >= of.last) {
    const window_time border = of.last;
    end_pane(of);
    open_pane(of, border);
  }
}

window_time window_cutter::next_border() const {
  window_time first = window_time::max();
  if (shape_.unit != pane_unit::milliseconds) return first;
  for (const auto& [id, each] : streams_) first = std::min(first, each.last);
  return first;
}

void window_cutter::put_pane_down(stream& of) {
  events_(pane_finished{.stream = of.id, .pane = of.open->pane, .bytes = of.offset - of.open->offset});
  of.panes.push_back(*std::exchange(of.open, std::nullopt));
}

void window_cutter::end_pane(stream& of) {
  put_pane_down(of);
  if (of.panes.size() == shape_.window_panes) close_window(of, window_end::full, {});
}

// What has begun is a window as far as there is text for it.
void window_cutter::end_run(stream& of, window_end why, const std::string& error, window_time now) {
  if (of.open) {
    if (shape_.unit == pane_unit::milliseconds) of.last = now;
    put_pane_down(of);
  }
  while (!of.panes.empty() && of.panes.front().offset < of.offset) close_window(of, why, error);
  of.panes.clear();
  events_(run_finished{of.id});
}

window_head window_cutter::head_of(const stream& of) const {
  window_head head{.index = next_index_,
                   .first_offset = of.panes.front().offset,
                   .end_offset = of.offset,
                   .start = of.panes.front().time,
                   .end = of.last,
                   .ends_line = of.ends_line};
  const auto with_text = std::ranges::find_if(of.panes, [](const pane_start& each) { return each.source != nullptr; });
  head.source = with_text == of.panes.end() ? of.source : with_text->source;
  if (with_text != of.panes.end() && !same(head.source, of.source)) head.last_source = of.source;
  return head;
}

void window_cutter::close_window(stream& of, window_end why, const std::string& error) {
  const waiting_windows one{.first = next_index_,
                            .count = 1,
                            .begin = of.panes.front().pane,
                            .end = of.panes.back().pane,
                            .doomed = of.panes.front().pane <= damaged_through_};
  const std::uint32_t gone = std::min(shape_.step_panes, static_cast<std::uint32_t>(of.panes.size()));
  window_finished over{.stream = of.id, .head = head_of(of), .panes_dropped = gone};
  over.head.why = why;
  over.head.error = error;
  over.head.verified = !one.doomed && (frames_.empty() || frames_.front().first > one.end);
  ++next_index_;
  const bool verified = over.head.verified;
  events_(std::move(over));
  of.panes.erase(of.panes.begin(), of.panes.begin() + gone);
  if (verified) return;
  wait_for_verdict(one);
  judge();
}

void window_cutter::wait_for_verdict(const waiting_windows& one) {
  if (!waiting_.empty()) {
    waiting_windows& before = waiting_.back();
    const std::uint64_t behind = before.count * shape_.step_panes;
    if (before.doomed == one.doomed && before.first + before.count == one.first && before.begin + behind == one.begin &&
        before.end + behind == one.end) {
      ++before.count;
      return;
    }
  }
  waiting_.push_back(one);
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

void window_cutter::break_off(input_id input, const std::string& error, window_time now) {
  const auto found = streams_.find(stream_of(input));
  if (found == streams_.end()) return;
  catch_up(found->second, now);
  end_run(found->second, window_end::error, error, now);
  if (shape_.unit == pane_unit::milliseconds) open_pane(found->second, now);
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

// The windows before the first frame without a verdict are good, as far as none of their frames was damaged.
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
    judge_oldest(std::min(before, oldest.count), !oldest.doomed);
  }
}

// All that wait end behind the first pane of the damaged frame.
void window_cutter::judge_damaged(pane_id last) {
  while (!waiting_.empty() && waiting_.front().begin <= last) {
    const waiting_windows& oldest = waiting_.front();
    judge_oldest(std::min((last - oldest.begin) / shape_.step_panes + 1, oldest.count), false);
  }
}

void window_cutter::judge_oldest(std::uint64_t count, bool verified) {
  waiting_windows& oldest = waiting_.front();
  if (said_ && (said_->verified != verified || said_->last + 1 != oldest.first)) publish_verdict();
  if (!said_) said_ = {.first = oldest.first, .last = oldest.first, .verified = verified};
  said_->last = oldest.first + count - 1;
  oldest.first += count;
  oldest.count -= count;
  oldest.begin += count * shape_.step_panes;
  oldest.end += count * shape_.step_panes;
  if (oldest.count == 0) waiting_.pop_front();
}

void window_cutter::publish_verdict() {
  if (said_) events_(*said_);
  said_.reset();
}

}  // namespace gpuhist::pipeline
