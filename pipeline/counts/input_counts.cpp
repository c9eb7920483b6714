#include "pipeline/counts/input_counts.hpp"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

namespace {

input_failure not_counted(std::uint64_t offset, const std::string& cause) {
  return {.kind = failure_kind::not_counted,
          .text = "not counted from offset " + std::to_string(offset) + " on: " + cause};
}

// `end`: of the input, as far as it was read.
std::string skipped_text(const lost_range& lost, std::uint64_t end) {
  return lost.cause + "; skipped from compressed offset " + std::to_string(lost.compressed_begin) +
         (lost.compressed_end < end ? "; decoding resumed at compressed offset " + std::to_string(lost.compressed_end)
                                    : " to the end of the input; no later data could be decoded");
}

}  // namespace

bool input_counts::is_complete() const {
  return expected_ == merged_ && groups_.empty() && failure_.is_none() && unverified_.bytes() == 0;
}

// No text is added after a damaged group.
bool input_counts::is_finished() const { return dropping_ || (expected_ == merged_ + dropped_ && groups_.empty()); }

void input_counts::set_compressed_bytes(group_id group, std::uint64_t bytes) {
  if (group == front_ && !dropping_) compressed_bytes_ = bytes;
}

std::optional<byte_pair> input_counts::merge(std::uint64_t bytes, std::span<const std::uint32_t> row) {
  const auto seam = rows_->append(verified_, row);
  merged_ += bytes;
  return seam;
}

void input_counts::drop(std::uint64_t bytes, const std::string& cause) {
  if (failure_.is_none()) failure_ = not_counted(merged_, cause);
  dropped_ += bytes;
}

group_id input_counts::open_group() {
  groups_.emplace_back(*rows_);
  return front_ + groups_.size() - 1;
}

frame_group* input_counts::group(group_id group) {
  return dropping_ || group < front_ || group - front_ >= groups_.size() ? nullptr : &groups_[group - front_];
}

void input_counts::close_group(group_id group, group_end end) {
  frame_group* const closing = this->group(group);
  closed_ += end.text_bytes;
  closing->close(std::move(end));
}

void input_counts::commit_groups(gpu::tally& verified, gpu::tally& unverified) {
  while (!groups_.empty() && groups_.front().is_finished()) {
    const bool is_last = groups_.front().has_dropped() || groups_.front().end().failure;
    commit(groups_.front(), verified, unverified);
    if (is_last) {
      groups_.clear();
      dropping_ = true;
    } else {
      groups_.pop_front();
      ++front_;
    }
  }
}

// Allocations, which may fail, come before the first change of a count.
void input_counts::commit(const frame_group& group, gpu::tally& verified, gpu::tally& unverified) {
  const gpu::tally damaged = group.unverified();
  std::vector<lost_range> lost = lost_in(group.end());
  input_failure failure = failure_after(group);
  lost_.reserve(lost_.size() + lost.size());
  for (gpu::tally* each : {&verified_.counts, &unverified_, &verified, &unverified}) rows_->resize(*each);

  verified += group.verified().counts;
  rows_->add(verified, rows_->append(verified_, group.verified()));
  if (group.ends_with_gap()) verified_.edges.append(text_edges::gap());
  unverified_ += damaged;
  unverified += damaged;
  if (group.end().compressed_bytes) compressed_bytes_ = group.end().compressed_bytes;
  lost_.insert(lost_.end(), std::make_move_iterator(lost.begin()), std::make_move_iterator(lost.end()));
  number_of_lost_ranges_ += group.end().number_of_lost_ranges;
  failed_by_loss_ = failed_by_loss_ || (failure_.is_none() && !lost_.empty());
  failure_ = std::move(failure);
  merged_ += group.merged_bytes();
}

// The lost ranges to be listed, with offsets in the input's text.
std::vector<lost_range> input_counts::lost_in(const group_end& end) const {
  std::vector<lost_range> listed;
  for (const lost_range& each : end.lost_ranges) {
    if (lost_.size() + listed.size() == max_lost_ranges) break;
    listed.push_back(each);
    listed.back().text_offset += merged_;
  }
  return listed;
}

// The first failure of the input up to the end of this group.
input_failure input_counts::failure_after(const frame_group& group) const {
  const group_end& end = group.end();
  if (!failure_.is_none()) return failure_;
  if (!end.lost_ranges.empty()) return {.kind = failure_kind::damaged, .text = end.lost_ranges.front().cause};
  if (group.has_dropped()) return not_counted(merged_ + group.merged_bytes(), group.drop_cause());
  return end.failure ? end.failure(merged_) : input_failure();
}

// Whether data after the first lost range was decoded is known only when the next group ends.
std::string input_counts::failure_text() const {
  return failed_by_loss_ ? skipped_text(lost_.front(), compressed_bytes_.value_or(0)) : failure_.text;
}

void input_counts::fail(std::uint64_t bytes, input_failure failure) {
  if (failure_.is_none()) failure_ = std::move(failure);
  if (!expected_) finish(bytes);
}

std::uint64_t input_counts::merged_bytes() const {
  return merged_ + (groups_.empty() ? 0 : groups_.front().merged_bytes());
}

input_report input_counts::report() const {
  const auto sized = [this](gpu::tally counts) {
    rows_->resize(counts);
    return counts;
  };
  return {.name = name_,
          .format = format_,
          .compressed_bytes = compressed_bytes_,
          .complete = is_complete(),
          .error = failure_text(),
          .error_kind = failure_.kind,
          .error_origin = failure_.origin,
          .verified = sized(verified_.counts),
          .unverified = sized(unverified_),
          .lost_ranges = lost_,
          .number_of_lost_ranges = number_of_lost_ranges_,
          .utf8 = utf8_};
}

void input_counts::add_front(gpu::tally& verified, gpu::tally& unverified) const {
  if (groups_.empty()) return;
  verified += groups_.front().verified().counts;
  rows_->add(verified, text_edges(verified_.edges).append(groups_.front().verified().edges));
  unverified += groups_.front().unverified();
}

std::optional<byte_pair> input_counts::seam_in_windows(pane_id pane, const text_edges& text) const {
  const bool is_after_loss = !lost_before_.empty() && lost_before_.front() <= pane;
  return is_after_loss ? std::nullopt : text_edges(in_windows_).append(text);
}

void input_counts::note_in_windows(pane_id pane, const text_edges& text) {
  in_windows_.append(text);
  std::erase_if(lost_before_, [pane](pane_id lost) { return lost <= pane; });
}

}  // namespace gpuhist::pipeline
