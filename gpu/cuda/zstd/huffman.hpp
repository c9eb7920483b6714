// Phase 3: the literals that are not stored as they are. A warp for each block: all of its threads fill the table, then
// one thread decodes each of the one or four streams (RFC 8878, 4.2).
#pragma once

#include "gpu/cuda/zstd/bits.hpp"
#include "gpu/cuda/zstd/descriptions.hpp"
#include "gpu/cuda/zstd/encoded.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::zstd {

inline constexpr unsigned max_streams = 4;

/// The decoding table of a block: the index is the next tree_log bits of a stream.
struct huffman_table {
  std::uint16_t entries[1U << max_tree_log];  ///< symbol | length of its code << 8
  std::uint16_t begins[256];                  ///< of each symbol in `entries`
};

// Codes are assigned by weight, then by symbol, beginning with the longest.
GPUHIST_HOST_DEVICE inline void place_symbols(const block_codes& codes, huffman_table& table) {
  std::uint32_t begin_of[max_tree_log + 2] = {};
  for (std::uint32_t i = 0; i < codes.weight_count; ++i) {
    const std::uint32_t weight = codes.weights[i];
    if (weight != 0) begin_of[weight + 1] += 1U << (weight - 1);
  }
  for (std::uint32_t weight = 1; weight <= max_tree_log; ++weight) begin_of[weight] += begin_of[weight - 1];
  for (std::uint32_t i = 0; i < codes.weight_count; ++i) {
    const std::uint32_t weight = codes.weights[i];
    if (weight == 0) continue;
    table.begins[i] = static_cast<std::uint16_t>(begin_of[weight]);
    begin_of[weight] += 1U << (weight - 1);
  }
}

/// Fills the table. All threads of the team call it; it ends with a sync.
template <class Team>
GPUHIST_HOST_DEVICE void build_huffman_table(const Team& team, const block_codes& codes, huffman_table& table) {
  if (team.rank() == 0) place_symbols(codes, table);
  team.sync();
  constexpr std::uint32_t long_run = 5;  // from this weight on, all threads fill a run of entries together
  for (std::uint32_t i = 0; i < codes.weight_count; ++i) {
    const std::uint32_t weight = codes.weights[i];
    const bool together = weight > long_run;
    if (weight == 0 || (!together && i % Team::size != team.rank())) continue;
    const auto entry = static_cast<std::uint16_t>(i | (codes.tree_log + 1U - weight) << 8U);
    const std::uint32_t begin = table.begins[i];
    const std::uint32_t end = begin + (1U << (weight - 1));
    for (std::uint32_t at = together ? begin + team.rank() : begin; at < end; at += together ? Team::size : 1) {
      table.entries[at] = entry;
    }
  }
  team.sync();
}

/// One stream: where it lies in `compressed`, and its text.
struct huffman_stream {
  std::uint32_t begin;
  std::uint32_t end;
  std::uint8_t* to;
  std::uint32_t count;
};

/// Decodes `count` symbols. False: the stream does not end with the last one.
GPUHIST_HOST_DEVICE inline bool decode_stream(const std::uint32_t* words, const huffman_stream& stream,
                                              const std::uint16_t* table, std::uint32_t log) {
  backward_bits bits;
  if (!bits.open(words, stream.begin, stream.end)) return false;
  std::uint8_t* to = stream.to;
  std::uint8_t* const end = to + stream.count;
  const auto next = [&] {
    const std::uint32_t entry = table[bits.peek(log)];
    bits.skip(entry >> 8U);
    return entry & 255U;
  };
  const auto store_one = [&] {
    bits.refill();
    *to++ = static_cast<std::uint8_t>(next());
  };
  while (to < end && reinterpret_cast<std::uintptr_t>(to) % 4 != 0) store_one();
  for (; end - to >= 4; to += 4) {
    bits.refill();
    std::uint32_t word = next();
    word |= next() << 8U;
    bits.refill();  // two codes have at most 22 bits
    word |= next() << 16U;
    word |= next() << 24U;
    store_word(to, word);
  }
  while (to < end) store_one();
  return bits.remaining() == 0;
}

/// The four streams have equally many symbols, except the last; a table of 6 bytes has the lengths of the first three.
GPUHIST_HOST_DEVICE inline bool locate_stream(const batch_buffers& batch, const decoded_block& block, unsigned which,
                                              huffman_stream& to) {
  std::uint8_t* const text = batch.literals + block.literals_at;
  const std::uint32_t end = block.streams_at + block.streams_bytes;
  if (block.streams == 1) {
    to = {.begin = block.streams_at, .end = end, .to = text, .count = block.literal_bytes};
    return true;
  }
  constexpr std::uint32_t table_bytes = 6;
  if (block.streams_bytes < table_bytes) return false;
  const std::uint32_t part = (block.literal_bytes + 3) / 4;
  if (3 * part > block.literal_bytes) return false;
  std::uint32_t begin = block.streams_at + table_bytes;
  std::uint32_t bytes = 0;
  for (unsigned i = 0; i <= which && i < max_streams - 1; ++i) {
    begin += bytes;
    const std::uint32_t at = block.streams_at + 2 * i;
    bytes = byte_at(batch.compressed, at) | byte_at(batch.compressed, at + 1) << 8U;
  }
  if (which == max_streams - 1) {
    begin += bytes;
    bytes = begin <= end ? end - begin : 0;
  }
  if (begin > end || bytes > end - begin) return false;
  to = {.begin = begin,
        .end = begin + bytes,
        .to = text + std::size_t{which} * part,
        .count = which == max_streams - 1 ? block.literal_bytes - 3 * part : part};
  return true;
}

// Phase 6 reads whole words.
template <class Team>
GPUHIST_HOST_DEVICE void pad_literals(const Team& team, const batch_buffers& batch, const decoded_block& block) {
  const std::uint32_t end = block.literals_at + block.literal_bytes;
  for (std::uint32_t i = end + team.rank(); i < (end + 3) / 4 * 4; i += Team::size) batch.literals[i] = 0;
}

template <class Team>
GPUHIST_HOST_DEVICE void fill_literals(const Team& team, const batch_buffers& batch, const decoded_block& block) {
  const auto byte = static_cast<std::uint8_t>(byte_at(batch.compressed, block.streams_at));
  for (std::uint32_t i = team.rank(); i < block.literal_bytes; i += Team::size) {
    batch.literals[block.literals_at + i] = byte;
  }
}

/// Phase 3 for block `index`. `table` is memory of the team.
template <class Team>
GPUHIST_HOST_DEVICE void decode_literals(const Team& team, const batch_buffers& batch, std::uint32_t index,
                                         huffman_table& table) {
  decoded_block& block = batch.decoded[index];
  if (batch.blocks[index].type != block_type::compressed || block.is != verdict::decoded) return;
  if (block.literals == literals_type::run) {
    fill_literals(team, batch, block);
    pad_literals(team, batch, block);
  }
  if (block.literals != literals_type::huffman) return;
  const block_codes& codes = batch.codes[block.tree_block];
  build_huffman_table(team, codes, table);
  for (unsigned i = team.rank(); i < block.streams; i += Team::size) {
    huffman_stream stream;
    const bool decoded = locate_stream(batch, block, i, stream) &&
                         decode_stream(batch.compressed, stream, table.entries, codes.tree_log);
    if (!decoded) block.is = verdict::huffman_stream;
  }
  pad_literals(team, batch, block);
  team.sync();
}

}  // namespace gpuhist::gpu::cuda::zstd
