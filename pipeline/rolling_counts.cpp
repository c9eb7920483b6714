#include "pipeline/rolling_counts.hpp"

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

void rolling_counts::cut(std::span<const std::byte> text, const text_owner& owner, std::vector<pane_part>& parts) {
  source_name name;
  if (windows_->is_new(owner.input)) name = std::make_shared<const std::string>(name_of(owner.input));
  windows_->cut(text, owner, name, parts);
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

void rolling_counts::lay_down_if_over(input_id input) {
  input_counts* const of = open_one(input);
  if (of == nullptr || !of->is_over()) return;
  const input_report said = of->report();
  all_complete_ = all_complete_ && said.complete;
  input_entry& laid_down = entry(input);
  laid_down.at = finished_->lay_down(said);
  laid_down.is_wrong = said.error_kind != failure_kind::none;
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
  return of != nullptr ? of->name() : laid_down(input).name;
}

// Those before the first open one are known by their place in the report only: the same as long as there are no
// archives. (Who asks with archives asks of inputs whose text is missing, which are open.)
input_report rolling_counts::laid_down(input_id input) const {
  return finished_->at(input < before_ ? finished_->number(input) : entry(input).at);
}

group_id rolling_counts::open_group(input_id input) {
  const std::scoped_lock lock(mutex_);
  input_counts* const of = open_one(input);
  return of == nullptr ? 1 : of->open_group();  // damaged meanwhile: whatever comes of any of its groups is dropped
}

void rolling_counts::merge(std::span<const segment> segments, std::span<const std::uint32_t> rows) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const segment& each = segments[i];
    const std::uint64_t bytes = each.where.size();
    const auto row = rows.subspan(i * rows_.columns(), rows_.columns());
    merged_ += bytes;
    if (windows_) windows_->merge(each.pane, bytes, row);
    if (each.owner.group == 0) {
      rows_.add(verified_, row);
      open_one(each.owner.input)->merge(bytes, row);  // not over: this text is missing yet
    } else if (frame_group* const group = group_of(each.owner)) {
      group->merge(each.owner.frame, bytes, row);
      open_one(each.owner.input)->commit_groups(verified_, unverified_);
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
    input->drop(what.where.size(), why);
  } else if (frame_group* const group = input->group(what.owner.group)) {
    group->drop(what.where.size(), why);
    input->commit_groups(verified_, unverified_);
  }
  lay_down_if_over(what.owner.input);
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
  const std::scoped_lock lock(mutex_);
  if (group_of({.input = input, .group = group}) == nullptr) return;
  input_counts& of = *open_one(input);
  if (windows_ && end.wrong) {  // with windows, groups come one after the other
    windows_->break_off(input, end.wrong(of.closed_bytes()).text);
    windows_->abandon(input, group);
  }
  of.close_group(group, std::move(end));
  of.commit_groups(verified_, unverified_);
  lay_down_if_over(input);
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
  const std::scoped_lock lock(mutex_);
  if (input_counts* const of = open_one(input)) of->finish(bytes);
  lay_down_if_over(input);
}

void rolling_counts::fail(input_id input, std::uint64_t bytes, const input_failure& failure) {
  if (windows_) windows_->break_off(input, failure.text);
  const std::scoped_lock lock(mutex_);
  input_counts* const of = open_one(input);
  if (of == nullptr) return;
  of->fail(bytes, failure);
  lay_down_if_over(input);
}

std::uint64_t rolling_counts::merged_bytes(input_id input) const {
  const std::scoped_lock lock(mutex_);
  if (const input_counts* const of = open_one(input)) return of->merged_bytes();
  const input_report said = laid_down(input);
  return said.verified.bytes() + said.unverified.bytes();
}

std::uint64_t rolling_counts::merged_bytes() const {
  const std::scoped_lock lock(mutex_);
  return merged_;
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

void rolling_counts::write_input(const input_entry& from, report& out) {
  if (!from.open) {
    if (!from.stands_back || from.is_wrong) out.inputs.push_back(from.at);
    return;
  }
  input_report said = from.open->report();
  from.open->add_front(said.verified, said.unverified);
  from.open->add_front(out.verified, out.unverified);
  out.complete = out.complete && said.complete;
  if (!from.stands_back || said.error_kind != failure_kind::none) out.inputs.push_back(std::move(said));
}

}  // namespace gpuhist::pipeline
