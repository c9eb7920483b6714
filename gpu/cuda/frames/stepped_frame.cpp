#include "gpu/cuda/frames/stepped_frame.hpp"

#include "gpu/cuda/deflate/checksum.hpp"
#include "gpu/cuda/error.hpp"
#include "gpu/cuda/zstd/steps.hpp"

namespace gpuhist::gpu::cuda::frames {

using namespace zstd;  // its phases serve gzip, too

namespace {

constexpr std::uint64_t text_alignment = 4096;
constexpr deflate::crc32_factors factors = deflate::crc32_factors::make();

std::uint64_t half_of(std::uint64_t text_bytes) { return text_bytes / 2 / text_alignment * text_alignment; }

}  // namespace

stepped_frame::stepped_frame(frame_batch& memory)
    : batch_(memory),
      places_{place{event(memory.api_), event(memory.api_)}, place{event(memory.api_), event(memory.api_)}} {}

std::uint64_t stepped_frame::text_of_step(const frame_decoder::limits& limits) {
  return frame_batch::symbol_room(limits) == 0 ? 0 : half_of(limits.text_bytes);
}

std::uint8_t* stepped_frame::text_of(std::uint64_t number) const {
  return batch_.text_.as<std::uint8_t>() + number % 2 * half_of(batch_.limits_.text_bytes);
}

void stepped_frame::decode(const stream& on, int multiprocessors, const partition& counted) {
  frame_job& job = *batch_.jobs_.front();
  text_bytes_ = text_begin_ = hashed_ = compressed_bytes_ = 0;
  waited_ = {};
  piecewise_xxh64 hash(batch_.hasher_.multiplies());
  job.decoded = false;
  crc32_ = 0;
  frame_step* now = next_of(*job.steps);
  if (now != nullptr) enqueue(*now, 0, on, multiprocessors);
  for (std::uint64_t number = 0; now != nullptr; ++number) {
    frame_step* const next = now->is_last ? nullptr : next_of(*job.steps);
    if (next != nullptr) enqueue(*next, number + 1, on, multiprocessors);
    if (!end(*now, number, counted, hash)) {
      if (next != nullptr) places_[(number + 1) % 2].ended.wait();
      return;
    }
    job.decoded = now->is_last && is_verified(*now, hash);
    job.text_bytes = text_bytes_;
    job.steps->end(*now);
    now = next;
  }
}

frame_step* stepped_frame::next_of(frame_steps& steps) {
  const auto begun = std::chrono::steady_clock::now();
  frame_step* const next = steps.next();
  waited_ += std::chrono::steady_clock::now() - begun;
  is_given_up_ = next == nullptr;
  return next;
}

void stepped_frame::enqueue(const frame_step& step, std::uint64_t number, const stream& on, int multiprocessors) {
  const std::uint64_t which = number % 2;
  place& at = places_[which];
  copy_blocks(step, number, on);
  batch_.clear_memory(batch_.used_.as<void>(), 2 * sizeof(std::uint64_t), on);
  batch_.clear_memory(batch_.rows_.as<void>(), frame_batch::row_bytes, on);
  decoded_frame* const result = batch_.device_results_.as<decoded_frame>() + which;
  batch_.clear_memory(result, sizeof(*result), on);
  at.begun.record(on);

  const std::uint32_t carried = number == 0 ? 0 : 1;
  const std::uint32_t blocks = batch_.frames_.as<encoded_frame>()[which].block_count;
  const part_segment all{.frame = 0, .first_block = carried, .end_block = blocks};
  frame_launch launch = batch_.launch(multiprocessors);
  launch.batch.frames += which;
  launch.batch.frame_count = 1;
  launch.batch.member_count = step.portions > 0 ? 1 : 0;
  launch.batch.portion_count = step.portions;
  launch.batch.block_count = blocks;
  launch.batch.text = text_of(number);
  launch.batch.results = result;
  launch.in_parts = {&all, 1};
  launch.totals += which * byte_values;
  launch.batch.text_room = static_cast<std::uint32_t>(half_of(batch_.limits_.text_bytes));
  launch.is_step = true;
  launch.text_before = number == 0 ? nullptr : text_of(number - 1);
  check(batch_.api_, batch_.api_.decode_frames(launch, on.get()),
        "starting the kernels of the zstd decoder (cudaLaunchKernelExC)");
  batch_.copy_to_host(batch_.results_.as<decoded_frame>() + which, result, sizeof(*result), on);
  batch_.copy_to_host(batch_.totals_.as<std::uint32_t>() + which * byte_values, launch.totals, frame_batch::row_bytes,
                      on);
  at.ended.record(on);
}

// The compressed bytes, what is known about the blocks, and their frame.
void stepped_frame::copy_blocks(const frame_step& step, std::uint64_t number, const stream& on) {
  auto* to = batch_.compressed_.as<std::byte>();
  for (const std::span<const std::byte> piece : step.pieces) {
    batch_.copy_to_device(to, piece.data(), piece.size(), on);
    to += piece.size();
  }
  batch_.clear_memory(to, frame_batch::quad_bytes, on);  // is read, and not used
  compressed_bytes_ += step.compressed_bytes();

  const std::uint64_t which = number % 2;
  auto* const blocks = batch_.blocks_.as<encoded_block>() + which * (batch_.limits_.blocks / 2);
  std::uint32_t count = 0;
  if (number > 0) blocks[count++] = {.type = block_type::carried};
  for (const encoded_block& each : step.blocks) blocks[count++] = each;
  while (step.portions > 0 && count < batch_.limits_.blocks / 2) blocks[count++] = step.blocks.front();
  auto& of = batch_.frames_.as<encoded_frame>()[which];
  of = {.text_room = half_of(batch_.limits_.text_bytes),
        .window_bytes = frame().window_bytes,
        .block_count = count,
        .block_limit = frame().block_limit,
        .is_in_parts = 1,
        .portions = step.portions,
        .literal_room = static_cast<std::uint32_t>(batch_.limits_.text_bytes),
        .entry_room = static_cast<std::uint32_t>(batch_.limits_.sequences),
        .is_continued = step.is_last ? 0U : 1U,
        .bytes_after = step.bytes_after};
  auto& group = batch_.groups_.as<group_range>()[which];
  group = {.frame_end = 1, .slice_end = 1};
  batch_.copy_to_device(batch_.device_blocks_.as<void>(), blocks, count * sizeof(*blocks), on);
  batch_.copy_to_device(batch_.device_frames_.as<encoded_frame>() + which, &of, sizeof(of), on);
  batch_.copy_to_device(batch_.device_groups_.as<void>(), &group, sizeof(group), on);
}

// False: it was rejected.
bool stepped_frame::end(frame_step& step, std::uint64_t number, const partition& counted, piecewise_xxh64& hash) {
  const std::uint64_t which = number % 2;
  if (frame().has_checksum != 0) {
    places_[which].begun.wait();
    hashed_ += batch_.hasher_.add({.result = batch_.device_results_.as<decoded_frame>() + which,
                                   .text = text_of(number),
                                   .begin = hashed_ - text_begin_,
                                   .is_last = step.is_last},
                                  hash);
  }
  places_[which].ended.wait();
  const decoded_frame& result = batch_.results_.as<decoded_frame>()[which];
  if (result.is != verdict::decoded) return false;
  step.text_bytes = result.text_bytes - result.carried;
  if (step.portions > 0) crc32_ = deflate::crc32_after(factors, crc32_, result);
  text_bytes_ += step.text_bytes;
  text_begin_ += carried_from(result.text_bytes, frame().window_bytes);
  value_runs(counted).fold(batch_.totals_.as<std::uint32_t>() + which * byte_values, counted.classes, step.row.data());
  return true;
}

bool stepped_frame::is_verified(const frame_step& last, const piecewise_xxh64& hash) const {
  if (last.portions > 0) {
    return deflate::finished_crc32(text_bytes_, crc32_) == last.checksum &&
           static_cast<std::uint32_t>(text_bytes_) == last.stated_text;
  }
  if (frame().content_bytes != unknown_size && frame().content_bytes != text_bytes_) return false;
  return frame().has_checksum == 0 || static_cast<std::uint32_t>(hash.finish()) == last.checksum;
}

}  // namespace gpuhist::gpu::cuda::frames
