#include "pipeline/flow/decoding/stepped_group.hpp"

#include "gpu/cuda/deflate/portions.hpp"
#include "io/zstd/zstd_layout.hpp"
#include "pipeline/flow/decoding/device_frames.hpp"
#include "pipeline/flow/decoding/encoded_frames.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhist::pipeline {
namespace {

namespace deflate = gpu::cuda::deflate;
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

bool stepped_group::can_decode(const std::optional<io::zstd_frame_header>& header,
                               const gpu::frame_decoder::limits& limits) {
  if (!header) return limits.text_of_step > deflate::window_bytes + zstd::carried_alignment;
  return is_supported(*header) && max_blocks_of(limits, encoded_header(*header)) > 0;
}

std::unique_ptr<stepped_group> stepped_group::begin(staged_group& bytes, const settings& with) {
  std::array<std::byte, io::zstd_max_header_bytes> begin{};
  if (bytes.size() < begin.size()) return nullptr;
  bytes.access().copy(0, begin);
  if (begins_member(begin)) {
    const std::optional<std::uint64_t> header = header_of_only_member(bytes.access());
    if (!header) return nullptr;
    const zstd::encoded_frame member{.window_bytes = deflate::window_bytes, .portions = 1};
    return std::unique_ptr<stepped_group>(new stepped_group(bytes, with, member, *header));
  }
  const io::zstd_frame_header header = io::parse_zstd_header(begin).header;
  std::unique_ptr<stepped_group> made(new stepped_group(bytes, with, encoded_header(header), header.header_bytes));
  return made->is_longer_than_bytes() ? std::move(made) : nullptr;
}

stepped_group::stepped_group(staged_group& bytes, const settings& with, const zstd::encoded_frame& frame,
                             std::uint64_t header_bytes)
    : bytes_(bytes),
      settings_(with),
      frame_(frame),
      max_blocks_(max_blocks_of(with.limits, frame_)),
      step_bytes_(with.step_bytes / share_of_first),
      most_part_bytes_(with.step_bytes),
      walked_(header_bytes),
      reached_(header_bytes) {}

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

// No writer is known to make longer blocks.
std::uint64_t stepped_group::bytes_after() const {
  constexpr std::uint64_t longest_block = std::uint64_t{1} << 20U;
  return std::min(longest_block, settings_.step_bytes / 2);
}

std::uint64_t stepped_group::part_bytes() const { return std::min(step_bytes_, most_part_bytes_); }

void stepped_group::advance_member() {
  while (bytes_.size() - reached_ > part_bytes() + bytes_after() + member_trailer::size) {
    queue_part(part_bytes(), bytes_after(), nullptr);
  }
}

bool stepped_group::end() {
  if (is_member() && bytes_.size() > reached_ + member_trailer::size) {
    const auto trailer = member_trailer::before(bytes_.access(), bytes_.size());
    queue_part(bytes_.size() - member_trailer::size - reached_, 0, &trailer);
  }
  return is_complete_ && reached_ == bytes_.size();
}

// `trailer`: of the last part.
void stepped_group::queue_part(std::uint64_t bytes, std::uint64_t after, const member_trailer* trailer) {
  const std::uint64_t portions = std::min<std::uint64_t>(deflate::member_room::portions_of(bytes, zstd::unknown_size),
                                                         settings_.limits.blocks / 8);
  blocks_.push_back({.bytes = static_cast<std::uint32_t>(bytes), .type = zstd::block_type::member});
  walked_ = reached_ + bytes;
  gpu::frame_step step{.portions = std::max(1U, static_cast<std::uint32_t>(portions)),
                       .bytes_after = static_cast<std::uint32_t>(after)};
  if (trailer != nullptr) {
    walked_ += member_trailer::size;
    step.is_last = true;
    step.checksum = trailer->checksum;
    step.stated_text = trailer->text_bytes;
  }
  queue(std::move(step), after);
}

bool stepped_group::advance() {
  if (is_member()) {
    advance_member();
    return true;
  }
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
  queue({.is_last = checksum.has_value(), .checksum = checksum.value_or(0)}, 0);
}

// The step of the blocks, up to `walked_`.
void stepped_group::queue(gpu::frame_step step, std::uint64_t bytes_after) {
  queued_step next{.step = std::move(step), .begin = reached_, .end = walked_};
  auto [begin, pieces] = bytes_.pieces_of(reached_, walked_ + bytes_after);
  next.step.pieces = std::move(pieces);
  next.step.blocks = std::exchange(blocks_, {});
  for (zstd::encoded_block& each : next.step.blocks) each.at += static_cast<std::uint32_t>(reached_ - begin);
  next.step.row.resize(settings_.columns);
  is_complete_ = next.step.is_last;
  {
    const std::scoped_lock lock(mutex_);
    steps_.push_back(std::move(next));
  }
  step_bytes_ = std::min(settings_.step_bytes, 2 * step_bytes_);
  reached_ = walked_;
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
  if (is_member()) limit_parts(first);
  return std::move(first.step);
}

// So that a part whose text is a third longer for its bytes fits, too.
void stepped_group::limit_parts(const queued_step& ended) {
  constexpr std::uint64_t least = std::uint64_t{64} << 10U;
  if (ended.step.text_bytes == 0) return;
  const double room = static_cast<double>(settings_.limits.text_of_step - deflate::window_bytes) * 3 / 4;
  const double bytes = static_cast<double>(ended.end - ended.begin) / static_cast<double>(ended.step.text_bytes) * room;
  most_part_bytes_ = std::max(least, std::min(most_part_bytes_, static_cast<std::uint64_t>(bytes)));
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

bool stepped_group::may_end_step() const {
  const std::scoped_lock lock(mutex_);
  return ended_ > 0 || steps_.size() > 1;
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
