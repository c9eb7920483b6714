#include "pipeline/counts/rolling_counts.hpp"

#include <string>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t finished_in_memory = std::size_t{1} << 20U;  // bytes
constexpr std::size_t pages_in_memory = std::size_t{64} << 10U;    // bytes

}  // namespace

rolling_counts::rolling_counts(const gpu::partition& counted, const gpu::row_layout& rows,
                               std::vector<std::string> input_names, const spill_folder& spilled_to)
    : counted_(counted),
      rows_(counted, rows),
      verified_(rows_.no_text()),
      unverified_(rows_.no_text()),
      finished_(std::make_shared<finished_inputs>(counted.classes, finished_in_memory, spilled_to)),
      member_pages_(pages_in_memory, spilled_to) {
  for (std::string& name : input_names) open_input(std::move(name));
}

void rolling_counts::add_windows(const window_shape& shape, std::function<void()> changed) {
  windows_ = std::make_unique<rolling_windows>(shape, rows_, std::move(changed));
}

void rolling_counts::record_completions() { completed_ = std::make_unique<completed_inputs>(finished_->folder()); }

void rolling_counts::note_gap(input_id input, const std::string& cause) {
  if (!windows_) return;
  const pane_id next = windows_->break_off(input, cause);
  const std::scoped_lock lock(mutex_);
  if (input_counts* const counted = find_open(input)) counted->note_lost_before(next);
}

input_id rolling_counts::open_input(std::string name) {
  auto opened = std::make_unique<input_counts>(std::move(name), rows_);
  const std::scoped_lock lock(mutex_);
  return add(std::move(opened));
}

input_id rolling_counts::open_input(const input_prefix& counted) {
  auto opened = std::make_unique<input_counts>(counted, rows_);
  const std::scoped_lock lock(mutex_);
  const input_id added = add(std::move(opened));
  rows_.add(verified_, counted.counted.verified);
  rows_.add(unverified_, counted.counted.unverified);
  return added;
}

// Under the lock.
input_id rolling_counts::add(std::unique_ptr<input_counts> opened) {
  inputs_[next_].open = std::move(opened);
  return next_++;
}

std::size_t rolling_counts::inputs() const {
  const std::scoped_lock lock(mutex_);
  return next_;
}

std::size_t rolling_counts::inputs_in_order() const {
  const std::scoped_lock lock(mutex_);
  return appended_;
}

// Without the lock: spilled reports never change.
input_report rolling_counts::input_in_order(std::size_t number) const {
  return finished_->at(finished_->location_of(number));
}

// Null if the input is finished.
input_counts* rolling_counts::find_open(input_id input) {
  const auto found = inputs_.find(input);
  if (found != inputs_.end()) return found->second.open.get();
  return with_spilled_members_.empty() ? nullptr : restore(input);
}

// Nothing: it does not wait, or is in memory.
std::optional<rolling_counts::member_place> rolling_counts::find_waiting(input_id input) const {
  for (const input_id archive : with_spilled_members_) {
    if (const auto found = entry(archive).members->find_waiting(input)) return member_place{archive, *found};
  }
  return std::nullopt;
}

input_counts* rolling_counts::restore(input_id input) {
  const auto place = find_waiting(input);
  if (!place) return nullptr;
  archive_members& members = *entry(place->archive).members;
  input_report report = finished_->at(members.location_of(place->position));
  const std::uint64_t bytes = report.verified.bytes();
  auto open = std::make_unique<input_counts>(std::move(report), rows_);
  const std::size_t held = open->held_bytes();
  input_entry& restored = inputs_[input];
  restored = {.open = std::move(open),
              .archive = place->archive,
              .member = place->position,
              .held_bytes = held,
              .waiting_bytes = bytes};
  members.set_open(place->position);
  member_bytes_ += held;
  return restored.open.get();
}

// The stop is requested without the lock, because its callbacks may call this object.
rolling_counts::stopping_lock::~stopping_lock() {
  const bool stops = std::exchange(counts_.stop_is_due_, false);
  const std::unique_ptr<input_counts> ended = std::move(counts_.ended_);  // releasing its memory takes a while
  lock_.unlock();
  if (stops) counts_.stop_.request_stop();
}

