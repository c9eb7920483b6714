// Decodes a batch in host memory on the device.
#pragma once

#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/frames/decode.hpp"
#include "gpu/cuda/zstd/part_segment.hpp"
#include "tests/support/device_arrays.hpp"
#include "tests/support/zstd_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuhist::test {

/// A batch_decoder. What the phases do not write of the text, of the literals and of the sequences of members remains.
inline void decode_on_device(const gpu::cuda::zstd::batch_buffers& host, const batch_bytes& bytes) {
  namespace zstd = gpu::cuda::zstd;
  using gpu::cuda::deflate::portion_block;
  constexpr std::size_t text_unit = 32;  // phase 6 reads whole words of the text of a frame, also the last one
  constexpr std::size_t literal_unit = 4;
  const device_array<std::byte> compressed(reinterpret_cast<const std::byte*>(host.compressed), bytes.compressed);
  const device_array<zstd::encoded_frame> frames(host.frames, host.frame_count);
  const device_array<zstd::encoded_block> blocks(host.blocks, host.block_count);
  const device_array<zstd::block_codes> codes(host.block_count);
  const device_array<zstd::decoded_block> decoded(host.block_count);
  device_array<portion_block> portions(host.member_count > 0 ? host.block_count : 0);
  device_array<zstd::sequence_entry> sequences(host.sequence_room);
  device_array<zstd::decoded_frame> results(host.frame_count);
  device_array<std::uint8_t> literals((host.literal_room + literal_unit - 1) / literal_unit * literal_unit);
  device_array<std::uint8_t> text((bytes.text + text_unit - 1) / text_unit * text_unit);
  device_array<std::uint64_t> used(2);
  const device_array<std::int32_t> symbols(host.symbol_room);
  const device_array<zstd::part_progress> progress(1);
  literals.clear();
  text.clear();
  text.copy_from(host.text, bytes.text);
  used.copy_from(host.used, 2 * sizeof(std::uint64_t));
  results.clear();  // bytes between its members are copied, too
  portions.clear();
  if (host.member_count > 0) {
    literals.copy_from(host.literals, host.literal_room);
    sequences.copy_from(host.sequences, host.sequence_room * sizeof(zstd::sequence_entry));
  }
  zstd::batch_buffers device = host;
  device.compressed = reinterpret_cast<const std::uint32_t*>(compressed.data());
  device.frames = frames.data();
  device.blocks = blocks.data();
  device.codes = codes.data();
  device.decoded = decoded.data();
  device.portions = portions.data();
  device.literals = literals.data();
  device.sequences = sequences.data();
  device.text = text.data();
  device.results = results.data();
  device.used = used.data();
  device.symbols = symbols.data();
  device.progress = progress.data();
  std::vector<zstd::part_segment> in_parts;
  for (std::uint32_t i = 0; i < host.frame_count; ++i) {
    if (host.frames[i].is_in_parts != 0) in_parts.push_back(zstd::part_segment::of(host.frames[i], i));
  }
  require(gpu::cuda::frames::launch_decode(device, in_parts, nullptr));
  require(cudaDeviceSynchronize());
  text.copy_to(host.text, bytes.text);
  results.copy_to(host.results, host.frame_count * sizeof(zstd::decoded_frame));
  used.copy_to(host.used, 2 * sizeof(std::uint64_t));
  if (host.member_count > 0) {
    literals.copy_to(host.literals, host.literal_room);
    sequences.copy_to(host.sequences, host.sequence_room * sizeof(zstd::sequence_entry));
    portions.copy_to(host.portions, host.block_count * sizeof(portion_block));
  }
}

}  // namespace gpuhist::test
