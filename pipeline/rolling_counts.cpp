#include "pipeline/rolling_counts.hpp"

#include "pipeline/partitioning.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace gpuhist::pipeline {
namespace {

std::string not_counted(std::uint64_t offset, const std::string& why) {
  return "not counted from offset " + std::to_string(offset) + " on: " + why;
}

}  // namespace

bool rolling_counts::input_counts::complete() const {
  return expected == merged && groups.empty() && error.empty() && unverified.bytes() == 0;
}

// What is damaged brings nothing any more.
bool rolling_counts::input_counts::is_over() const {
  return dropping || (expected == merged + dropped && groups.empty());
}

rolling_counts::rolling_counts(const gpu::partition& counted, const gpu::partition& rows,
                               std::vector<std::string> input_names)
    : counted_(counted),
      row_classes_(rows.classes),
      verified_(counted.classes),
      unverified_(counted.classes),
      finished_(std::make_shared<finished_inputs>(counted.classes)) {
  for (std::size_t byte = 0; byte < 256; ++byte) class_of_column_[rows.class_of[byte]] = counted.class_of[byte];
  for (std::string& name : input_names) open_input(std::move(name));
}

void rolling_counts::add_windows(const window_shape& shape, std::function<void()> changed) {
  windows_ = std::make_unique<rolling_windows>(shape, std::span(class_of_column_).first(row_classes_), counted_.classes,
                                               std::move(changed));
}

void rolling_counts::cut(std::span<const std::byte> text, const text_owner& owner, std::vector<pane_part>& parts) {
  source_name name;
  if (windows_->is_new(owner.input)) name = std::make_shared<const std::string>(name_of(owner.input));
  windows_->cut(text, owner, name, parts);
}

void rolling_counts::note_gap(input_id input, const std::string& cause) {
  if (windows_) windows_->break_off(input, cause);
}

input_id rolling_counts::open_input(std::string name) {
  auto opened = std::make_unique<input_counts>();
  opened->name = std::move(name);
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
rolling_counts::input_counts* rolling_counts::open_one(input_id input) const {
  return input < before_ ? nullptr : inputs_[input - before_].open.get();
}

void rolling_counts::lay_down_if_over(input_id input) {
  input_counts* const of = open_one(input);
  if (of == nullptr || !of->is_over()) return;
  const input_report said = report_of(*of);
  all_complete_ = all_complete_ && said.complete;
  input_entry& laid_down = entry(input);
  laid_down.at = finished_->lay_down(said);
  laid_down.is_wrong = !said.error.empty();
  laid_down.open.reset();
  if (laid_down.archive) --entry(*laid_down.archive).open_members;
  append_over();
}

// Archives are read side by side: their members are opened in any order but their own. An archive is over last, and
// takes its members with it.
void rolling_counts::append_over() {
  const auto append = [this](const input_entry& next) {
    finished_->append(next.at);
    ++appended_;
  };
  for (; !inputs_.empty() && !inputs_.front().open && inputs_.front().open_members == 0; ++before_) {
    const input_entry& front = inputs_.front();
    if (!front.archive) {
      if (!front.stands_back || front.is_wrong) append(front);
      for (const input_id member : front.members) append(entry(member));
    }
    inputs_.pop_front();
  }
}

input_id rolling_counts::open_member(std::string name, input_id archive) {
  const input_id member = open_input(std::move(name));
  const std::scoped_lock lock(mutex_);
  entry(member).archive = archive;
  entry(archive).members.push_back(member);
  ++entry(archive).open_members;
  return member;
}

void rolling_counts::stand_back(input_id archive) {
  const std::scoped_lock lock(mutex_);
  entry(archive).stands_back = true;
}

std::string rolling_counts::name_of(input_id input) const {
  const std::scoped_lock lock(mutex_);
  const input_counts* const of = open_one(input);
  return of != nullptr ? of->name : laid_down(input).name;
}

// Those before the first open one are known by their place in the report only: the same as long as there are no
// archives. (Who asks with archives asks of inputs whose text is missing, which are open.)
input_report rolling_counts::laid_down(input_id input) const {
  return finished_->at(input < before_ ? finished_->number(input) : entry(input).at);
}

group_id rolling_counts::open_group(input_id input) {
  const std::scoped_lock lock(mutex_);
  input_counts* const known = open_one(input);
  if (known == nullptr) return 1;  // damaged meanwhile: whatever comes of any of its groups is dropped
  input_counts& of = *known;
  of.groups.push_back({.verified = gpu::tally(counted_.classes), .unverified = gpu::tally(counted_.classes)});
  return of.front + of.groups.size() - 1;
}

void rolling_counts::add_row(gpu::tally& to, std::span<const std::uint32_t> row) const {
  to.counts.resize(counted_.classes);
  pipeline::add_row(to, row, class_of_column_);
}

void rolling_counts::add(gpu::tally& to, const gpu::tally& more) const {
  to.counts.resize(counted_.classes);
  to += more;
}

void rolling_counts::merge(std::span<const segment> segments, std::span<const std::uint32_t> rows) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const segment& each = segments[i];
    const auto row = rows.subspan(i * row_classes_, row_classes_);
    merged_ += each.where.size();
    if (windows_) windows_->merge(each.pane, each.where.size(), row);
    if (each.owner.group == 0) {
      input_counts& input = *open_one(each.owner.input);  // not over: this text is missing yet
      add_row(verified_, row);
      add_row(input.verified, row);
      input.merged += each.where.size();
    } else if (frame_group* const group = group_of(each.owner)) {
      merge_into(*group, each, row);
      commit_groups(*open_one(each.owner.input));
    }
    lay_down_if_over(each.owner.input);
  }
}

