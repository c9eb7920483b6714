#include "pipeline/flow/decoding/stepped_group.hpp"

#include "io/zstd/zstd_layout.hpp"
#include "pipeline/flow/decoding/device_frames.hpp"
#include "pipeline/flow/decoding/encoded_frames.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhist::pipeline {
namespace {

namespace zstd = gpu::cuda::zstd;

constexpr std::uint64_t checksum_bytes = 4;
constexpr std::uint64_t max_text = std::uint64_t{512} << 20U;  // more in a step decodes no faster

// Of a step. 0: the device cannot decode the frame.
std::size_t max_blocks_of(const gpu::frame_decoder::limits& limits, const zstd::encoded_frame& frame) {
  const std::uint64_t carried = frame.window_bytes + zstd::carried_alignment;
  if (limits.text_of_step <= carried || frame.block_limit == 0) return 0;
  const std::uint64_t text = std::min(max_text, limits.text_of_step - carried);
  const std::uint64_t blocks = limits.blocks / 2;
  return blocks == 0 ? 0 : static_cast<std::size_t>(std::min(text / frame.block_limit, blocks - 1));
}

}  // namespace

bool stepped_group::can_decode(const io::zstd_frame_header& header, const gpu::frame_decoder::limits& limits) {
  return is_supported(header) && max_blocks_of(limits, encoded_header(header)) > 0;
}

std::unique_ptr<stepped_group> stepped_group::begin(staged_group& bytes, const settings& with) {
  std::array<std::byte, io::zstd_max_header_bytes> begin{};
  if (bytes.size() < begin.size()) return nullptr;
  bytes.access().copy(0, begin);
  std::unique_ptr<stepped_group> made(new stepped_group(bytes, with, io::parse_zstd_header(begin).header));
  return made->is_longer_than_bytes() ? std::move(made) : nullptr;
}

stepped_group::stepped_group(staged_group& bytes, const settings& with, const io::zstd_frame_header& header)
    : bytes_(bytes),
      settings_(with),
      frame_(encoded_header(header)),
      max_blocks_(max_blocks_of(with.limits, frame_)),
      step_bytes_(with.step_bytes / share_of_first),
      walked_(header.header_bytes),
      reached_(header.header_bytes) {}

// Whether all bytes so far belong to the first frame, and its last block has not begun.
bool stepped_group::is_longer_than_bytes() const {
  const io::byte_access bytes = bytes_.access();
  for (std::uint64_t at = walked_; const auto header = io::zstd_block_header_at(bytes, at);) {
    if (header->is_last || header->is_damaged()) return false;
    at += io::zstd_block_header::bytes + header->content_bytes();
  }
  return true;
}

bool stepped_group::is_full() const { return blocks_.size() == max_blocks_ || walked_ - reached_ >= step_bytes_; }

// Finds blocks that are whole, up to the end of a step. False: one is damaged.
bool stepped_group::walk() {
  const io::byte_access bytes = bytes_.access();
  while (!has_last_block_ && !is_full()) {
    const auto header = io::zstd_block_header_at(bytes, walked_);
    if (!header) break;
    if (header->is_damaged()) return false;
    const std::uint64_t content = walked_ + io::zstd_block_header::bytes;
    if (content + header->content_bytes() > bytes.size) break;
    blocks_.push_back(encoded_block_of(*header, static_cast<std::uint32_t>(content - reached_)));
    walked_ = content + header->content_bytes();
    has_last_block_ = header->is_last;
  }
  return true;
}

bool stepped_group::advance() {
  while (!is_complete_) {
    if (!walk()) return false;
    if (has_last_block_) {
      const std::uint64_t end = walked_ + (frame_.has_checksum != 0 ? checksum_bytes : 0);
      if (end > bytes_.size()) return true;
      const std::uint32_t checksum =
          frame_.has_checksum != 0 ? io::number_at(bytes_.access(), walked_, checksum_bytes) : 0;
      walked_ = end;
      queue_step(checksum);
    } else if (is_full()) {
      queue_step(std::nullopt);
    } else {
      return true;
    }
  }
  return true;
}

// `checksum`: of the frame, for the last step.
void stepped_group::queue_step(std::optional<std::uint32_t> checksum) {
  queued_step next{.step = {.blocks = std::exchange(blocks_, {})}, .end = walked_};
  auto [begin, pieces] = bytes_.pieces_of(reached_, walked_);
  next.step.pieces = std::move(pieces);
  for (zstd::encoded_block& each : next.step.blocks) each.at += static_cast<std::uint32_t>(reached_ - begin);
  next.step.is_last = checksum.has_value();
  next.step.checksum = checksum.value_or(0);
  next.step.row.resize(settings_.columns);
  {
    const std::scoped_lock lock(mutex_);
    steps_.push_back(std::move(next));
  }
  step_bytes_ = std::min(settings_.step_bytes, 2 * step_bytes_);
  reached_ = walked_;
  is_complete_ = checksum.has_value();
  arrived_.notify_one();
}

std::optional<gpu::frame_step> stepped_group::take_ended() {
  queued_step first;
  {
    const std::scoped_lock lock(mutex_);
    if (ended_ == 0) return std::nullopt;
    first = std::move(steps_.front());
    steps_.pop_front();
    --ended_;
    --taken_;
  }
  bytes_.release_to(first.end);
  return std::move(first.step);
}

void stepped_group::give_up() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    has_given_up_ = true;
  }
  arrived_.notify_one();
}

void stepped_group::note_job_ended() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    has_job_ended_ = true;
  }
  changed_.notify();
}

bool stepped_group::has_job_ended() const {
  const std::scoped_lock lock(mutex_);
  return has_job_ended_;
}

bool stepped_group::has_steps() const {
  const std::scoped_lock lock(mutex_);
  return !steps_.empty();
}

gpu::frame_step* stepped_group::next() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return taken_ < steps_.size() || has_given_up_; });
  return has_given_up_ ? nullptr : &steps_[taken_++].step;
}

void stepped_group::end(gpu::frame_step&) {
  {
    const std::scoped_lock lock(mutex_);
    ++ended_;
  }
  changed_.notify();
}

}  // namespace gpuhist::pipeline