void rolling_counts::note_failure(std::exception_ptr error) noexcept {
  const stopping_lock locked(*this);
  if (failure_) return;
  failure_ = std::move(error);
  stop_is_due_ = true;
}

std::exception_ptr rolling_counts::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

// Called after a merge, a verdict or the end of an input or group. A failure here loses no counts: they stay in memory,
// but the memory for more of them is missing.
void rolling_counts::settle(input_id input) noexcept {
  const auto found = inputs_.find(input);
  if (found == inputs_.end() || !found->second.open || failure_) return;
  const input_entry& settled = found->second;
  try {
    settled.open->commit_groups(verified_, unverified_);
    if (settled.open->is_finished()) return spill_finished(input);
    if (settled.open->merged_bytes() != settled.waiting_bytes) return;
    waiting_in_memory_.push_back(input);
    spill_waiting();
  } catch (...) {
    failure_ = std::current_exception();
    stop_is_due_ = true;
  }
}

void rolling_counts::spill_finished(input_id input) {
  input_entry& spilled = entry(input);
  const input_report report = spilled.open->report();
  end_wait(spilled);
  if (completed_ && io::is_cut_short(report.error_kind)) {
    if (auto prefix = spilled.open->prefix()) interrupted_.push_back(*std::move(prefix));
  }
  spilled.at = finished_->spill(report);
  spilled.is_remarkable = is_remarkable(report);
  ended_ = std::move(spilled.open);
  all_complete_ = all_complete_ && report.complete;
  add_utf8(utf8_, report.utf8);
  input_entry& whole = spilled.archive ? entry(*spilled.archive) : spilled;
  if (spilled.archive) {
    member_bytes_ -= spilled.held_bytes;
    whole.members->finish(spilled.member, spilled.at);
  }
  if (completed_) note_completion(input);
  if (whole.members && whole.is_finished()) whole.members->spill_rest();
  if (spilled.archive) inputs_.erase(input);
  append_finished();
}

// The members that wait longest, until the others fit into memory.
void rolling_counts::spill_waiting() {
  for (; member_bytes_ > max_waiting_bytes_ && !waiting_in_memory_.empty(); waiting_in_memory_.pop_front()) {
    const auto found = inputs_.find(waiting_in_memory_.front());
    if (found == inputs_.end() || !found->second.waiting_bytes) continue;
    const input_entry& waiting = found->second;
    const auto report = waiting.open->waiting_report(*waiting.waiting_bytes);
    if (!report || !waiting.archive) continue;  // the text of the archive itself is not spilled
    with_spilled_members_.insert(*waiting.archive);
    entry(*waiting.archive).members->set_waiting(waiting.member, finished_->spill(*report));
    member_bytes_ -= waiting.held_bytes;
    inputs_.erase(found);
  }
}

void rolling_counts::await_verdict(input_id member, std::uint64_t bytes) {
  const stopping_lock locked(*this);
  const auto found = inputs_.find(member);
  if (found == inputs_.end() || found->second.waiting_bytes) return;  // it waits already, for another layer
  found->second.waiting_bytes = bytes;
  ++waiting_;
  settle(member);
}

std::size_t rolling_counts::waiting_members() const {
  const std::scoped_lock lock(mutex_);
  return waiting_;
}

// An archive is completed after its members: by its own end, or by that of the last member.
void rolling_counts::note_completion(input_id input) {
  const input_entry& finished = entry(input);
  if (!finished.archive) {
    if (finished.is_finished()) append_completion(input);
    return;
  }
  append_completion(input);
  if (entry(*finished.archive).is_finished()) append_completion(*finished.archive);
}

void rolling_counts::append_completion(input_id input) {
  input_entry& completed = entry(input);
  completed_->append(
      {.at = completed.at,
       .archive_name_bytes = completed.archive ? entry(*completed.archive).members->archive_name_bytes() : 0,
       .member = completed.member,
       .input = input,
       .is_omitted = completed.is_omitted()});
  completed.is_completed = true;
}

// Without the lock: completions and spilled reports never change.
completed_input rolling_counts::completed_input_at(std::size_t number) const {
  const completion found = completed_->at(number);
  return {.how = found, .report = finished_->at(found.at)};
}

