#include "pipeline/counts/rolling_counts.hpp"

#include <string>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t finished_in_memory = std::size_t{1} << 20U;  // bytes

}  // namespace

rolling_counts::rolling_counts(const gpu::partition& counted, const gpu::row_layout& rows,
                               std::vector<std::string> input_names, const spill_folder& spilled_to)
    : counted_(counted),
      rows_(counted, rows),
      verified_(rows_.no_text()),
      unverified_(rows_.no_text()),
      finished_(std::make_shared<finished_inputs>(counted.classes, finished_in_memory, spilled_to)) {
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

// Without the lock: spilled reports never change.
input_report rolling_counts::input_in_order(std::size_t number) const {
  return finished_->at(finished_->location_of(number));
}

// Null if the input is spilled.
input_counts* rolling_counts::find_open(input_id input) const {
  return input < before_ ? nullptr : inputs_[input - before_].open.get();
}

// The stop is requested without the lock, because its callbacks may call this object.
rolling_counts::stopping_lock::~stopping_lock() {
  const bool stops = std::exchange(counts_.stop_is_due_, false);
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
  input_counts* const counted = find_open(input);
  if (counted == nullptr || failure_) return;
  try {
    counted->commit_groups(verified_, unverified_);
    spill_if_finished(input);
  } catch (...) {
    failure_ = std::current_exception();
    stop_is_due_ = true;
  }
}

void rolling_counts::spill_if_finished(input_id input) {
  const input_counts& counted = *find_open(input);
  if (!counted.is_finished()) return;
  const input_report report = counted.report();
  input_entry& spilled = entry(input);
  if (completed_ && io::is_cut_short(report.error_kind)) {
    if (auto prefix = counted.prefix()) interrupted_.push_back(*std::move(prefix));
  }
  spilled.at = finished_->spill(report);
  spilled.has_failed = report.error_kind != failure_kind::none;
  spilled.open.reset();
  all_complete_ = all_complete_ && report.complete;
  add_utf8(utf8_, report.utf8);
  if (spilled.archive) --entry(*spilled.archive).open_members;
  if (completed_) note_completion(input);
  append_finished();
}

// An archive is completed after its members: by its own end, or by that of the last member.
void rolling_counts::note_completion(input_id input) {
  const input_entry& finished = entry(input);
  if (!finished.archive) {
    if (finished.open_members == 0) append_completion(input);
    return;
  }
  append_completion(input);
  const input_entry& archive = entry(*finished.archive);
  if (!archive.open && archive.open_members == 0) append_completion(*finished.archive);
}

void rolling_counts::append_completion(input_id input) {
  input_entry& completed = entry(input);
  completed_->append({.at = completed.at,
                      .archive_name_bytes = completed.archive_name_bytes,
                      .member = completed.member,
                      .input = input,
                      .is_omitted = completed.is_represented_by_members && !completed.has_failed});
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
  for (const input_entry& each : inputs_) {
    if (each.archive) continue;
    add_incomplete(each, all);
    for (const input_id member : each.members) add_incomplete(entry(member), all);
  }
  return all;
}

void rolling_counts::add_incomplete(const input_entry& each, std::vector<input_report>& to) const {
  if (each.is_completed) return;
  input_report report = each.open ? each.open->report() : finished_->at(each.at);
  if (each.is_represented_by_members && report.error_kind == failure_kind::none) return;
  if (each.open) each.open->add_front(report.verified, report.unverified);
  to.push_back(std::move(report));
}

// Archives are read in parallel, so members of several archives are opened in any order. An archive finishes after its
// members, which are appended with it. If appending fails, the next finished input tries it again.
void rolling_counts::append_finished() {
  for (; !inputs_.empty() && !inputs_.front().open && inputs_.front().open_members == 0; ++before_) {
    const input_entry& front = inputs_.front();
    appending_.clear();
    if (!front.archive) {
      if (!front.is_represented_by_members || front.has_failed) appending_.push_back(front.at);
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
  input_entry& opened = entry(member);
  opened.archive = archive;
  opened.member = static_cast<std::uint32_t>(entry(archive).members.size());
  const input_counts* const counted = find_open(archive);
  opened.archive_name_bytes =
      static_cast<std::uint32_t>(counted != nullptr ? counted->name().size() : spilled(archive).name.size());
  entry(archive).members.push_back(member);
  ++entry(archive).open_members;
  return member;
}

void rolling_counts::represent_by_members(input_id archive) {
  const std::scoped_lock lock(mutex_);
  entry(archive).is_represented_by_members = true;
}

std::string rolling_counts::name_of(input_id input) const {
  const std::scoped_lock lock(mutex_);
  const input_counts* const counted = find_open(input);
  return counted != nullptr ? counted->name() : spilled(input).name;
}

std::uint64_t rolling_counts::order_of(input_id input) const {
  constexpr unsigned bits_of_member = 32;
  const std::scoped_lock lock(mutex_);
  return (std::uint64_t{entry(input).archive.value_or(input)} << bits_of_member) | input;
}

// Inputs before the first unfinished one are found by their number in reports, which equals the input's number only
// without archives. With archives the callers ask only for inputs whose text is missing, which are open.
input_report rolling_counts::spilled(input_id input) const {
  return finished_->at(input < before_ ? finished_->location_of(input) : entry(input).at);
}

group_id rolling_counts::open_group(input_id input) {
  const std::scoped_lock lock(mutex_);
  input_counts* const counted = find_open(input);
  return counted == nullptr ? 1 : counted->open_group();  // null: it is damaged, and text of its groups is dropped
}

merged_part rolling_counts::merge(std::span<const segment> segments, std::span<const std::uint32_t> rows) noexcept {
  merged_part part;
  const stopping_lock locked(*this);
  try {
    for (; part.segments < segments.size(); ++part.segments) {
      merge_segment(segments[part.segments], rows.subspan(part.segments * rows_.columns(), rows_.columns()));
    }
  } catch (...) {
    part.failure = std::current_exception();
  }
  return part;
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
frame_group* rolling_counts::find_group(const text_owner& owner) const {
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
  for (const input_entry& each : inputs_) {
    if (!each.open || each.archive || !each.members.empty() || each.is_represented_by_members) continue;
    if (auto prefix = each.open->prefix()) found.push_back(*std::move(prefix));
  }
  return found;
}

std::uint64_t rolling_counts::merged_bytes(input_id input) const {
  const std::scoped_lock lock(mutex_);
  if (const input_counts* const counted = find_open(input)) return counted->merged_bytes();
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
  for (const input_entry& each : inputs_) {
    if (each.archive) continue;
    write_input(each, out);
    for (const input_id member : each.members) write_input(entry(member), out);
  }
  return out;
}

void rolling_counts::write_input(const input_entry& from, run_counts& out) {
  if (!from.open) {
    if (!from.is_represented_by_members || from.has_failed) out.inputs.push_back(from.at);
    return;
  }
  input_report report = from.open->report();
  from.open->add_front(report.verified, report.unverified);
  from.open->add_front(out.verified, out.unverified);
  out.complete = out.complete && report.complete;
  add_utf8(out.utf8, report.utf8);
  if (!from.is_represented_by_members || report.error_kind != failure_kind::none) {
    out.inputs.push_back(std::move(report));
  }
}

}  // namespace gpuhist::pipeline
