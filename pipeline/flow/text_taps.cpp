#include "pipeline/flow/text_taps.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace gpuhist::pipeline {
namespace {

// In pieces, so that no more memory is used than was given.
void hold(std::span<const std::byte> text, spilled_bytes& held) {
  while (!text.empty()) {
    const auto piece = text.first(std::min(text.size(), text_taps::piece_bytes));
    held.append({reinterpret_cast<const char*>(piece.data()), piece.size()});
    text = text.subspan(piece.size());
  }
}

// After a failure, too: no text is observed twice.
struct emptied_at_end {
  explicit emptied_at_end(spilled_bytes& held) : held_(held) {}
  emptied_at_end(const emptied_at_end&) = delete;
  emptied_at_end& operator=(const emptied_at_end&) = delete;
  ~emptied_at_end() { held_.cut_back(0); }

 private:
  spilled_bytes& held_;
};

}  // namespace

text_taps::tap_pointer text_taps::find(const text_owner& owner) {
  const std::scoped_lock lock(mutex_);
  const auto input = open_.find(owner.input);
  if (input == open_.end()) return nullptr;
  const auto found = std::ranges::find(input->second.taps, owner.group, &tap::group);
  return found == input->second.taps.end() ? nullptr : *found;
}

text_taps::tap_pointer text_taps::make(const text_owner& owner, bool is_first) {
  using enum gpu::host::utf8_meter::position;
  const auto made = std::make_shared<tap>();
  made->group = owner.group;
  made->is_first = is_first;
  if (observer_ != nullptr) {
    const std::string& name = counts_.name_of(owner.input);
    const std::uint64_t order = counts_.order_of(owner.input);
    made->observer = is_first ? observer_->open(name, order) : observer_->open_later(name, order);
  }
  if (awaits_verdicts()) made->held = std::make_unique<spilled_bytes>(held_.in_memory, held_.spilled_to);
  if (validates_utf8_) made->utf8_meter.emplace(gpu::host::utf8_detail::scripts, is_first ? first : later);
  return made;
}

// The tap of the owner; of an input without groups it is made for its first text. Null: its text is ignored.
text_taps::tap_pointer text_taps::open(const text_owner& owner) {
  {
    const std::scoped_lock lock(mutex_);
    const input_taps& input = open_[owner.input];
    const auto found = std::ranges::find(input.taps, owner.group, &tap::group);
    if (found != input.taps.end()) return *found;
    if (input.is_cut || !input.taps.empty()) return nullptr;
  }
  tap_pointer made = make(owner, true);
  begin_observing(owner.input);
  const std::scoped_lock lock(mutex_);
  return open_[owner.input].taps.emplace_back(std::move(made));
}

// An input may finish as soon as its text is merged, but its report has what was found in all of its text.
void text_taps::begin_observing(input_id input) {
  if (observer_ == nullptr || !observer_->reports_inputs()) return;
  {
    const std::scoped_lock lock(mutex_);
    open_[input].is_reported = true;
  }
  counts_.begin_observing(input);
}

void text_taps::end_observing(input_id input, std::optional<observed_numbers> found) {
  {
    const std::scoped_lock lock(mutex_);
    const auto ended = open_.find(input);
    if (ended == open_.end() || !std::exchange(ended->second.is_reported, false)) return;
  }
  counts_.end_observing(input, std::move(found));
}

// The first tap, which all others were joined to unless text is missing.
text_taps::tap_pointer text_taps::last_of(input_id input) {
  const std::scoped_lock lock(mutex_);
  const auto found = open_.find(input);
  return found == open_.end() || found->second.taps.empty() ? nullptr : found->second.taps.front();
}

// Groups whose text is held until those before them have ended must not run far ahead.
std::size_t text_taps::max_groups(std::size_t contexts) const {
  constexpr std::size_t groups_per_context = 4;
  if (!takes_groups()) return 1;
  return holds_text() ? contexts : groups_per_context * contexts;
}

void text_taps::begin_group(const text_owner& owner) {
  bool is_first = false;
  {
    const std::scoped_lock lock(mutex_);
    input_taps& input = open_[owner.input];
    if (input.is_cut || input.try_continue(owner.group)) return;
    is_first = input.taps.empty();
  }
  tap_pointer made = make(owner, is_first);
  if (is_first) begin_observing(owner.input);
  const std::scoped_lock lock(mutex_);
  input_taps& input = open_[owner.input];
  // the first tap may have ended meanwhile
  if (!input.is_cut && !input.try_continue(owner.group)) input.taps.push_back(std::move(made));
}

bool text_taps::input_taps::try_continue(group_id group) {
  if (taps.size() != 1 || !taps.front()->has_ended) return false;
  taps.front()->group = group;
  taps.front()->has_ended = false;
  return true;
}

