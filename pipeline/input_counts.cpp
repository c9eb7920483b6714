#include "pipeline/input_counts.hpp"

#include <utility>

namespace gpuhist::pipeline {

namespace {

input_failure not_counted(std::uint64_t offset, const std::string& why) {
  return {.kind = failure_kind::not_counted,
          .text = "not counted from offset " + std::to_string(offset) + " on: " + why};
}

}  // namespace

bool input_counts::is_complete() const {
  return expected_ == merged_ && groups_.empty() && failure_.is_none() && unverified_.bytes() == 0;
}

// What is damaged brings nothing any more.
bool input_counts::is_over() const { return dropping_ || (expected_ == merged_ + dropped_ && groups_.empty()); }

void input_counts::set_compressed_bytes(group_id group, std::uint64_t bytes) {
  if (group == front_ && !dropping_) compressed_bytes_ = bytes;
}

void input_counts::merge(std::uint64_t bytes, std::span<const std::uint32_t> row) {
  rows_->add(verified_, row);
  merged_ += bytes;
}

void input_counts::drop(std::uint64_t bytes, const std::string& why) {
  dropped_ += bytes;
  if (failure_.is_none()) failure_ = not_counted(merged_, why);
}

group_id input_counts::open_group() {
  groups_.emplace_back(*rows_);
  return front_ + groups_.size() - 1;
}

frame_group* input_counts::group(group_id group) { return dropping_ ? nullptr : &groups_[group - front_]; }

void input_counts::close_group(group_id group, group_end end) {
  closed_ += end.text_bytes;
  this->group(group)->close(std::move(end));
}

void input_counts::commit_groups(gpu::tally& verified, gpu::tally& unverified) {
  while (!groups_.empty() && groups_.front().is_over()) {
    const frame_group done = std::move(groups_.front());
    groups_.pop_front();
    ++front_;
    commit(done, verified, unverified);
  }
}

void input_counts::commit(const frame_group& group, gpu::tally& verified, gpu::tally& unverified) {
  const gpu::tally damaged = group.unverified();
  rows_->add(verified_, group.verified());
  rows_->add(unverified_, damaged);
  rows_->add(verified, group.verified());
  rows_->add(unverified, damaged);
  compressed_bytes_ = group.end().compressed_bytes;
  note_lost(group.end());
  if (group.has_dropped() || group.end().wrong) stop_at(group);
  merged_ += group.merged_bytes();
}

void input_counts::stop_at(const frame_group& group) {
  if (failure_.is_none()) {
    failure_ = group.has_dropped() ? not_counted(merged_ + group.merged_bytes(), group.why_dropped())
                                   : group.end().wrong(merged_);
  }
  groups_.clear();
  dropping_ = true;
}

void input_counts::note_lost(const group_end& end) {
  for (lost_stretch each : end.lost) {
    each.text_offset += merged_;
    if (failure_.is_none()) {
      failure_ = {.kind = failure_kind::damaged,
                  .text = each.cause + " at compressed offset " + std::to_string(each.compressed_begin) +
                          "; went on at compressed offset " + std::to_string(each.compressed_end)};
    }
    if (lost_.size() < most_lost_stretches) lost_.push_back(std::move(each));
  }
  lost_stretches_ += end.lost_stretches;
}

void input_counts::fail(std::uint64_t bytes, const input_failure& failure) {
  if (!expected_) finish(bytes);  // what was handed on before is still to be merged
  if (failure_.is_none()) failure_ = failure;
}

std::uint64_t input_counts::merged_bytes() const {
  return merged_ + (groups_.empty() ? 0 : groups_.front().merged_bytes());
}

input_report input_counts::report() const {
  const auto sized = [this](gpu::tally counts) {
    counts.counts.resize(rows_->classes());
    return counts;
  };
  return {.name = name_,
          .format = format_,
          .compressed_bytes = compressed_bytes_,
          .complete = is_complete(),
          .error = failure_.text,
          .error_kind = failure_.kind,
          .verified = sized(verified_),
          .unverified = sized(unverified_),
          .lost = lost_,
          .lost_stretches = lost_stretches_};
}

void input_counts::add_front(gpu::tally& verified, gpu::tally& unverified) const {
  if (groups_.empty()) return;
  verified += groups_.front().verified();
  unverified += groups_.front().unverified();
}

}  // namespace gpuhist::pipeline
