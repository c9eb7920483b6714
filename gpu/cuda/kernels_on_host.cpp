#include "gpu/cuda/kernels_on_host.hpp"

#include "gpu/cuda/deflate/begins.hpp"
#include "gpu/cuda/deflate/checksum.hpp"
#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/deflate/symbols.hpp"
#include "gpu/cuda/units/delimiter_search.hpp"
#include "gpu/cuda/units/join_rows.hpp"
#include "gpu/cuda/units/lanes.hpp"
#include "gpu/cuda/units/measure.hpp"
#include "gpu/cuda/units/select_rows.hpp"
#include "gpu/cuda/units/string_search.hpp"
#include "gpu/cuda/zstd/checksum_of_few.hpp"
#include "gpu/cuda/zstd/descriptions.hpp"
#include "gpu/cuda/zstd/execute.hpp"
#include "gpu/cuda/zstd/frames.hpp"
#include "gpu/cuda/zstd/huffman.hpp"
#include "gpu/cuda/zstd/parts.hpp"
#include "gpu/cuda/zstd/sequences.hpp"
#include "gpu/cuda/zstd/steps.hpp"
#include "gpu/cuda/zstd/team.hpp"

#include <cstddef>
#include <memory>
#include <numeric>
#include <span>

namespace gpuhist::gpu::cuda::units {
namespace {

// Replaces the number of each tile by the sum of those before it. Returns the sum of all.
std::uint32_t sum_up(std::span<std::uint32_t> tiles) {
  std::exclusive_scan(tiles.begin(), tiles.end(), tiles.begin(), std::uint32_t{0});
  return tiles.back();
}

void search_strings(const unit_launch& launch) {
  const auto filter = [&](std::uint32_t word, unsigned i) { return launch.strings->filter[word >> (8 * i) & 0xffU]; };
  for (std::uint32_t tile = 0; tile < tiles_in(launch.text_room); ++tile) {
    search_tile(one_lane(), launch, filter, tile);
  }
}

template <unsigned Counters>
void measure_tiles(const unit_launch& launch) {
  const auto bits_of = [&](std::uint32_t word, unsigned i) { return launch.classes[word >> (8 * i) & 0xffU]; };
  for (std::uint32_t tile = 0; tile < tiles_in(launch.text_room); ++tile) {
    measure_tile<Counters>(one_lane(), launch, bits_of, tile);
  }
  if (!launch.selects_rows()) return;
  const std::uint32_t tiles = tiles_in(launch.text_room);
  if (launch.strings != nullptr) search_strings(launch);
  for (std::uint32_t tile = 0; tile < tiles; ++tile) {
    launch.strings != nullptr ? join_tile(one_lane(), launch, tile) : select_tile<Counters>(one_lane(), launch, tile);
  }
  launch.selection.extent_rows[launch.extent_count] = sum_up({launch.selection.tile_rows, tiles + 1});
  for (std::uint32_t tile = 0; tile < tiles; ++tile) move_tile(one_lane(), launch, tile);
}

}  // namespace

void measure_on_host(const unit_launch& launch) {
  const std::uint32_t tiles = tiles_in(launch.text_room);
  for (std::uint32_t tile = 0; tile < tiles; ++tile) count_pieces(one_lane(), launch, tile);
  launch.extent_pieces[launch.extent_count] = sum_up({launch.tile_pieces, tiles + 1});
  switch (launch.counters) {
    case 4:
      return measure_tiles<4>(launch);
    case 8:
      return measure_tiles<8>(launch);
    default:
      return measure_tiles<16>(launch);
  }
}

}  // namespace gpuhist::gpu::cuda::units