async::task<> text_taps::end_group(text_owner owner, bool whole) {
  tap_pointer ended = find(owner);
  try {
    if (ended && ended->held) co_await release_held(owner.input, *ended, false);  // a frame that did not end
    if (ended && !whole) {
      const std::scoped_lock lock(mutex_);
      ended->ends_text = true;
    }
    co_await join_ended(owner.input, std::move(ended));
  } catch (...) {
    cut(owner.input);
    throw;
  }
}

async::task<> text_taps::join_ended(input_id input, tap_pointer ended) {
  while (ended) {
    co_await join(input, *ended);
    if (ended->is_first) co_await flush(input, *ended);  // a gap may have ended a unit
    ended = release(input, ended);
  }
}

async::task<> text_taps::wait_for_turn(text_owner owner) {
  const tap_pointer waiting = find(owner);
  if (!waiting || waiting->is_first) co_return;
  co_await waiting->turn.wait();
  co_await join(owner.input, *waiting);
}

// Returns a tap that has ended and must be joined by the caller.
text_taps::tap_pointer text_taps::release(input_id input, const tap_pointer& ended) {
  tap_pointer next;
  {
    const std::scoped_lock lock(mutex_);
    if (ended->earlier) return ended;  // since join()
    ended->has_ended = true;
    if (!ended->is_first) return nullptr;  // the end of the tap before it joins it
    std::deque<tap_pointer>& taps = open_[input].taps;
    if (!ended->ends_text) {
      if (taps.size() == 1) return nullptr;
      taps.pop_front();
      next = taps.front();
      next->earlier = ended;
      if (std::exchange(next->has_ended, false)) return next;
    }
  }
  next ? next->turn.set() : cut(input);
  return nullptr;
}

// Text is missing after the first tap.
void text_taps::cut(input_id input) {
  std::deque<tap_pointer> ignored;
  {
    const std::scoped_lock lock(mutex_);
    input_taps& from = open_[input];
    from.is_cut = true;
    if (from.taps.empty()) return;
    ignored.swap(from.taps);
    from.taps.push_back(std::move(ignored.front()));
    ignored.pop_front();
  }
  for (const tap_pointer& each : ignored) each->turn.set();
}

// Joins the tap before it if that has ended.
async::task<> text_taps::join(input_id input, tap& later) {
  tap_pointer earlier;
  {
    const std::scoped_lock lock(mutex_);
    earlier.swap(later.earlier);
  }
  if (!earlier) co_return;
  try {
    if (later.observer) later.observer->follow(std::move(earlier->observer));
    if (later.utf8_meter) {
      later.utf8_meter->follow(*earlier->utf8_meter);
      counts_.note_utf8(input, report_of(*later.utf8_meter));
    }
    later.is_first = true;
  } catch (...) {
    cut(input);
    throw;
  }
  co_await flush(input, later);
}

async::task<> text_taps::pass(const text_owner& owner, std::span<const std::byte> text) {
  if (forwards_all()) co_await sink_->write(text);
  co_await observe(owner, text);
}

async::task<> text_taps::observe(const text_owner& owner, std::span<const std::byte> text) {
  if (!is_observed() || text.empty()) co_return;
  const tap_pointer to = open(owner);
  if (!to) co_return;
  co_await join(owner.input, *to);
  validate(owner.input, *to, text);
  const bool is_verified = owner.frame == 0;
  if (to->held && !is_verified) {
    hold(text, *to->held);
  } else if (observes_panes()) {
    co_await observe_panes(owner.input, *to, text, is_verified);
  } else {
    co_await observe_now(owner.input, *to, text, is_verified);
  }
}

async::task<> text_taps::observe(const text_owner& owner, std::span<const std::byte> text, bool verified) {
  const tap_pointer to = open(owner);
  if (to) co_await observe_now(owner.input, *to, text, verified);
}

// Its owner commits the text before the next one of the same stream is observed, so its panes are known.
async::task<> text_taps::observe_panes(input_id input, tap& to, std::span<const std::byte> text, bool verified) {
  rolling_windows& windows = *counts_.windows();
  std::size_t begin = 0;
  for (const std::size_t end : windows.pane_ends(text, input)) {
    co_await observe_now(input, to, text.subspan(begin, end - begin), verified);
    windows.note_observed(input, end - begin, to.observer->take_found());
    begin = end;
  }
}

async::task<> text_taps::observe_now(input_id input, tap& to, std::span<const std::byte> text, bool verified) {
  while (to.observer && !text.empty() && !has_failed_) {
    if (!to.is_first && to.observer->is_full()) {
      co_await to.turn.wait();
      co_await join(input, to);
      if (!to.is_first) co_return;  // text before it is missing
    }
    text = text.subspan(to.observer->take_some(text, verified));
    if (to.is_first) co_await flush(input, to);
  }
}