std::vector<input_report> rolling_counts::incomplete_inputs() const {
  const std::scoped_lock lock(mutex_);
  std::vector<input_report> all;
  for (const auto& [input, each] : inputs_) {
    if (each.archive) continue;
    add_incomplete(each, all);
    if (each.members)
      each.members->for_each([&](const archive_members::member& member) { add_incomplete(member, all); });
  }
  return all;
}

void rolling_counts::add_incomplete(const archive_members::member& member, std::vector<input_report>& to) const {
  if (member.is == archive_members::state::waiting) {
    set_unverified(to.emplace_back(finished_->at(member.at)));
  } else if (const auto found = inputs_.find(member.input); found != inputs_.end()) {
    add_incomplete(found->second, to);
  }
}

void rolling_counts::add_incomplete(const input_entry& each, std::vector<input_report>& to) const {
  if (each.is_completed) return;
  input_report report = each.open ? each.open->report() : finished_->at(each.at);
  if (each.is_represented_by_members && !is_remarkable(report)) return;
  if (each.open) each.open->add_front(report.verified, report.unverified);
  to.push_back(std::move(report));
}

// Archives are read in parallel, so members of several archives are opened in any order. An archive finishes after its
// members, which are appended with it. If appending fails, the next finished input tries it again.
void rolling_counts::append_finished() {
  while (!inputs_.empty() && inputs_.begin()->second.is_finished()) {
    input_entry& front = inputs_.begin()->second;
    if (!front.is_appended && !front.is_omitted()) {
      finished_->append(front.at);
      ++appended_;
    }
    front.is_appended = true;
    if (front.members) front.members->append_to(*finished_, appended_);
    with_spilled_members_.erase(inputs_.begin()->first);
    inputs_.erase(inputs_.begin());
  }
}

input_id rolling_counts::open_member(std::string name, input_id archive) {
  auto opened = std::make_unique<input_counts>(std::move(name), rows_);
  const std::size_t held = opened->held_bytes();
  const std::scoped_lock lock(mutex_);
  input_entry& whole = entry(archive);
  if (!whole.members) {
    const std::string archive_name = whole.open ? whole.open->name() : spilled(archive).name;
    whole.members = std::make_unique<archive_members>(member_pages_, static_cast<std::uint32_t>(archive_name.size()));
  }
  const input_id member = add(std::move(opened));
  input_entry& added = entry(member);
  added.archive = archive;
  added.member = whole.members->add(member);
  added.held_bytes = held;
  member_bytes_ += held;
  return member;
}

void rolling_counts::represent_by_members(input_id archive) {
  const std::scoped_lock lock(mutex_);
  entry(archive).is_represented_by_members = true;
}

std::string rolling_counts::name_of(input_id input) const {
  const std::scoped_lock lock(mutex_);
  const auto found = inputs_.find(input);
  return found != inputs_.end() && found->second.open ? found->second.open->name() : spilled(input).name;
}

std::uint64_t rolling_counts::order_of(input_id input) const {
  constexpr unsigned bits_of_member = 32;
  const std::scoped_lock lock(mutex_);
  const auto found = inputs_.find(input);
  const auto waiting = found == inputs_.end() ? find_waiting(input) : std::nullopt;
  const input_id archive = waiting ? waiting->archive : entry(input).archive.value_or(input);
  return (std::uint64_t{archive} << bits_of_member) | input;
}

// Inputs before the first unfinished one are found by their number in reports, which equals the input's number only
// without archives. With archives the callers ask only for inputs that are not finished.
input_report rolling_counts::spilled(input_id input) const {
  const auto found = inputs_.find(input);
  if (found != inputs_.end()) return finished_->at(found->second.at);
  if (const auto waiting = find_waiting(input)) {
    return finished_->at(entry(waiting->archive).members->location_of(waiting->position));
  }
  return finished_->at(finished_->location_of(input));
}

group_id rolling_counts::open_group(input_id input) {
  const std::scoped_lock lock(mutex_);
  input_counts* const counted = find_open(input);
  return counted == nullptr ? 1 : counted->open_group();  // null: it is damaged, and text of its groups is dropped
}