namespace gpuhist::gpu::cuda::zstd {
namespace {

using tile_memory = execute_memory<256, 64, byte_output>;
using part_memory = execute_memory<256, 64, symbol_output>;

void execute_in_parts(const lone_thread& team, const batch_buffers& batch, std::uint32_t frame, part_memory& memory) {
  std::uint32_t first = batch.frames[frame].first_block;
  const std::uint32_t end = first + batch.frames[frame].block_count;
  if (batch.blocks[first].type == block_type::carried) ++first;
  const std::uint32_t blocks = batch.symbol_room / part_segment::symbols_of_part * part_segment::blocks_of_part;
  for (std::uint32_t at = first; at < end; at += blocks) {
    const part_segment segment{.frame = frame, .first_block = at, .end_block = lesser(end, at + blocks)};
    for (std::uint32_t i = 0; i < segment.parts(); ++i) execute_part(team, batch, segment, i, memory);
    write_pieces(team, batch, segment);
  }
}

void check_checksum(const lone_thread& team, const batch_buffers& batch, std::uint32_t index, hash_memory& memory) {
  if (!has_checksum(batch, index)) return;
  complete_text text(batch.results[index]);
  text_accumulators all(team, memory, text, batch.text + batch.frames[index].text_at,
                        xxh64::stripes_in(batch.results[index].text_bytes));
  all.add_stripes();
  std::uint64_t sums[xxh64::accumulators];
  for (unsigned i = 0; i < xxh64::accumulators; ++i) sums[i] = all.sum(i);
  compare_checksum(batch, index, sums);
}

void decode_members(const batch_buffers& batch) {
  static constexpr deflate::symbol_meanings meanings = deflate::symbol_meanings::make();
  constexpr lone_thread team;
  const auto memory = std::make_unique<deflate::portion_memory>();
  deflate::length_code length_code{};
  for (std::uint32_t i = 0; i < batch.block_count; ++i) deflate::find_begin(team, batch, i, length_code);
  for (std::uint32_t i = 0; i < batch.block_count; ++i) {
    if (deflate::has_begin(batch, i)) deflate::portion_decoder(team, batch, i, meanings, *memory).decode();
  }
  for (std::uint32_t i = 0; i < batch.frame_count; ++i) deflate::order_pieces(team, batch, i);
}

void add_crc32(const batch_buffers& batch) {
  static constexpr deflate::crc32_factors factors = deflate::crc32_factors::make();
  for (std::uint32_t i = 0; i < deflate::stretches_in(batch.text_room); ++i) {
    deflate::for_each_stretch(batch, i, [&](std::uint32_t frame, const deflate::text_stretch& stretch) {
      std::uint32_t sum = 0;
      for (unsigned lane = 0; lane < deflate::crc32_factors::lanes; ++lane) sum ^= stretch.lane_part(factors, lane);
      batch.results[frame].crc32 ^= stretch.part(factors, sum);
    });
  }
}

}  // namespace

void decode_on_host(const batch_buffers& batch) {
  constexpr lone_thread team;
  static constexpr code_meanings meanings = code_meanings::make();
  const auto literals = std::make_unique<huffman_table>();
  const auto sequences = std::make_unique<sequence_memory>();
  const auto tile = std::make_unique<tile_memory>();
  const auto part = std::make_unique<part_memory>();
  const auto products = std::make_unique<hash_memory>();
  for (std::uint32_t i = 0; i < batch.block_count; ++i) describe_block(batch, i);
  for (std::uint32_t i = 0; i < batch.frame_count; ++i) resolve_references(team, batch, i);
  for (std::uint32_t i = 0; i < batch.block_count; ++i) decode_literals(team, batch, i, *literals);
  for (std::uint32_t i = 0; i < batch.block_count; ++i) {
    decode_sequences<direct_bits>(lone_decoder{}, batch, i, meanings, *sequences);
  }
  if (batch.member_count > 0) decode_members(batch);
  for (std::uint32_t i = 0; i < batch.frame_count; ++i) link_frame(team, batch, i);
  for (std::uint32_t i = 0; i < batch.frame_count; ++i) {
    if (batch.frames[i].is_in_parts != 0) execute_in_parts(team, batch, i, *part);
  }
  for (std::uint32_t i = 0; i < batch.frame_count; ++i) execute_frame(team, batch, i, *tile);
  for (std::uint32_t i = 0; i < batch.frame_count; ++i) check_checksum(team, batch, i, *products);
  if (batch.member_count > 0) add_crc32(batch);
}

void copy_carried_on_host(const batch_buffers& batch, const std::uint8_t* text_before) {
  copy_carried(batch, text_before, 0, 1);
}

void carry_on_host(const batch_buffers& batch) {
  constexpr lone_thread team;
  deflate::is_member(batch.frames[0]) ? deflate::carry_member(team, batch) : carry_blocks(team, batch);
}

void divide_on_host(const text_division& division) {
  const units::unit_launch& lines = division.lines;
  if (division.has_lines) {
    const std::uint32_t tiles = units::tiles_in(lines.text_room);
    for (std::uint32_t tile = 0; tile < tiles; ++tile) units::count_delimiters(units::one_lane(), lines, tile);
    const std::span before(lines.tile_pieces, tiles + std::size_t{1});
    std::exclusive_scan(before.begin(), before.end(), before.begin(), std::uint32_t{0});
  }
  for (std::uint32_t cut = 0; cut < division.cut_count(); ++cut) {
    const std::uint32_t group = group_of_cut(division, cut);
    if (division.groups[group].unit != cut_unit::lines) continue;
    const std::uint32_t begin = lines.extents[division.first_frame_of(group)].begin;
    division.places[cut] = units::delimiter_end(units::one_lane(), lines, begin, division.cuts[cut]);
  }
  for (std::uint32_t group = 0; group < division.group_count; ++group) divide_group(division, group);
  for (std::uint32_t slice = 0; slice < division.slice_count; ++slice) {
    division.last_bytes[slice] = last_byte_of(division, slice);
  }
}

}  // namespace gpuhist::gpu::cuda::zstd
