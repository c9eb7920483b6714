#include "pipeline/counts/input_counts.hpp"

#include <algorithm>
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
                                    : " to the end of the input; no later frame was found");
}

input_failure failure_of(const lost_range& lost) { return {.kind = lost.kind, .text = lost.cause}; }

}  // namespace

// A prefix has no failure but that of a lost range.
input_counts::input_counts(const input_prefix& counted, const row_folding& rows)
    : rows_(&rows),
      name_(counted.counted.name),
      format_(counted.counted.format),
      compressed_bytes_(counted.counted.compressed_bytes),
      notices_(counted.counted.notices),
      verified_{.counts = counted.counted.verified, .edges = counted.edges},
      unverified_(counted.counted.unverified),
      merged_(counted.text_bytes()),
      text_before_(counted.text_before),
      continued_from_(merged_),
      lost_(counted.counted.lost_ranges),
      number_of_lost_ranges_(counted.counted.number_of_lost_ranges),
      failed_by_loss_(!lost_.empty()),
      closed_(merged_) {
  if (compressed_bytes_) committed_to_ = {.compressed_bytes = *compressed_bytes_, .frames = counted.frames};
  if (failed_by_loss_) failure_ = failure_of(lost_.front());
}

input_counts::input_counts(input_report waiting, const row_folding& rows)
    : rows_(&rows),
      name_(std::move(waiting.name)),
      format_(std::move(waiting.format)),
      utf8_(waiting.utf8),
      observed_(std::move(waiting.observed)) {
  group(open_group())->restore(std::move(waiting.verified));
}

std::optional<input_report> input_counts::waiting_report(std::uint64_t bytes) const {
  const bool is_only_group = front_ == 1 && groups_.size() == 1 && !dropping_ && merged_ + dropped_ == 0;
  if (!is_only_group || expected_ || is_observed_ || !failure_.is_none() || groups_.front().merged_bytes() != bytes)
    return {};
  std::optional<gpu::tally> text = groups_.front().waiting_text();
  if (!text) return {};
  return input_report{.name = name_,
                      .format = format_,
                      .compressed_bytes = {},
                      .complete = true,
                      .error = {},
                      .verified = *std::move(text),
                      .unverified = rows_->no_text(),
                      .utf8 = utf8_,
                      .observed = observed_};
}

std::size_t input_counts::held_bytes() const {
  constexpr std::size_t of_allocations = 1024;  // the nodes of groups_, of its frames and of the map of inputs
  const std::size_t counters = rows_->classes() + rows_->pair_columns();
  return sizeof(input_counts) + of_allocations + name_.capacity() + format_.capacity() +
         sizeof(std::uint64_t) * counters;
}

bool input_counts::is_complete() const {
  return expected_ == merged_ && groups_.empty() && failure_.is_none() && unverified_.bytes() == 0;
}

// No text is added after a damaged group.
bool input_counts::is_finished() const {
  return !is_observed_ && (dropping_ || (expected_ == merged_ + dropped_ && groups_.empty()));
}

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
  if (dropping_ || group < front_ || group - front_ >= groups_.size()) return nullptr;
  return &groups_[group - front_];
}

void input_counts::close_group(group_id group, group_end end) {
  frame_group* const closing = this->group(group);
  closed_ += end.text_bytes;
  closing->close(std::move(end));
}

void input_counts::discard_groups(group_id first) {
  for (std::size_t i = first - std::min(first, front_); i < groups_.size(); ++i) groups_[i].discard();
  if (committed_to_) compressed_bytes_ = committed_to_->compressed_bytes;
}

// The front group, unless it is none of the text.
const frame_group* input_counts::front() const {
  if (groups_.empty() || groups_.front().is_discarded()) return nullptr;
  return groups_.front().must_be_decoded_again(merged_) ? nullptr : &groups_.front();
}