merged_segments rolling_counts::merge(std::span<const segment> segments, std::span<const std::uint32_t> rows) noexcept {
  merged_segments merged;
  const stopping_lock locked(*this);
  try {
    for (; merged.segments < segments.size(); ++merged.segments) {
      merge_segment(segments[merged.segments], rows.subspan(merged.segments * rows_.columns(), rows_.columns()));
    }
  } catch (...) {
    merged.failure = std::current_exception();
  }
  return merged;
}

// Calls that may fail come before the first change of a count, so that a segment is merged whole or not at all. Windows
// come first: their counts stay correct if the input's part fails.
void rolling_counts::merge_segment(const segment& merged, std::span<const std::uint32_t> row) {
  const std::uint64_t bytes = merged.extent.size();
  input_counts* const input = find_open(merged.owner.input);
  if (windows_) merge_in_windows(merged, row, input);
  const bool is_grouped = merged.owner.group != 0;
  if (frame_group* const group = is_grouped ? find_group(merged.owner) : nullptr) {
    group->merge(merged.owner, bytes, row);
  } else if (input != nullptr && !is_grouped) {
    const auto seam = input->merge(bytes, row);
    rows_.add(verified_, row);
    rows_.add(verified_, seam);
  } else {
    all_complete_ = false;  // its input or group had ended before, or an earlier group is damaged
  }
  merged_ += bytes;
  settle(merged.owner.input);
}

// A pair belongs to the window of its second byte. `input` is null if the input is spilled: its text has ended.
void rolling_counts::merge_in_windows(const segment& merged, std::span<const std::uint32_t> row, input_counts* input) {
  const text_edges edges = rows_.edges_in(row);
  const auto seam = input != nullptr ? input->seam_in_windows(merged.pane, edges) : std::nullopt;
  windows_->merge(merged.pane, merged.extent.size(), row, seam);
  if (input != nullptr) input->note_in_windows(merged.pane, edges);
}

void rolling_counts::drop(std::span<const segment> segments, const std::string& cause) {
  if (windows_) windows_->give_up("not all of its text was counted: " + cause);
  const stopping_lock locked(*this);
  for (const segment& each : segments) drop_segment(each, cause);
}

void rolling_counts::drop_segment(const segment& dropped, const std::string& cause) {
  input_counts* const input = find_open(dropped.owner.input);
  if (input == nullptr) return;  // damaged before this segment
  if (dropped.owner.group == 0) {
    input->drop(dropped.extent.size(), cause);
  } else if (frame_group* const group = input->group(dropped.owner.group)) {
    group->drop(dropped.extent.size(), cause);
  }
  settle(dropped.owner.input);
}

// Null if the group is not counted.
frame_group* rolling_counts::find_group(const text_owner& owner) {
  input_counts* const input = find_open(owner.input);
  return input == nullptr ? nullptr : input->group(owner.group);
}

void rolling_counts::conclude(const text_owner& frame, std::uint64_t bytes, bool verified) {
  if (windows_) windows_->conclude(frame, verified);
  const std::scoped_lock lock(mutex_);
  if (frame_group* const group = find_group(frame)) group->conclude(frame, bytes, verified);
}

void rolling_counts::close_group(input_id input, group_id group, group_end end) {
  const stopping_lock locked(*this);
  if (find_group({.input = input, .group = group}) == nullptr) return;
  input_counts& counted = *find_open(input);
  if (windows_ && end.failure) {  // with windows, groups are decoded in sequence
    windows_->break_off(input, end.failure(counted.closed_bytes()).text);
    windows_->abandon(input, group);
  }
  counted.close_group(group, std::move(end));
  settle(input);
}

// Members no longer wait in about the order in which they began to.
void rolling_counts::end_wait(input_entry& ended) {
  if (!ended.waiting_bytes) return;
  ended.waiting_bytes.reset();
  --waiting_;
  const auto waits = [this](input_id input) {
    const auto found = inputs_.find(input);
    return found != inputs_.end() && found->second.waiting_bytes;
  };
  while (!waiting_in_memory_.empty() && !waits(waiting_in_memory_.front())) waiting_in_memory_.pop_front();
}

