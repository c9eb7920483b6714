// The buffers of a batch of zstd frames in host memory.
#include "tests/support/zstd_batch.hpp"

#include "gpu/cuda/zstd/descriptions.hpp"
#include "gpu/cuda/zstd/part_segment.hpp"

#include <algorithm>
#include <cstring>

namespace gpuhist::test {
namespace {

namespace zstd = gpu::cuda::zstd;

constexpr std::size_t padding = 16;         // readable bytes after the compressed ones
constexpr std::size_t text_alignment = 32;  // of each frame; also the maximum of untouched bytes between texts
constexpr std::uint8_t untouched = 0xA5;
constexpr std::uint32_t parts_at_once = 3;

std::size_t after_text(const zstd::encoded_frame& frame) { return frame.text_at + frame.text_room; }

// At least one byte is between the texts of two frames.
std::size_t next_text(const zstd::encoded_frame& frame) {
  return (after_text(frame) / text_alignment + 1) * text_alignment;
}

}  // namespace

zstd_batch::sample zstd_batch::add(std::span<const std::byte> packed) {
  const auto listed = pipeline::list_frames(io::access_to(packed));
  if (!listed) return {};
  sample added{.is_listed = true,
               .begin = static_cast<std::uint32_t>(frames_.size()),
               .end = static_cast<std::uint32_t>(frames_.size() + listed->frames.size()),
               .at = static_cast<std::uint32_t>(compressed_.size())};
  const auto blocks_before = static_cast<std::uint32_t>(blocks_.size());
  for (zstd::encoded_block block : listed->blocks) {
    block.at += added.at;
    block.frame += added.begin;
    blocks_.push_back(block);
  }
  for (zstd::encoded_frame frame : listed->frames) {
    frame.first_block += blocks_before;
    frame.text_at = frames_.empty() ? 0 : next_text(frames_.back());
    frames_.push_back(frame);
  }
  compressed_.insert(compressed_.end(), packed.begin(), packed.end());
  return added;
}

zstd::batch_buffers zstd_batch::allocate_descriptions() {
  words_ = std::make_unique_for_overwrite<std::byte[]>(compressed_.size() + padding);
  std::ranges::copy(compressed_, words_.get());
  std::memset(words_.get() + compressed_.size(), untouched, padding);
  codes_ = std::make_unique_for_overwrite<zstd::block_codes[]>(blocks_.size());
  std::memset(codes_.get(), untouched, blocks_.size() * sizeof(zstd::block_codes));
  decoded_ = std::make_unique_for_overwrite<zstd::decoded_block[]>(blocks_.size());
  return {.compressed = reinterpret_cast<const std::uint32_t*>(words_.get()),
          .frames = frames_.data(),
          .blocks = blocks_.data(),
          .frame_count = static_cast<std::uint32_t>(frames_.size()),
          .block_count = static_cast<std::uint32_t>(blocks_.size()),
          .codes = codes_.get(),
          .decoded = decoded_.get()};
}

batch_rooms zstd_batch::describe() {
  zstd::batch_buffers batch = allocate_descriptions();
  batch.literal_room = batch.sequence_room = ~std::uint32_t{0};
  std::uint64_t used[2] = {};
  batch.used = used;
  for (std::uint32_t i = 0; i < batch.block_count; ++i) zstd::describe_block(batch, i);
  return {.literal_bytes = static_cast<std::uint32_t>(used[0]),
          .sequence_entries = static_cast<std::uint32_t>(used[1])};
}

void zstd_batch::decode(const batch_decoder& decoder) { decode(decoder, describe()); }

void zstd_batch::decode(const batch_decoder& decoder, const batch_rooms& rooms) {
  zstd::batch_buffers batch = allocate_descriptions();
  const auto literals = std::make_unique_for_overwrite<std::uint8_t[]>(rooms.literal_bytes);
  const auto sequences = std::make_unique_for_overwrite<zstd::sequence_entry[]>(rooms.sequence_entries);
  const std::size_t text_bytes = frames_.empty() ? 0 : after_text(frames_.back());
  text_ = std::make_unique_for_overwrite<std::uint8_t[]>(text_bytes);
  std::memset(text_.get(), untouched, text_bytes);
  results_ = std::make_unique_for_overwrite<zstd::decoded_frame[]>(frames_.size());
  const bool has_parts = std::ranges::any_of(frames_, [](const auto& each) { return each.is_in_parts != 0; });
  const std::uint32_t symbol_room = has_parts ? parts_at_once * zstd::part_segment::symbols_of_part : 0;
  const auto symbols = std::make_unique_for_overwrite<std::int32_t[]>(symbol_room);
  zstd::part_progress progress{};
  std::uint64_t used[2] = {};
  batch.symbols = symbols.get();
  batch.symbol_room = symbol_room;
  batch.progress = &progress;
  batch.literal_room = rooms.literal_bytes;
  batch.sequence_room = rooms.sequence_entries;
  batch.literals = literals.get();
  batch.sequences = sequences.get();
  batch.text = text_.get();
  batch.results = results_.get();
  batch.used = used;
  decoder(batch, {.compressed = compressed_.size() + padding, .text = text_bytes});
}

bool zstd_batch::is_decoded(const sample& which) const {
  return which.is_listed && std::all_of(results_.get() + which.begin, results_.get() + which.end,
                                        [](const auto& each) { return each.is == zstd::verdict::decoded; });
}

std::span<const std::byte> zstd_batch::text_of(std::uint32_t frame) const {
  return std::as_bytes(std::span(text_.get() + frames_[frame].text_at, results_[frame].text_bytes));
}

byte_vector zstd_batch::text_of(const sample& which) const {
  byte_vector all;
  for (std::uint32_t i = which.begin; i < which.end; ++i) {
    const auto text = text_of(i);
    all.insert(all.end(), text.begin(), text.end());
  }
  return all;
}

bool zstd_batch::kept_bounds() const {
  for (std::size_t i = 0; i + 1 < frames_.size(); ++i) {
    const bool kept = std::all_of(text_.get() + after_text(frames_[i]), text_.get() + frames_[i + 1].text_at,
                                  [](std::uint8_t byte) { return byte == untouched; });
    if (!kept) return false;
  }
  return true;
}

}  // namespace gpuhist::test
