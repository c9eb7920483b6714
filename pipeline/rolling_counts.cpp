#include "pipeline/rolling_counts.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace gpuhist::pipeline {

bool rolling_counts::input_counts::complete() const {
  return expected == merged && groups.empty() && error.empty() && unverified.bytes() == 0;
}

rolling_counts::rolling_counts(const gpu::partition& counted, const gpu::partition& rows,
                               std::vector<std::string> input_names)
    : counted_(counted), row_classes_(rows.classes), verified_(counted.classes), unverified_(counted.classes) {
  for (std::size_t byte = 0; byte < 256; ++byte) class_of_column_[rows.class_of[byte]] = counted.class_of[byte];
  for (std::string& name : input_names) open_input(std::move(name));
}

input_id rolling_counts::open_input(std::string name) {
  const std::scoped_lock lock(mutex_);
  inputs_.emplace_back().name = std::move(name);
  inputs_.back().verified = gpu::tally(counted_.classes);
  inputs_.back().unverified = gpu::tally(counted_.classes);
  return static_cast<input_id>(inputs_.size() - 1);
}

input_id rolling_counts::open_member(std::string name, input_id archive) {
  const input_id member = open_input(std::move(name));
  const std::scoped_lock lock(mutex_);
  inputs_[member].archive = archive;
  return member;
}

void rolling_counts::stand_back(input_id archive) {
  const std::scoped_lock lock(mutex_);
  inputs_[archive].stands_back = true;
}

std::string rolling_counts::name_of(input_id input) const {
  const std::scoped_lock lock(mutex_);
  return inputs_[input].name;
}

group_id rolling_counts::open_group(input_id input) {
  const std::scoped_lock lock(mutex_);
  input_counts& of = inputs_[input];
  of.groups.push_back({.verified = gpu::tally(counted_.classes), .unverified = gpu::tally(counted_.classes)});
  return of.front + of.groups.size() - 1;
}

void rolling_counts::add_row(gpu::tally& to, std::span<const std::uint32_t> row) const {
  for (std::size_t column = 0; column < row.size(); ++column) to.counts[class_of_column_[column]] += row[column];
}

void rolling_counts::merge(std::span<const segment> segments, std::span<const std::uint32_t> rows) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const segment& each = segments[i];
    const auto row = rows.subspan(i * row_classes_, row_classes_);
    input_counts& input = inputs_[each.owner.input];
    merged_ += each.where.size();
    if (each.owner.group == 0) {
      add_row(verified_, row);
      add_row(input.verified, row);
      input.merged += each.where.size();
    } else if (frame_group* const group = group_of(each.owner)) {
      merge_into(*group, each, row);
      commit_groups(input);
    }
  }
}

// Null where the group does not count any more.
rolling_counts::frame_group* rolling_counts::group_of(const text_owner& owner) {
  input_counts& input = inputs_[owner.input];
  return input.dropping ? nullptr : &input.groups[owner.group - input.front];
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
  closed->end = std::move(end);
  commit_groups(inputs_[input]);
}

void rolling_counts::commit_groups(input_counts& input) {
  while (!input.groups.empty() && input.groups.front().end &&
         input.groups.front().end->text_bytes == input.groups.front().merged) {
    const frame_group done = std::move(input.groups.front());
    input.groups.pop_front();
    ++input.front;
    commit(input, done);
  }
}

void rolling_counts::commit(input_counts& input, const frame_group& group) {
  gpu::tally damaged = group.unverified;
  for (const open_frame& left : group.frames) damaged += left.counts;
  input.verified += group.verified;
  input.unverified += damaged;
  verified_ += group.verified;
  unverified_ += damaged;
  input.compressed_bytes = group.end->compressed_bytes;
  note_lost(input, *group.end);
  if (group.end->wrong) {
    if (input.error.empty()) input.error = group.end->wrong(input.merged);
    input.groups.clear();
    input.dropping = true;
  }
  input.merged += group.merged;
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
  inputs_[input].format = format;
}

void rolling_counts::set_compressed_bytes(input_id input, group_id group, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  input_counts& of = inputs_[input];
  if (group == of.front && !of.dropping) of.compressed_bytes = bytes;
}

void rolling_counts::finish(input_id input, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  inputs_[input].expected = bytes;
}

void rolling_counts::fail(input_id input, std::uint64_t bytes, std::string_view error) {
  const std::scoped_lock lock(mutex_);
  inputs_[input].expected = bytes;
  if (inputs_[input].error.empty()) inputs_[input].error = error;
}

std::uint64_t rolling_counts::merged_bytes(input_id input) const {
  const std::scoped_lock lock(mutex_);
  const input_counts& of = inputs_[input];
  return of.merged + (of.groups.empty() ? 0 : of.groups.front().merged);
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

// Archives are read side by side: their members are opened in any order but their own.
std::vector<input_id> rolling_counts::order_of_report() const {
  std::vector<input_id> order(inputs_.size());
  std::iota(order.begin(), order.end(), input_id{0});
  std::ranges::stable_sort(order, {}, [this](input_id each) { return inputs_[each].archive.value_or(each); });
  return order;
}

void rolling_counts::write_to(report& out) const {
  const std::scoped_lock lock(mutex_);
  out.partition = counted_;
  out.verified = verified_;
  out.unverified = unverified_;
  out.complete = true;
  out.inputs.clear();
  for (const input_id input : order_of_report()) {
    const input_counts& each = inputs_[input];
    out.complete = out.complete && each.complete();
    if (each.stands_back && each.error.empty()) continue;
    out.inputs.push_back({.name = each.name,
                          .format = each.format,
                          .compressed_bytes = each.compressed_bytes,
                          .complete = each.complete(),
                          .error = each.error,
                          .verified = each.verified,
                          .unverified = each.unverified,
                          .lost = each.lost,
                          .lost_stretches = each.lost_stretches});
    add_front(each, out.inputs.back().verified, out.inputs.back().unverified);
    add_front(each, out.verified, out.unverified);
  }
}

}  // namespace gpuhist::pipeline
