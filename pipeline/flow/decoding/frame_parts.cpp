#include "pipeline/flow/decoding/frame_parts.hpp"

#include "pipeline/flow/decoding/part_queue.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline {
namespace {

// A new decoder for each part, because the reader of the text keeps the decoder.
class frame_part_decoder final : public io::part_decoder {
 public:
  frame_part_decoder(const io::format& format, io::decoder_limits limits)
      : format_(format), limits_(std::move(limits)) {}

  std::unique_ptr<io::decoded_part> decode(const io::part_input& input) override {
    if (!input.begins_frame) return nullptr;
    auto part = std::make_unique<frame_part>(input.offset, format_.make_decoder(limits_));
    part->decoder->restart(input.start);
    const auto window = static_cast<std::size_t>(std::min<std::uint64_t>(limits_.granted_bytes, input.max_bytes / 2));
    for (const std::span<const std::byte> piece : input.pieces) {
      part->decode(piece, input.max_bytes - window);
      if (part->ended_by != io::fill_status::needs_input) break;
    }
    return part;
  }

 private:
  const io::format& format_;
  const io::decoder_limits limits_;
};

}  // namespace

// Room for text; empty if there may be no more.
std::span<std::byte> frame_part::room(std::size_t max_bytes) {
  const std::size_t in_chunk = bytes_ % chunk_bytes;
  if (bytes_ == chunks_.size() * chunk_bytes) {
    if (bytes_ + chunk_bytes > max_bytes) return {};
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk_bytes));
  }
  return {chunks_.back().get() + in_chunk, chunk_bytes - in_chunk};
}

void frame_part::decode(std::span<const std::byte> in, std::size_t max_bytes) {
  for (;;) {
    const std::span<std::byte> out = room(max_bytes);
    ended_by = io::fill_status::output_full;
    if (out.empty()) return;
    const io::fill_result got = decoder->fill(in, out);
    in = in.subspan(got.consumed);
    consumed += got.consumed;
    bytes_ += got.produced;
    if (got.status == io::fill_status::frame_verified) frame_ends_.push_back(bytes_);
    ended_by = got.status;
    if (got.status != io::fill_status::frame_verified && got.status != io::fill_status::output_full) return;
  }
}

std::size_t frame_part::copy(std::span<std::byte> out) noexcept {
  const std::size_t end = next_end_ < frame_ends_.size() ? frame_ends_[next_end_] : bytes_;
  std::size_t copied = 0;
  while (copied < out.size() && copied_ < end) {
    const std::size_t in_chunk = copied_ % chunk_bytes;
    const std::size_t size = std::min({out.size() - copied, end - copied_, chunk_bytes - in_chunk});
    std::copy_n(chunks_[copied_ / chunk_bytes].get() + in_chunk, size, out.data() + copied);
    copied += size;
    copied_ += size;
  }
  return copied;
}

bool frame_part::take_frame_end() noexcept {
  if (next_end_ == frame_ends_.size() || frame_ends_[next_end_] != copied_) return false;
  ++next_end_;
  return true;
}

io::part_format make_frame_parts(const io::format& format, const io::decoder_limits& limits) {
  return {.make = [&format, limits] { return std::make_unique<frame_part_decoder>(format, limits); },
          .part_bytes = part_queue::any_size,
          .look_ahead_bytes = 0,
          .memory_bytes = std::size_t{33} << 20U};  // 24 MiB of text and a window of 8 MiB: a block of `xz -T0`
}

}  // namespace gpuhist::pipeline
