#include "pipeline/counts/windows/rolling_windows.hpp"

#include "pipeline/counts/partitioning.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline {
rolling_windows::rolling_windows(const window_shape& shape, const row_folding& rows, std::function<void()> changed)
    : shape_(shape),
      rows_(rows),
      changed_(std::move(changed)),
      began_(std::chrono::steady_clock::now()),
      began_at_(std::chrono::system_clock::now()),
      cutter_(shape, began_at_, [this](window_event event) { note(std::move(event)); }) {}

window_time rolling_windows::now() const {
  return began_at_ + std::chrono::duration_cast<window_time::duration>(std::chrono::steady_clock::now() - began_);
}

void rolling_windows::note(window_event event) {
  if (!discarded_) events_.push_back(std::move(event));
}

bool rolling_windows::is_new(input_id input) const {
  const std::scoped_lock lock(mutex_);
  return cutter_.is_new(input);
}

void rolling_windows::cut(std::span<const std::byte> text, const text_owner& owner, const source_name& name,
                          std::vector<pane_slice>& slices) {
  run_and_notify([&] {
    const std::size_t before = slices.size();
    cutter_.cut(text, owner, name, now(), slices);
    add_observed(owner.input, std::span(slices).subspan(before));
  });
}

void rolling_windows::cut_slices(std::span<const planned_slice> text, const text_owner& owner, const source_name& name,
                                 std::vector<pane_slice>& slices) {
  run_and_notify([&] { cutter_.cut_slices(text, owner, name, now(), slices); });
}

std::uint64_t rolling_windows::missing_in_pane(input_id input) const {
  const std::scoped_lock lock(mutex_);
  return cutter_.missing_in_pane(input);
}

void rolling_windows::conclude(const text_owner& frame, bool verified) {
  run_and_notify([&] { cutter_.conclude(frame, verified); });
}

void rolling_windows::abandon(input_id input, group_id group) {
  run_and_notify([&] { cutter_.abandon(input, group); });
}

pane_id rolling_windows::break_off(input_id input, const std::string& error) {
  pane_id next = 0;
  run_and_notify([&] { next = cutter_.break_off(input, error, now()); });
  return next;
}

void rolling_windows::end_input(input_id input) {
  run_and_notify([&] {
    observed_.erase(input);
    cutter_.end_input(input, now());
  });
}

void rolling_windows::end() {
  run_and_notify([&] { cutter_.end(now()); });
}

void rolling_windows::pass_time() {
  run_and_notify([&] { cutter_.pass_time(now()); });
}

// The clock is read under the lock, so times ascend.
template <typename Task>
void rolling_windows::run_and_notify(Task task) {
  bool has_news = false;
  {
    const std::scoped_lock lock(mutex_);
    const std::size_t before = events_.size();
    task();
    has_news = events_.size() > before;
  }
  if (has_news) changed_();
}

// While no input is open, the time of one pane.
std::optional<std::chrono::nanoseconds> rolling_windows::until_border() const {
  if (shape_.unit != pane_unit::milliseconds) return std::nullopt;
  const std::chrono::nanoseconds pane = std::chrono::milliseconds(shape_.pane);
  const std::scoped_lock lock(mutex_);
  const window_time border = cutter_.next_border();
  const window_time at = now();
  if (border == window_time::max()) return pane;
  return std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(border - at));
}

std::vector<std::size_t> rolling_windows::pane_ends(std::span<const std::byte> text, input_id input) const {
  if (shape_.unit == pane_unit::milliseconds) return {text.size()};
  std::vector<std::size_t> ends;
  std::uint64_t missing = missing_in_pane(input);
  for (std::size_t end = 0; end < text.size(); missing = shape_.pane) {
    const std::span<const std::byte> rest = text.subspan(end);
    end += shape_.unit == pane_unit::lines ? through_newline(rest, missing)
                                           : static_cast<std::size_t>(std::min<std::uint64_t>(missing, rest.size()));
    ends.push_back(end);
  }
  return ends;
}

void rolling_windows::note_observed(input_id input, std::uint64_t bytes, observed_numbers found) {
  const std::scoped_lock lock(mutex_);
  if (!discarded_) observed_[input].push_back({.bytes = bytes, .found = std::move(found)});
}

// Each part that was observed ends in one slice.
void rolling_windows::add_observed(input_id input, std::span<const pane_slice> text) {
  const auto found = observed_.find(input);
  if (found == observed_.end()) return;
  std::size_t begin = 0;
  for (const pane_slice& slice : text) {
    std::uint64_t bytes = slice.end - std::exchange(begin, slice.end);
    for (std::deque<observed_text>& parts = found->second; bytes > 0 && !parts.empty();) {
      const std::uint64_t taken = std::min(bytes, parts.front().bytes);
      bytes -= taken;
      parts.front().bytes -= taken;
      if (parts.front().bytes > 0) break;
      panes_[slice.pane].observed += parts.front().found;
      parts.pop_front();
    }
  }
  if (found->second.empty()) observed_.erase(found);
}