void input_counts::commit_groups(gpu::tally& verified_of_run, gpu::tally& unverified_of_run) {
  for (;;) {
    while (!groups_.empty() && groups_.front().is_discarded() && groups_.front().is_finished()) {
      groups_.pop_front();
      ++front_;
    }
    if (front() == nullptr || !front()->is_finished()) return;
    const bool is_last = groups_.front().has_dropped() || groups_.front().end().failure;
    if (is_last) interrupted_at_ = prefix();
    commit(groups_.front(), verified_of_run, unverified_of_run);
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
void input_counts::commit(const frame_group& group, gpu::tally& verified_of_run, gpu::tally& unverified_of_run) {
  const gpu::tally damaged = group.unverified();
  std::vector<lost_range> lost = lost_in(group.end());
  input_failure failure = failure_after(group);
  lost_.reserve(lost_.size() + lost.size());
  for (gpu::tally* each : {&verified_.counts, &unverified_, &verified_of_run, &unverified_of_run}) rows_->resize(*each);

  verified_of_run += group.verified().counts;
  rows_->add(verified_of_run, rows_->append(verified_, group.verified()));
  if (group.ends_with_gap()) verified_.edges.append(text_edges::gap());
  unverified_ += damaged;
  unverified_of_run += damaged;
  if (group.end().compressed_bytes) compressed_bytes_ = group.end().compressed_bytes;
  committed_to_.reset();
  if (compressed_bytes_ && group.end().frames) {
    committed_to_ = {.compressed_bytes = *compressed_bytes_, .frames = *group.end().frames};
  }
  lost_.insert(lost_.end(), std::make_move_iterator(lost.begin()), std::make_move_iterator(lost.end()));
  number_of_lost_ranges_ += group.end().number_of_lost_ranges;
  failed_by_loss_ = !io::is_cut_short(failure.kind) && (failed_by_loss_ || (failure_.is_none() && !lost_.empty()));
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

// The first failure of the input up to the end of this group. After a lost range, a stop is the failure: the input was
// not read to its end.
input_failure input_counts::failure_after(const frame_group& group) const {
  const group_end& end = group.end();
  const bool had_loss_only = failure_.is_none() || failed_by_loss_;
  if (had_loss_only && end.failure && !group.has_dropped()) {
    if (input_failure ended = end.failure(merged_); io::is_cut_short(ended.kind)) return ended;
  }
  if (!failure_.is_none()) return failure_;
  if (!end.lost_ranges.empty()) return failure_of(end.lost_ranges.front());
  if (group.has_dropped()) return not_counted(merged_ + group.merged_bytes(), group.drop_cause());
  return end.failure ? end.failure(merged_) : input_failure();
}

// Whether data after the first lost range was decoded is known only when the next group ends.
std::string input_counts::failure_text() const {
  return failed_by_loss_ ? skipped_text(lost_.front(), compressed_bytes_.value_or(0)) : failure_.text;
}

void input_counts::fail(std::uint64_t bytes, input_failure failure) {
  if (failure_.is_none() || (failed_by_loss_ && io::is_cut_short(failure.kind))) {
    failure_ = std::move(failure);
    failed_by_loss_ = false;
  }
  if (!expected_) finish(std::max(bytes, continued_from_));
}

std::uint64_t input_counts::merged_bytes() const {
  return merged_ + (front() == nullptr ? 0 : front()->merged_bytes());
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
          .utf8 = utf8_,
          .notices = notices_,
          .observed = observed_};
}

// Plain text is in no group.
std::optional<input_prefix> input_counts::prefix() const {
  if (dropping_) return io::is_cut_short(failure_.kind) ? interrupted_at_ : std::nullopt;
  const bool is_plain = front_ == 1 && groups_.empty() && !compressed_bytes_;
  const bool is_interrupted = io::is_cut_short(failure_.kind);
  const bool has_failed = !failure_.is_none() && !failed_by_loss_ && !is_interrupted;
  const bool is_whole = expected_ == merged_ && !is_interrupted;
  if (merged_ == text_before_ || has_failed || is_whole || (!is_plain && !committed_to_)) return std::nullopt;
  input_prefix made{.counted = report(), .edges = verified_.edges, .text_before = text_before_};
  made.counted.complete = false;
  made.counted.error.clear();  // of lost ranges, which are listed, or of the stop
  made.counted.error_kind = failure_kind::none;
  if (!is_plain) {
    made.counted.compressed_bytes = committed_to_->compressed_bytes;
    made.frames = committed_to_->frames;
  }
  return made;
}

void input_counts::add_front(gpu::tally& verified, gpu::tally& unverified) const {
  const frame_group* const next = front();
  if (next == nullptr) return;
  verified += next->verified().counts;
  rows_->add(verified, text_edges(verified_.edges).append(next->verified().edges));
  unverified += next->unverified();
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