void rolling_counts::drop(std::span<const segment> segments, const std::string& why) {
  if (windows_) windows_->give_up("not all of it was counted: " + why);
  const std::scoped_lock lock(mutex_);
  for (const segment& each : segments) drop_one(each, why);
}

void rolling_counts::drop_one(const segment& what, const std::string& why) {
  input_counts* const input = open_one(what.owner.input);
  if (input == nullptr) return;  // damaged before that
  if (what.owner.group == 0) {
    input->dropped += what.where.size();
    if (input->error.empty()) input->error = not_counted(input->merged, why);
  } else if (frame_group* const group = group_of(what.owner)) {
    group->dropped += what.where.size();
    group->why_dropped = why;
    commit_groups(*input);
  }
  lay_down_if_over(what.owner.input);
}

// Null where the group does not count any more.
rolling_counts::frame_group* rolling_counts::group_of(const text_owner& owner) {
  input_counts* const input = open_one(owner.input);
  return input == nullptr || input->dropping ? nullptr : &input->groups[owner.group - input->front];
}

void rolling_counts::merge_into(frame_group& group, const segment& what, std::span<const std::uint32_t> row) {
  group.merged += what.where.size();
  if (what.owner.frame == 0) return add_row(group.verified, row);
  open_frame& frame = frame_named(group, what.owner.frame);
  frame.merged += what.where.size();
  add_row(frame.counts, row);
  settle(group, frame);
}

void rolling_counts::conclude(const text_owner& frame, std::uint64_t bytes, bool verified) {
  if (windows_) windows_->conclude(frame, verified);
  const std::scoped_lock lock(mutex_);
  frame_group* const group = group_of(frame);
  if (group == nullptr) return;
  open_frame& known = frame_named(*group, frame.frame);
  known.expected = bytes;
  known.verified = verified;
  settle(*group, known);
}

// Known by its first bytes or by its verdict, whichever comes first.
rolling_counts::open_frame& rolling_counts::frame_named(frame_group& group, frame_id id) const {
  const auto found = std::ranges::find(group.frames, id, &open_frame::id);
  if (found != group.frames.end()) return *found;
  group.frames.push_back({.id = id, .counts = gpu::tally(counted_.classes)});
  return group.frames.back();
}

// Moves a frame's counts to where they belong once the verdict is known and all of its bytes were merged.
void rolling_counts::settle(frame_group& group, const open_frame& frame) {
  if (frame.expected != frame.merged) return;
  (frame.verified ? group.verified : group.unverified) += frame.counts;
  group.frames.erase(group.frames.begin() + (&frame - group.frames.data()));
}

void rolling_counts::close_group(input_id input, group_id group, group_end end) {
  const std::scoped_lock lock(mutex_);
  frame_group* const closed = group_of({.input = input, .group = group});
  if (closed == nullptr) return;
  break_off_windows(input, group, end);
  closed->end = std::move(end);
  commit_groups(*open_one(input));
  lay_down_if_over(input);
}

// With windows, groups come one after the other.
void rolling_counts::break_off_windows(input_id input, group_id group, const group_end& end) {
  if (!windows_) return;
  input_counts& of = *open_one(input);
  if (end.wrong) {
    windows_->break_off(input, end.wrong(of.closed));
    windows_->abandon(input, group);
  }
  of.closed += end.text_bytes;
}

void rolling_counts::commit_groups(input_counts& input) {
  while (!input.groups.empty() && input.groups.front().end &&
         input.groups.front().end->text_bytes == input.groups.front().merged + input.groups.front().dropped) {
    const frame_group done = std::move(input.groups.front());
    input.groups.pop_front();
    ++input.front;
    commit(input, done);
  }
}

