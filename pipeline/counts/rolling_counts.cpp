#include "pipeline/counts/rolling_counts.hpp"

#include <string>
#include <utility>

namespace gpuhist::pipeline {

rolling_counts::rolling_counts(const gpu::partition& counted, const gpu::partition& rows,
                               std::vector<std::string> input_names)
    : counted_(counted),
      rows_(counted, rows),
      verified_(counted.classes),
      unverified_(counted.classes),
      finished_(std::make_shared<finished_inputs>(counted.classes)) {
  for (std::string& name : input_names) open_input(std::move(name));
}

void rolling_counts::add_windows(const window_shape& shape, std::function<void()> changed) {
  windows_ = std::make_unique<rolling_windows>(shape, rows_, std::move(changed));
}

void rolling_counts::note_gap(input_id input, const std::string& cause) {
  if (windows_) windows_->break_off(input, cause);
}

input_id rolling_counts::open_input(std::string name) {
  auto opened = std::make_unique<input_counts>(std::move(name), rows_);
  const std::scoped_lock lock(mutex_);
  inputs_.push_back({.open = std::move(opened)});
  return static_cast<input_id>(before_ + inputs_.size() - 1);
}

std::size_t rolling_counts::inputs() const {
  const std::scoped_lock lock(mutex_);
  return before_ + inputs_.size();
}

std::size_t rolling_counts::inputs_in_order() const {
  const std::scoped_lock lock(mutex_);
  return appended_;
}

// What was laid down never changes: no lock is held while it is read.
input_report rolling_counts::input_in_order(std::size_t number) const {
  return finished_->at(finished_->number(number));
}

// Null where it was laid down: nothing more can be said of it.
input_counts* rolling_counts::open_one(input_id input) const {
  return input < before_ ? nullptr : inputs_[input - before_].open.get();
}

// Not under the lock: what stops calls may want to say so here.
rolling_counts::guard::~guard() {
  const bool stops = std::exchange(of_.stop_is_due_, false);
  lock_.unlock();
  if (stops) of_.stop_.request_stop();
}

void rolling_counts::note_failure(std::exception_ptr error) noexcept {
  const guard locked(*this);
  if (failure_) return;
  failure_ = std::move(error);
  stop_is_due_ = true;
}

std::exception_ptr rolling_counts::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

// After text was merged, or a verdict or an end came. What fails here has lost nothing: the counts are in memory and
// right, but there is no room for more of them.
void rolling_counts::settle(input_id input) noexcept {
  input_counts* const of = open_one(input);
  if (of == nullptr || failure_) return;
  try {
    of->commit_groups(verified_, unverified_);
    spill_if_finished(input);
  } catch (...) {
    failure_ = std::current_exception();
    stop_is_due_ = true;
  }
}

void rolling_counts::spill_if_finished(input_id input) {
  const input_counts& of = *open_one(input);
  if (!of.is_finished()) return;
  const input_report said = of.report();
  input_entry& spilled = entry(input);
  spilled.at = finished_->spill(said);
  spilled.is_wrong = said.error_kind != failure_kind::none;
  spilled.open.reset();
  all_complete_ = all_complete_ && said.complete;
  if (spilled.archive) --entry(*spilled.archive).open_members;
  append_finished();
}

// Archives are read side by side: their members are opened in any order but their own. An archive is over last, and
// takes its members with it. Where appending fails, it is tried again with the next input that is over.
void rolling_counts::append_finished() {
  for (; !inputs_.empty() && !inputs_.front().open && inputs_.front().open_members == 0; ++before_) {
    const input_entry& front = inputs_.front();
    appending_.clear();
    if (!front.archive) {
      if (!front.is_represented_by_members || front.is_wrong) appending_.push_back(front.at);
      for (const input_id member : front.members) appending_.push_back(entry(member).at);
    }
    finished_->append(appending_);
    appended_ += appending_.size();
    inputs_.pop_front();
  }
}

input_id rolling_counts::open_member(std::string name, input_id archive) {
  const input_id member = open_input(std::move(name));
  const std::scoped_lock lock(mutex_);
  entry(archive).members.push_back(member);
  ++entry(archive).open_members;
  entry(member).archive = archive;
  return member;
}

void rolling_counts::represent_by_members(input_id archive) {
  const std::scoped_lock lock(mutex_);
  entry(archive).is_represented_by_members = true;
}

std::string rolling_counts::name_of(input_id input) const {
  const std::scoped_lock lock(mutex_);
  const input_counts* const of = open_one(input);
  return of != nullptr ? of->name() : spilled(input).name;
}

// Those before the first open one are known by their place in the report only: the same as long as there are no
// archives. (Who asks with archives asks of inputs whose text is missing, which are open.)
input_report rolling_counts::spilled(input_id input) const {
  return finished_->at(input < before_ ? finished_->number(input) : entry(input).at);
}

group_id rolling_counts::open_group(input_id input) {
  const std::scoped_lock lock(mutex_);
  input_counts* const of = open_one(input);
  return of == nullptr ? 1 : of->open_group();  // damaged meanwhile: whatever comes of any of its groups is dropped
}

merged_part rolling_counts::merge(std::span<const segment> segments, std::span<const std::uint32_t> rows) noexcept {
  merged_part part;
  const guard locked(*this);
  try {
    for (; part.segments < segments.size(); ++part.segments) {
      merge_one(segments[part.segments], rows.subspan(part.segments * rows_.columns(), rows_.columns()));
    }
  } catch (...) {
    part.failure = std::current_exception();
  }
  return part;
}

// What may fail comes before what changes a count, so that a segment is merged whole or not at all. Windows come first:
// what they have and the input has not is right all the same.
void rolling_counts::merge_one(const segment& what, std::span<const std::uint32_t> row) {
  const std::uint64_t bytes = what.where.size();
  if (windows_) windows_->merge(what.pane, bytes, row);
  input_counts* const input = open_one(what.owner.input);
  const bool is_grouped = what.owner.group != 0;
  if (frame_group* const group = is_grouped ? group_of(what.owner) : nullptr) {
    group->merge(what.owner.frame, bytes, row);
  } else if (input != nullptr && !is_grouped) {
    input->merge(bytes, row);
    rows_.add(verified_, row);
  } else {
    all_complete_ = false;  // of an input or a group that ended before it, or after a damaged group
  }
  merged_ += bytes;
  settle(what.owner.input);
}

void rolling_counts::drop(std::span<const segment> segments, const std::string& why) {
  if (windows_) windows_->give_up("not all of it was counted: " + why);
  const guard locked(*this);
  for (const segment& each : segments) drop_one(each, why);
}

void rolling_counts::drop_one(const segment& what, const std::string& why) {
  input_counts* const input = open_one(what.owner.input);
  if (input == nullptr) return;  // damaged before that
  if (what.owner.group == 0) {
    input->drop(what.where.size(), why);
  } else if (frame_group* const group = input->group(what.owner.group)) {
    group->drop(what.where.size(), why);
  }
  settle(what.owner.input);
}

// Null where the group does not count any more.
frame_group* rolling_counts::group_of(const text_owner& owner) const {
  input_counts* const input = open_one(owner.input);
  return input == nullptr ? nullptr : input->group(owner.group);
}

void rolling_counts::conclude(const text_owner& frame, std::uint64_t bytes, bool verified) {
  if (windows_) windows_->conclude(frame, verified);
  const std::scoped_lock lock(mutex_);
  if (frame_group* const group = group_of(frame)) group->conclude(frame.frame, bytes, verified);
}

void rolling_counts::close_group(input_id input, group_id group, group_end end) {
  const guard locked(*this);
  if (group_of({.input = input, .group = group}) == nullptr) return;
  input_counts& of = *open_one(input);
  if (windows_ && end.wrong) {  // with windows, groups come one after the other
    windows_->break_off(input, end.wrong(of.closed_bytes()).text);
    windows_->abandon(input, group);
  }
  of.close_group(group, std::move(end));
  settle(input);
}

void rolling_counts::set_format(input_id input, std::string_view format) {
  const std::scoped_lock lock(mutex_);
  if (input_counts* const of = open_one(input)) of->set_format(format);
}

void rolling_counts::set_compressed_bytes(input_id input, group_id group, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (input_counts* const of = open_one(input)) of->set_compressed_bytes(group, bytes);
}

void rolling_counts::finish(input_id input, std::uint64_t bytes) {
  if (windows_) windows_->end_input(input);
  const guard locked(*this);
  if (input_counts* const of = open_one(input)) of->finish(bytes);
  settle(input);
}

void rolling_counts::fail(input_id input, std::uint64_t bytes, const input_failure& failure) {
  if (windows_) windows_->break_off(input, failure.text);
  const guard locked(*this);
  input_counts* const of = open_one(input);
  if (of == nullptr) return;
  of->fail(bytes, failure);  // a copy is made first
  settle(input);
}

std::uint64_t rolling_counts::merged_bytes(input_id input) const {
  const std::scoped_lock lock(mutex_);
  if (const input_counts* const of = open_one(input)) return of->merged_bytes();
  const input_report said = spilled(input);
  return said.verified.bytes() + said.unverified.bytes();
}

std::uint64_t rolling_counts::merged_bytes() const {
  const std::scoped_lock lock(mutex_);
  return merged_;
}

run_counts rolling_counts::counts() const {
  const std::scoped_lock lock(mutex_);
  run_counts out;
  out.partition = counted_;
  out.verified = verified_;
  out.unverified = unverified_;
  out.complete = all_complete_ && !failure_;
  out.inputs = {finished_, appended_};
  for (const input_entry& each : inputs_) {
    if (each.archive) continue;
    write_input(each, out);
    for (const input_id member : each.members) write_input(entry(member), out);
  }
  return out;
}

void rolling_counts::write_input(const input_entry& from, run_counts& out) {
  if (!from.open) {
    if (!from.is_represented_by_members || from.is_wrong) out.inputs.push_back(from.at);
    return;
  }
  input_report said = from.open->report();
  from.open->add_front(said.verified, said.unverified);
  from.open->add_front(out.verified, out.unverified);
  out.complete = out.complete && said.complete;
  if (!from.is_represented_by_members || said.error_kind != failure_kind::none) out.inputs.push_back(std::move(said));
}

}  // namespace gpuhist::pipeline