void rolling_windows::merge(pane_id pane, std::uint64_t bytes, std::span<const std::uint32_t> row,
                            const std::optional<byte_pair>& seam) {
  const std::scoped_lock lock(mutex_);
  if (discarded_) return;
  pane_counts& counted = panes_[pane];
  rows_.add(counted.counts, row);  // first, because it may throw
  rows_.add(counted.counts, seam);
  counted.merged += bytes;
}

// If next() would return nothing, only more merging lets it return a window.
bool rolling_windows::is_backed_up() const {
  const std::scoped_lock lock(mutex_);
  return panes_.size() > max_panes_merged && !events_.empty() && is_ready(events_.front());
}

bool rolling_windows::is_ready(const window_event& front) const {
  const auto* const pane = std::get_if<pane_finished>(&front);
  if (pane == nullptr || pane->bytes == 0 || given_up_) return true;
  const auto found = panes_.find(pane->pane);
  return found != panes_.end() && found->second.merged == pane->bytes;
}

std::optional<rolling_windows::record> rolling_windows::next() {
  const std::scoped_lock lock(mutex_);
  while (!events_.empty() && is_ready(events_.front())) {
    window_event front = std::move(events_.front());
    events_.pop_front();
    ++passed_;
    if (auto taken = take(front)) return taken;
  }
  return std::nullopt;
}

std::optional<rolling_windows::record> rolling_windows::take(window_event& front) {
  if (const auto* pane = std::get_if<pane_finished>(&front)) {
    add_pane(*pane);
  } else if (const auto* run = std::get_if<run_finished>(&front)) {
    end_run(run->stream);
  } else if (const auto* stream = std::get_if<stream_finished>(&front)) {
    lines_before_.erase(stream->stream);
  } else if (auto* window = std::get_if<window_finished>(&front)) {
    return close(*window);
  } else {
    return std::get<window_verdict>(front);
  }
  return std::nullopt;
}

void rolling_windows::add_pane(const pane_finished& finished) {
  stream_panes& panes =
      streams_.try_emplace(finished.stream, stream_panes{.sum = pane_sum(rows_.no_text())}).first->second;
  auto counted = panes_.extract(finished.pane);
  const std::uint64_t merged = counted.empty() ? 0 : counted.mapped().merged;
  panes.sum.add(counted.empty() ? gpu::tally() : std::move(counted.mapped().counts));
  panes.observed_in.push_back(counted.empty() ? observed_numbers() : std::move(counted.mapped().observed));
  panes.observed += panes.observed_in.back();
  panes.is_incomplete.push_back(merged != finished.bytes);
  if (!panes.is_incomplete.back()) return;
  ++panes.incomplete;
  lines_before_.insert_or_assign(finished.stream, std::nullopt);
}

void rolling_windows::end_run(stream_id stream) {
  const auto panes = streams_.find(stream);
  if (panes == streams_.end()) return;
  std::optional<std::uint64_t>& before = lines_before_.try_emplace(stream, 0).first->second;
  if (before) *before += rows_.lines_in(panes->second.sum.sum());
  streams_.erase(panes);
}

closed_window rolling_windows::close(window_finished& finished) {
  stream_panes& panes = streams_.at(finished.stream);
  closed_window out{.head = std::move(finished.head),
                    .counts = panes.sum.sum(),
                    .lines = {},
                    .stream = finished.stream,
                    .observed = panes.observed};
  if (panes.incomplete > 0) {
    out.head.end_reason = window_end::error;
    if (out.head.error.empty()) out.head.error = *given_up_;
  }
  std::optional<std::uint64_t>& before = lines_before_.try_emplace(finished.stream, 0).first->second;
  const std::uint64_t lines = rows_.lines_in(panes.sum.sum());
  if (before && out.head.end_offset > out.head.first_offset) {
    out.lines = {.first = *before + 1, .last = *before + lines + (out.head.ends_line ? 0 : 1)};
  }
  panes.sum.drop(finished.panes_dropped);
  if (before) *before += lines - rows_.lines_in(panes.sum.sum());
  for (std::uint32_t i = 0; i < finished.panes_dropped; ++i) {
    panes.observed -= panes.observed_in.front();
    panes.observed_in.pop_front();
    if (panes.is_incomplete.front()) --panes.incomplete;
    panes.is_incomplete.pop_front();
  }
  if (!panes.observed.first_lines.empty()) {
    panes.observed.first_lines.clear();
    for (const observed_numbers& each : panes.observed_in) panes.observed.add_first_lines(each.first_lines);
  }
  return out;
}

rolling_windows::event_count rolling_windows::events() const {
  const std::scoped_lock lock(mutex_);
  return {.noted = passed_ + events_.size(), .passed = passed_};
}

bool rolling_windows::is_waiting() const {
  const std::scoped_lock lock(mutex_);
  return !events_.empty() && !is_ready(events_.front());
}

void rolling_windows::give_up(const std::string& error) {
  const std::scoped_lock lock(mutex_);
  if (!given_up_) given_up_ = error;  // the first error is the cause
}

void rolling_windows::discard() {
  const std::scoped_lock lock(mutex_);
  discarded_ = true;
  passed_ += events_.size();
  events_.clear();
  panes_.clear();
  observed_.clear();
}

}  // namespace gpuhist::pipeline