void rolling_counts::commit(input_counts& input, const frame_group& group) {
  gpu::tally damaged = group.unverified;
  for (const open_frame& left : group.frames) damaged += left.counts;
  add(input.verified, group.verified);
  add(input.unverified, damaged);
  verified_ += group.verified;
  unverified_ += damaged;
  input.compressed_bytes = group.end->compressed_bytes;
  note_lost(input, *group.end);
  if (group.dropped > 0 || group.end->wrong) stop_at(input, group);
  input.merged += group.merged;
}

void rolling_counts::stop_at(input_counts& input, const frame_group& group) {
  if (input.error.empty()) {
    input.error = group.dropped > 0 ? not_counted(input.merged + group.merged, group.why_dropped)
                                    : group.end->wrong(input.merged);
  }
  input.groups.clear();
  input.dropping = true;
}

void rolling_counts::note_lost(input_counts& input, const group_end& end) {
  for (lost_stretch each : end.lost) {
    each.text_offset += input.merged;
    if (input.error.empty()) {
      input.error = each.cause + " at compressed offset " + std::to_string(each.compressed_begin) +
                    "; went on at compressed offset " + std::to_string(each.compressed_end);
    }
    if (input.lost.size() < most_lost_stretches) input.lost.push_back(std::move(each));
  }
  input.lost_stretches += end.lost_stretches;
}

void rolling_counts::set_format(input_id input, std::string_view format) {
  const std::scoped_lock lock(mutex_);
  if (input_counts* const of = open_one(input)) of->format = format;
}

void rolling_counts::set_compressed_bytes(input_id input, group_id group, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  input_counts* const of = open_one(input);
  if (of != nullptr && group == of->front && !of->dropping) of->compressed_bytes = bytes;
}

void rolling_counts::finish(input_id input, std::uint64_t bytes) {
  if (windows_) windows_->end_input(input);
  const std::scoped_lock lock(mutex_);
  if (input_counts* const of = open_one(input)) of->expected = bytes;
  lay_down_if_over(input);
}

void rolling_counts::fail(input_id input, std::uint64_t bytes, std::string_view error) {
  if (windows_) windows_->break_off(input, std::string(error));
  const std::scoped_lock lock(mutex_);
  input_counts* const of = open_one(input);
  if (of == nullptr) return;
  if (!of->expected) of->expected = bytes;  // what was handed on before is still to be merged
  if (of->error.empty()) of->error = error;
  lay_down_if_over(input);
}

std::uint64_t rolling_counts::merged_bytes(input_id input) const {
  const std::scoped_lock lock(mutex_);
  if (const input_counts* const of = open_one(input)) {
    return of->merged + (of->groups.empty() ? 0 : of->groups.front().merged);
  }
  const input_report said = laid_down(input);
  return said.verified.bytes() + said.unverified.bytes();
}

std::uint64_t rolling_counts::merged_bytes() const {
  const std::scoped_lock lock(mutex_);
  return merged_;
}

// Adds the front group as it is now; the younger ones are no part of a prefix.
void rolling_counts::add_front(const input_counts& input, gpu::tally& verified, gpu::tally& unverified) {
  if (input.groups.empty()) return;
  const frame_group& front = input.groups.front();
  verified += front.verified;
  unverified += front.unverified;
  for (const open_frame& frame : front.frames) unverified += frame.counts;
}

input_report rolling_counts::report_of(const input_counts& input) const {
  const auto sized = [this](gpu::tally counts) {
    counts.counts.resize(counted_.classes);
    return counts;
  };
  return {.name = input.name,
          .format = input.format,
          .compressed_bytes = input.compressed_bytes,
          .complete = input.complete(),
          .error = input.error,
          .verified = sized(input.verified),
          .unverified = sized(input.unverified),
          .lost = input.lost,
          .lost_stretches = input.lost_stretches};
}

void rolling_counts::write_to(report& out) const {
  const std::scoped_lock lock(mutex_);
  out.partition = counted_;
  out.verified = verified_;
  out.unverified = unverified_;
  out.complete = all_complete_;
  out.inputs = {finished_, appended_};
  for (const input_entry& each : inputs_) {
    if (each.archive) continue;
    write_input(each, out);
    for (const input_id member : each.members) write_input(entry(member), out);
  }
}

void rolling_counts::write_input(const input_entry& from, report& out) const {
  if (!from.open) {
    if (!from.stands_back || from.is_wrong) out.inputs.push_back(from.at);
    return;
  }
  input_report said = report_of(*from.open);
  add_front(*from.open, said.verified, said.unverified);
  add_front(*from.open, out.verified, out.unverified);
  out.complete = out.complete && said.complete;
  if (!from.stands_back || !said.error.empty()) out.inputs.push_back(std::move(said));
}

}  // namespace gpuhist::pipeline
