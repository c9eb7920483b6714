#include "pipeline/flow/text_taps.hpp"

#include <exception>

namespace gpuhist::pipeline {

text_taps::tap* text_taps::find(input_id input) {
  const std::scoped_lock lock(mutex_);
  const auto found = open_.find(input);
  return found == open_.end() ? nullptr : &found->second;
}

text_taps::tap& text_taps::open(input_id input) {
  if (tap* const found = find(input)) return *found;
  tap made;
  if (observer_ != nullptr) made.observer = observer_->open(counts_.name_of(input), counts_.order_of(input));
  if (validates_utf8_) made.utf8_meter.emplace();
  const std::scoped_lock lock(mutex_);
  return open_.emplace(input, std::move(made)).first->second;
}

async::task<> text_taps::pass(const text_owner& owner, std::span<const std::byte> text) {
  if (forwards_all()) co_await sink_->write(text);
  co_await observe(owner, text);
}

// The counts of UTF-8 are noted before the text is committed: an input may finish as soon as its text is merged.
async::task<> text_taps::observe(const text_owner& owner, std::span<const std::byte> text) {
  if (!is_observed() || text.empty()) co_return;
  tap& to = open(owner.input);
  if (to.utf8_meter) {
    to.utf8_meter->feed(text);
    counts_.note_utf8(owner.input, report_of(*to.utf8_meter));
  }
  while (to.observer && !text.empty() && !has_failed_) {
    text = text.subspan(to.observer->take_some(text, owner.group == 0));
    co_await flush(owner.input);
  }
}

async::task<> text_taps::flush(input_id input) {
  if (observer_ == nullptr) co_return;
  if (filters()) {
    tap* const found = find(input);
    if (found == nullptr) co_return;
    input_observer& kept_by = *found->observer;
    for (auto kept = kept_by.next_kept(); !kept.empty(); kept = kept_by.next_kept()) {
      if (kept_) kept_(input, kept);
      if (sink_ != nullptr) co_await sink_->write(kept);
    }
  }
  if (has_failed_ || !observer_->wants_publishing()) co_return;
  if (run_blocking_) co_return run_blocking_(publish());
  co_await async::run_on(streams_, publish());
}

// The text belongs to an input, but the caller of the run causes the failure.
async::task<> text_taps::publish() {
  if (has_failed_) co_return;  // on this thread, since this call was queued
  try {
    observer_->publish();
  } catch (...) {
    has_failed_ = true;
    failures_.note(std::current_exception());
  }
  co_return;
}

void text_taps::note_gap(input_id input) {
  tap* const found = find(input);
  if (found == nullptr) return;
  if (found->observer) found->observer->note_gap();
  if (found->utf8_meter) found->utf8_meter->skip();
}

// An input without text was validated if it was read to its end. After an early end, text is missing, and the input may
// have finished before: an incomplete sequence is not judged.
async::task<> text_taps::end(input_id input, input_observer::ending how) {
  const bool is_whole = how == input_observer::ending::whole;
  tap* const found = validates_utf8_ && is_whole ? &open(input) : find(input);
  if (found == nullptr) co_return;
  if (found->observer) found->observer->end(how);
  if (found->utf8_meter && is_whole) {
    found->utf8_meter->end();
    counts_.note_utf8(input, report_of(*found->utf8_meter));
  }
  co_await flush(input);
  discard(input);
}

void text_taps::discard(input_id input) {
  const std::scoped_lock lock(mutex_);
  open_.erase(input);
}

}  // namespace gpuhist::pipeline