void rolling_counts::discard_groups(input_id input, group_id first) {
  const stopping_lock locked(*this);
  input_counts* const counted = find_open(input);
  if (counted == nullptr) return;  // an earlier group was not counted to its end
  counted->discard_groups(first);
  settle(input);
}

void rolling_counts::set_format(input_id input, std::string_view format) {
  const std::scoped_lock lock(mutex_);
  if (input_counts* const counted = find_open(input)) counted->set_format(format);
}

void rolling_counts::set_compressed_bytes(input_id input, group_id group, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (input_counts* const counted = find_open(input)) counted->set_compressed_bytes(group, bytes);
}

void rolling_counts::note_utf8(input_id input, const utf8_report& found) {
  const std::scoped_lock lock(mutex_);
  if (input_counts* const counted = find_open(input)) counted->set_utf8(found);
}

void rolling_counts::begin_observing(input_id input) {
  const std::scoped_lock lock(mutex_);
  if (input_counts* const counted = find_open(input)) counted->begin_observing();
}

void rolling_counts::end_observing(input_id input, std::optional<observed_numbers> found) {
  const stopping_lock locked(*this);
  if (input_counts* const counted = find_open(input)) counted->end_observing(std::move(found));
  settle(input);
}

void rolling_counts::note(input_id input, const io::notice& added) {
  const std::scoped_lock lock(mutex_);
  if (input_counts* const counted = find_open(input)) counted->note(added);
}

void rolling_counts::finish(input_id input, std::uint64_t bytes) {
  if (windows_) windows_->end_input(input);
  const stopping_lock locked(*this);
  if (input_counts* const counted = find_open(input)) counted->finish(bytes);
  settle(input);
}

void rolling_counts::fail(input_id input, std::uint64_t bytes, const input_failure& failure) {
  if (windows_) windows_->break_off(input, failure.text);
  const stopping_lock locked(*this);
  input_counts* const counted = find_open(input);
  if (counted == nullptr) return;
  counted->fail(bytes, failure);
  settle(input);
}

std::vector<input_prefix> rolling_counts::prefixes() const {
  const std::scoped_lock lock(mutex_);
  std::vector<input_prefix> found = interrupted_;
  for (const auto& [input, each] : inputs_) {
    if (!each.open || each.archive || each.members || each.is_represented_by_members) continue;
    if (auto prefix = each.open->prefix()) found.push_back(*std::move(prefix));
  }
  return found;
}

std::uint64_t rolling_counts::merged_bytes(input_id input) const {
  const std::scoped_lock lock(mutex_);
  const auto found = inputs_.find(input);
  if (found != inputs_.end() && found->second.open) return found->second.open->merged_bytes();
  const input_report report = spilled(input);
  return report.verified.bytes() + report.unverified.bytes();
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
  out.utf8 = utf8_;
  out.complete = all_complete_ && !failure_;
  out.inputs = {finished_, appended_};
  for (const auto& [input, each] : inputs_) {
    if (each.archive) continue;
    if (!each.is_appended) add_input(each, out);
    if (each.members) each.members->for_each([&](const archive_members::member& member) { add_member(member, out); });
  }
  return out;
}

bool rolling_counts::is_remarkable(const input_report& report) {
  return report.error_kind != failure_kind::none || !report.notices.empty();
}

void rolling_counts::add_member(const archive_members::member& from, run_counts& out) const {
  using enum archive_members::state;
  if (from.is == open) return add_input(entry(from.input), out);
  out.inputs.push_back(from.at, from.is == waiting);
  if (from.is == finished) return;
  const input_report report = finished_->at(from.at);
  out.unverified += report.verified;
  out.complete = false;
  add_utf8(out.utf8, report.utf8);
}

void rolling_counts::add_input(const input_entry& from, run_counts& out) {
  if (!from.open) {
    if (!from.is_omitted()) out.inputs.push_back(from.at, false);
    return;
  }
  input_report report = from.open->report();
  from.open->add_front(report.verified, report.unverified);
  from.open->add_front(out.verified, out.unverified);
  out.complete = out.complete && report.complete;
  add_utf8(out.utf8, report.utf8);
  if (!from.is_represented_by_members || is_remarkable(report)) {
    out.inputs.push_back(std::move(report));
  }
}

}  // namespace gpuhist::pipeline
