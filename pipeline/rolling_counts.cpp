#include "pipeline/rolling_counts.hpp"

#include <utility>

namespace gpuhist::pipeline {

bool rolling_counts::input_counts::complete() const {
  return expected == merged && error.empty() && unverified.bytes() == 0;
}

rolling_counts::rolling_counts(const gpu::partition& counted, const gpu::partition& rows,
                               std::vector<std::string> input_names)
    : counted_(counted), row_classes_(rows.classes), verified_(counted.classes), unverified_(counted.classes) {
  for (std::size_t byte = 0; byte < 256; ++byte) class_of_column_[rows.class_of[byte]] = counted.class_of[byte];
  inputs_.resize(input_names.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    inputs_[i].name = std::move(input_names[i]);
    inputs_[i].verified = inputs_[i].unverified = gpu::tally(counted.classes);
  }
}

void rolling_counts::add_row(gpu::tally& to, std::span<const std::uint32_t> row) const {
  for (std::size_t column = 0; column < row.size(); ++column) to.counts[class_of_column_[column]] += row[column];
}

void rolling_counts::merge(std::span<const segment> segments, std::span<const std::uint32_t> rows) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const segment& each = segments[i];
    const auto row = rows.subspan(i * row_classes_, row_classes_);
    inputs_[each.input].merged += each.where.size();
    merged_ += each.where.size();
    if (each.frame == 0) {
      add_row(verified_, row);
      add_row(inputs_[each.input].verified, row);
      continue;
    }
    const auto frame = frame_named(each.frame, each.input);
    frame->second.merged += each.where.size();
    add_row(frame->second.counts, row);
    settle(frame);
  }
}

void rolling_counts::conclude(frame_id id, input_id input, std::uint64_t bytes, bool verified) {
  const std::scoped_lock lock(mutex_);
  const auto frame = frame_named(id, input);
  frame->second.expected = bytes;
  frame->second.verified = verified;
  settle(frame);
}

// Known by its first bytes or by its verdict, whichever comes first.
rolling_counts::open_frames::iterator rolling_counts::frame_named(frame_id id, input_id input) {
  return frames_.try_emplace(id, open_frame{.input = input, .counts = gpu::tally(counted_.classes)}).first;
}

// Moves a frame's counts to where they belong once the verdict is known and all of its bytes were merged.
void rolling_counts::settle(open_frames::iterator frame) {
  const open_frame& known = frame->second;
  if (known.expected != known.merged) return;
  input_counts& input = inputs_[known.input];
  (known.verified ? verified_ : unverified_) += known.counts;
  (known.verified ? input.verified : input.unverified) += known.counts;
  frames_.erase(frame);
}

void rolling_counts::set_format(input_id input, std::string_view format) {
  const std::scoped_lock lock(mutex_);
  inputs_[input].format = format;
}

void rolling_counts::set_compressed_bytes(input_id input, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  inputs_[input].compressed_bytes = bytes;
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
  return inputs_[input].merged;
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
  out.complete = true;
  out.inputs.clear();
  for (const input_counts& each : inputs_) {
    out.inputs.push_back({.name = each.name,
                          .format = each.format,
                          .compressed_bytes = each.compressed_bytes,
                          .complete = each.complete(),
                          .error = each.error,
                          .verified = each.verified,
                          .unverified = each.unverified});
  }
  for (const auto& [id, frame] : frames_) {
    out.unverified += frame.counts;
    out.inputs[frame.input].unverified += frame.counts;
    out.inputs[frame.input].complete = false;
  }
  for (const input_report& each : out.inputs) out.complete = out.complete && each.complete;
}

}  // namespace gpuhist::pipeline