async::task<std::size_t> text_taps::observe(const text_owner& owner, const gpu::cuda::units::piece_rows& pieces,
                                            std::size_t from) {
  const std::size_t rest = pieces.size() - from;
  const tap_pointer to = open(owner);
  if (!to) co_return rest;
  co_await join(owner.input, *to);
  std::size_t taken = 0;
  while (taken < rest && !has_failed_) {
    if (!to->is_first && to->observer->is_full()) co_return taken;
    taken += to->observer->take_pieces(pieces, from + taken, owner.frame == 0);
    if (to->is_first) co_await flush(owner.input, *to);
  }
  co_return rest;
}

async::task<> text_taps::observe(const text_owner& owner, std::span<const text_value> values, std::vector<bool>& kept) {
  const tap_pointer to = open(owner);
  while (to && to->observer && !values.empty() && !has_failed_) {
    values = values.subspan(to->observer->take_values(values, kept));
    co_await flush(owner.input, *to);
  }
}

async::task<> text_taps::release_held(input_id input, tap& from, bool verified) {
  co_await join(input, from);
  const emptied_at_end emptied{*from.held};
  for (std::uint64_t at = 0; at < from.held->size();) {
    const std::string piece = from.held->read(at, piece_bytes);
    co_await observe_now(input, from, std::as_bytes(std::span(piece)), verified);
    at += piece.size();
  }
}

// The counts of UTF-8 are noted before the text is committed: an input may finish as soon as its text is merged.
void text_taps::validate(input_id input, tap& to, std::span<const std::byte> text) {
  if (!to.utf8_meter) return;
  to.utf8_meter->feed(text);
  if (to.is_first) counts_.note_utf8(input, report_of(*to.utf8_meter));
}

async::task<> text_taps::flush(input_id input, tap& first) {
  if (observer_ == nullptr) co_return;
  if (filters()) {
    input_observer& from = *first.observer;
    for (auto kept = from.next_kept(); !kept.empty(); kept = from.next_kept()) {
      if (kept_) kept_(input, kept);
      if (sink_ != nullptr) co_await sink_->write(kept);
    }
  }
  if (has_failed_ || !observer_->wants_publishing()) co_return;
  if (run_blocking_) co_return run_blocking_(publish());
  if (observer_->must_publish()) {
    co_await async::run_on(streams_, publish());
  } else {
    publishing_.post();  // groups that follow need not wait for the thread of the run
  }
}

async::task<> text_taps::settle() {
  if (publishing_.is_posted()) co_await async::run_on(streams_, publish());  // after the posted call
}

async::task<> text_taps::publish() {
  publish_now();
  co_return;
}

// The text belongs to an input, but the caller of the run causes the failure.
void text_taps::publish_now() noexcept {
  if (has_failed_) return;  // on this thread, since this call was queued
  try {
    observer_->publish();
  } catch (...) {
    failures_.note(std::current_exception());  // requests a stop
    has_failed_ = true;
  }
}

async::task<> text_taps::note_verified(text_owner owner) {
  const tap_pointer found = find(owner);
  if (found && found->held) co_await release_held(owner.input, *found, true);
}

async::task<> text_taps::note_gap(text_owner owner) {
  const tap_pointer found = find(owner);
  if (!found) co_return;
  if (found->held) co_await release_held(owner.input, *found, false);
  if (found->observer) found->observer->note_gap();
  if (found->utf8_meter) found->utf8_meter->skip();
}

void text_taps::note_idle(input_id input) {
  if (observer_ == nullptr || has_failed_) return;
  const tap_pointer to = open({.input = input});
  if (to && to->observer) to->observer->note_idle();
}

async::task<> text_taps::end(input_id input, input_observer::ending how) {
  try {
    co_await end_taps(input, how);
  } catch (...) {
    discard(input);
    throw;
  }
  discard(input);
}

// An input without text was validated, and observed, if it was read to its end. After an early end, text is missing,
// and the input may have finished before: an incomplete sequence is not judged.
async::task<> text_taps::end_taps(input_id input, input_observer::ending how) {
  if (has_failed_) how = input_observer::ending::early;  // text may not have been observed
  const bool is_whole = how == input_observer::ending::whole;
  std::optional<observed_numbers> found;
  tap_pointer last = last_of(input);
  if (!last && is_whole && is_observed()) last = open({.input = input});
  if (last) co_await join(input, *last);
  if (last && last->held) co_await release_held(input, *last, false);
  if (last && last->is_first) {
    if (last->observer) {
      last->observer->end(how);
      found = last->observer->found();
    }
    if (last->utf8_meter && is_whole) {
      last->utf8_meter->end();
      counts_.note_utf8(input, report_of(*last->utf8_meter));
    }
    co_await flush(input, *last);
  }
  co_await settle();
  end_observing(input, std::move(found));
}

void text_taps::discard(input_id input) {
  end_observing(input, std::nullopt);
  const std::scoped_lock lock(mutex_);
  open_.erase(input);
}

}  // namespace gpuhist::pipeline
