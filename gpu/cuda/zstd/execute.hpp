// Phase 6: the text of a frame from its literals and matches. A team of threads for each frame; the blocks of a frame
// in order, each in tiles. A byte of a tile is a literal, a byte before the tile, or a copy of an earlier byte of the
// tile. Such copies form chains, which all threads shorten together: in each round a byte that refers to another
// reference takes its target, so that a chain of length n needs log2(n) rounds (pointer jumping: Wyllie, 1979).
//
//     text     | ... before the tile | a b c d e f g h i j k l m n o p |
//     tile                             A B C 0 1 2 3 4 5 X Y Z 9 9 9 9     letters: known; numbers: index in the tile
//     round 1                          A B C A B C 0 1 2 X Y Z X X X X
//     round 2                          A B C A B C A B C X Y Z X X X X
//
// Each thread keeps its bytes in registers, in groups of four; the copy in shared memory is for the references of
// others.
#pragma once

#include "gpu/cuda/zstd/bits.hpp"
#include "gpu/cuda/zstd/encoded.hpp"

#include <cstdint>
#include <cstring>

namespace gpuhist::gpu::cuda::zstd {

/// Where the bytes of one sequence come from. Places are indices in the tile; those before the tile are negative.
struct alignas(16) sequence_source {
  std::int32_t match_at;  ///< literals are before it, the match is after it
  std::int32_t end;
  std::int32_t literals;  ///< added to the place of a literal it gives the index of the literal
  std::int32_t offset;    ///< of the match
};

/// 32 bytes of a tile.
struct tile_word {
  std::uint32_t begins;  ///< a bit for each byte: a sequence begins there
  std::uint32_t source;  ///< of the first byte: index in `sources`
};

/// Memory that a team shares.
template <unsigned TileBytes, unsigned TileSequences, class Output>
struct execute_memory {
  using output = Output;
  static constexpr unsigned tile_bytes = TileBytes;
  static constexpr unsigned tile_sequences = TileSequences;
  static constexpr unsigned words = TileBytes / 32;
  static_assert(TileBytes % 32 == 0 && TileBytes <= 0x8000);

  alignas(16) typename Output::group::element bytes[TileBytes];
  sequence_source sources[TileSequences];
  tile_word word[words];
  std::uint32_t last;  ///< the last sequence of the tile: index in `sources`
};

inline constexpr std::uint16_t known_byte = 0x8000;

GPUHIST_HOST_DEVICE inline std::uint32_t count_bits(std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popc(value));
#else
  return static_cast<std::uint32_t>(__builtin_popcount(value));
#endif
}

GPUHIST_HOST_DEVICE inline std::uint32_t lesser(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }
GPUHIST_HOST_DEVICE inline std::uint32_t greater(std::uint32_t a, std::uint32_t b) { return a < b ? b : a; }

/// A compressed block of a frame, as phase 6 uses it.
struct block_text {
  const sequence_entry* entries;
  std::uint32_t entry_count;  ///< sequences and the last literals; one more entry follows
  const std::uint8_t* literals;
  std::uint32_t bytes;
  std::uint64_t max_offset;  ///< at the begin of the block: the text of the frame so far
  std::uint64_t window_bytes;
  repeated_offsets before;

  GPUHIST_HOST_DEVICE static block_text of(const batch_buffers& batch, std::uint32_t index) {
    const decoded_block& block = batch.decoded[index];
    const encoded_frame& frame = batch.frames[batch.blocks[index].frame];
    const auto* const compressed = reinterpret_cast<const std::uint8_t*>(batch.compressed);
    const bool is_raw = block.literals == literals_type::raw;
    return {.entries = batch.sequences + block.sequences_at,
            .entry_count = block.sequence_count + 1,
            .literals = (is_raw ? compressed : batch.literals) + block.literals_at,
            .bytes = block.text_bytes,
            .max_offset = block.frame_offset,
            .window_bytes = frame.window_bytes,
            .before = block.before};
  }
};

/// For loads and stores of four neighbours of execute_memory::bytes.
using group_word [[gnu::may_alias]] = std::uint64_t;

/// Four bytes of a tile, as execute_memory::bytes has them: known_byte | value, or the index of an earlier byte.
struct byte_group {
  using element = std::uint16_t;

  std::uint64_t bytes = 0;

  static constexpr unsigned size = 4;

  /// Replaces the bytes from `at` on.
  GPUHIST_HOST_DEVICE void put(byte_group from, std::uint32_t at) {
    const std::uint64_t kept = (std::uint64_t{1} << (16 * at)) - 1;
    bytes = (bytes & kept) | from.bytes << (16 * at);
  }

  GPUHIST_HOST_DEVICE void store(element* to) const { *reinterpret_cast<group_word*>(to) = bytes; }

  /// Each reference replaced by its target.
  GPUHIST_HOST_DEVICE byte_group followed(const element* tile) const {
    std::uint64_t next = 0;
    for (unsigned i = 0; i < size; ++i) {
      const auto byte = static_cast<element>(bytes >> (16 * i));
      next |= std::uint64_t{(byte & known_byte) != 0 ? byte : tile[byte]} << (16 * i);
    }
    return {next};
  }

  GPUHIST_HOST_DEVICE bool all_known() const { return (~bytes & known_flags) == 0; }

  GPUHIST_HOST_DEVICE static byte_group references(std::uint32_t first) {
    const std::uint32_t low = first | (first + 1) << 16U;
    return {std::uint64_t{low + 0x00020002U} << 32U | low};
  }

  GPUHIST_HOST_DEVICE static byte_group known(std::uint32_t values) {
#if defined(__CUDA_ARCH__)
    const std::uint32_t low = __byte_perm(values, 0x80, 0x4140);
    const std::uint32_t high = __byte_perm(values, 0x80, 0x4342);
#else
    const std::uint32_t low = (values & 0xffU) | (values & 0xff00U) << 8U;
    const std::uint32_t high = (values >> 16U & 0xffU) | values >> 24U << 16U;
#endif
    return {(std::uint64_t{high} << 32U | low) | known_flags};
  }

  /// The values of four known bytes.
  GPUHIST_HOST_DEVICE std::uint32_t values() const {
    const auto low = static_cast<std::uint32_t>(bytes);
    const auto high = static_cast<std::uint32_t>(bytes >> 32U);
#if defined(__CUDA_ARCH__)
    return __byte_perm(low, high, 0x6420);
#else
    return (low & 0xffU) | (low >> 8U & 0xff00U) | (high & 0xffU) << 16U | (high & 0xff0000U) << 8U;
#endif
  }

 private:
  static constexpr std::uint64_t known_flags = known_byte * 0x0001000100010001U;
};

/// `count` bytes, 1 to 4, from any address, in the low bits. Reads only words that have some of them.
GPUHIST_HOST_DEVICE inline std::uint32_t load_bytes(const std::uint8_t* from, std::uint32_t count) {
#if defined(__CUDA_ARCH__)
  const auto place = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from)) % 4;
  const auto* const words = reinterpret_cast<const std::uint32_t*>(from - place);
  const std::uint32_t low = words[0];
  const std::uint32_t high = place + count > 4 ? words[1] : 0;
  return __funnelshift_r(low, high, 8 * place);
#else
  std::uint32_t value = 0;
  std::memcpy(&value, from, count);
  return value;
#endif
}

/// Writes the bytes of the text.
struct byte_output {
  using group = byte_group;

  std::uint8_t* to;

  GPUHIST_HOST_DEVICE byte_output after(std::uint32_t bytes) const { return {to + bytes}; }

  /// At most how many bytes from `at` on, which is negative, load() returns at once.
  GPUHIST_HOST_DEVICE static std::uint32_t run_from(std::int32_t at) { return static_cast<std::uint32_t>(-at); }
  /// Bytes from `at` on, of the literals or of the text before.
  GPUHIST_HOST_DEVICE byte_group load(bool is_literal, const std::uint8_t* literals, std::int32_t at,
                                      std::uint32_t count) const {
    return byte_group::known(load_bytes((is_literal ? literals : to) + at, count));
  }

  GPUHIST_HOST_DEVICE bool is_aligned() const { return reinterpret_cast<std::uintptr_t>(to) % byte_group::size == 0; }
  GPUHIST_HOST_DEVICE void store(std::uint32_t at, const byte_group& all) const { store_word(to + at, all.values()); }
  GPUHIST_HOST_DEVICE void store_first(std::uint32_t at, const byte_group& some, std::uint32_t count) const {
    for (unsigned i = 0; i < count; ++i) to[at + i] = static_cast<std::uint8_t>(some.values() >> (8 * i));
  }
  GPUHIST_HOST_DEVICE void store_byte(std::uint32_t at, std::uint8_t byte) const { to[at] = byte; }
};

/// One team and the tile that it works on.
template <class Team, class Memory>
class tile_executor {
 public:
  using output = typename Memory::output;
  using group = typename output::group;

  GPUHIST_HOST_DEVICE tile_executor(const Team& team, Memory& memory) : team_(team), memory_(memory) {
    clear_begins();
    team_.sync();
  }

  /// `to`: of the block. False: an offset is invalid. All threads of the team call it with the same block.
  GPUHIST_HOST_DEVICE bool execute(const block_text& block, const output& to) {
    std::uint32_t entry = 0;  // the one that the first byte of the tile belongs to
    for (tile_range tile{0, 0}; tile.end < block.bytes;) {
      tile = next_tile(block, tile.end, entry);
      if (!mark_entries(block, tile, entry)) return false;
      entry += memory_.last;
      group groups[group_count];
      find_sources({block.literals, to.after(tile.begin)}, tile, groups);
      resolve(groups);
      write(to.after(tile.begin), tile, groups);
    }
    return true;
  }

 private:
  /// The bytes [begin, end) of the text of a block.
  struct tile_range {
    std::uint32_t begin;
    std::uint32_t end;

    GPUHIST_HOST_DEVICE std::uint32_t size() const { return end - begin; }
  };

  /// Where bytes are that are known already: the first literal of the block, the text before the tile.
  struct text_places {
    const std::uint8_t* literals;
    output tile;
  };

  static constexpr unsigned group_count = Memory::tile_bytes / (group::size * Team::size);  // of a thread
  static_assert(Memory::tile_bytes == group_count * group::size * Team::size);

  GPUHIST_HOST_DEVICE std::uint32_t begin_of(unsigned group) const {
    return group::size * (group * Team::size + team_.rank());
  }

  GPUHIST_HOST_DEVICE void clear_begins() {
    for (std::uint32_t i = team_.rank(); i < Memory::words; i += Team::size) memory_.word[i].begins = 0;
  }

  // As much text as fits, with as many sequences as fit. Its first sequence may have begun earlier. Tiles begin at
  // aligned addresses if the block does.
  GPUHIST_HOST_DEVICE static tile_range next_tile(const block_text& block, std::uint32_t begin, std::uint32_t entry) {
    const std::uint32_t after = lesser(entry + Memory::tile_sequences, block.entry_count);
    const std::uint32_t end = lesser(block.entries[after].text(), begin + Memory::tile_bytes);
    const std::uint32_t aligned = end / group::size * group::size;
    return {begin, end < block.bytes && aligned > begin ? aligned : end};
  }

  // Fills `word`, `sources` and `last`. False: an offset is invalid.
  GPUHIST_HOST_DEVICE bool mark_entries(const block_text& block, tile_range tile, std::uint32_t first) {
    bool is_valid = true;
    for (std::uint32_t i = team_.rank(); i < Memory::tile_sequences; i += Team::size) {
      if (first + i >= block.entry_count) break;
      const sequence_entry entry = block.entries[first + i];
      if (entry.text() >= tile.end) break;
      is_valid = mark_entry(block, tile, i, entry, block.entries[first + i + 1]) && is_valid;
    }
    return !team_.any(!is_valid);
  }

  GPUHIST_HOST_DEVICE bool mark_entry(const block_text& block, tile_range tile, std::uint32_t i, sequence_entry entry,
                                      sequence_entry next) {
    const std::uint32_t begin = entry.text() > tile.begin ? entry.text() - tile.begin : 0;
    const std::uint32_t end = lesser(next.text(), tile.end) - tile.begin;
    if (next.text() >= tile.end) memory_.last = i;
    if (begin % 32 != 0) team_.set_bits(memory_.word[begin / 32].begins, 1U << begin % 32);
    for (std::uint32_t word = (begin + 31) / 32; 32 * word < end; ++word) memory_.word[word].source = i;

    const std::uint32_t match_at = entry.text() + next.literals() - entry.literals();
    const std::uint32_t offset = encoded_offset::value(entry.offset(), block.before);
    memory_.sources[i] = {.match_at = static_cast<std::int32_t>(match_at - tile.begin),
                          .end = static_cast<std::int32_t>(end),
                          .literals = static_cast<std::int32_t>(entry.literals() - entry.text() + tile.begin),
                          .offset = static_cast<std::int32_t>(offset)};
    const bool has_match = match_at < next.text();
    return !has_match || (offset != 0 && offset <= block.window_bytes && offset <= block.max_offset + match_at);
  }

  // Bytes after the end of the tile are known.
  GPUHIST_HOST_DEVICE void find_sources(const text_places& places, tile_range tile, group (&groups)[group_count]) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (unsigned i = 0; i < group_count; ++i) {
      const std::uint32_t begin = begin_of(i);
      const std::uint32_t end = lesser(begin + group::size, tile.size());
      groups[i] = group::known(0);
      for (std::uint32_t next = begin; next < end;) {
        const std::uint32_t at = next - begin;
        groups[i].put(source_of(places, next, end), at);
      }
      groups[i].store(&memory_.bytes[begin]);
    }
  }

  // The bytes from `at` to at most `end` that have one source. Moves `at` after them. The values
  // after these bytes have no meaning.
  GPUHIST_HOST_DEVICE group source_of(const text_places& places, std::uint32_t& at, std::uint32_t end) const {
    const tile_word word = memory_.word[at / 32];
    const std::uint32_t until = (2U << at % 32) - 1;
    const sequence_source source = memory_.sources[word.source + count_bits(word.begins & until)];
    const auto place = static_cast<std::int32_t>(at);
    const bool is_literal = place < source.match_at;
    std::uint32_t stop = lesser(end, static_cast<std::uint32_t>(is_literal ? source.match_at : source.end));
    std::int32_t from = place + (is_literal ? source.literals : -source.offset);
    if (!is_literal && place - source.match_at >= source.offset) {  // the match copies its own bytes
      const std::int32_t into = (place - source.match_at) % source.offset;
      from = source.match_at - source.offset + into;
      stop = lesser(stop, at + static_cast<std::uint32_t>(source.offset - into));
    }
    if (!is_literal && from < 0) stop = lesser(stop, at + places.tile.run_from(from));
    const std::uint32_t count = stop - at;
    at = stop;
    if (!is_literal && from >= 0) return group::references(static_cast<std::uint32_t>(from));
    return places.tile.load(is_literal, places.literals, from, count);
  }

  // Makes all bytes known.
  GPUHIST_HOST_DEVICE void resolve(group (&groups)[group_count]) {
    while (team_.any(has_reference(groups))) {
      group next[group_count];
      for (unsigned i = 0; i < group_count; ++i) {
        next[i] = groups[i].all_known() ? groups[i] : groups[i].followed(memory_.bytes);
      }
      if (!team_.any(has_reference(next))) {
        for (unsigned i = 0; i < group_count; ++i) groups[i] = next[i];
        return;
      }
      for (unsigned i = 0; i < group_count; ++i) {
        if (!groups[i].all_known()) next[i].store(&memory_.bytes[begin_of(i)]);
        groups[i] = next[i];
      }
    }
  }

  GPUHIST_HOST_DEVICE static bool has_reference(const group (&groups)[group_count]) {
    bool has = false;
    for (const group& each : groups) has = has || !each.all_known();
    return has;
  }

  GPUHIST_HOST_DEVICE void write(const output& to, tile_range tile, const group (&groups)[group_count]) {
    const bool aligned = to.is_aligned();
    for (unsigned i = 0; i < group_count; ++i) {
      const std::uint32_t begin = begin_of(i);
      if (aligned && begin + group::size <= tile.size()) {
        to.store(begin, groups[i]);
      } else if (begin < tile.size()) {
        to.store_first(begin, groups[i], lesser(group::size, tile.size() - begin));
      }
    }
    clear_begins();
    team_.sync();
  }

  const Team& team_;
  Memory& memory_;
};

/// The text of block `index` of the batch; false: an offset is invalid. All threads of the team call it.
template <class Executor, class Team>
GPUHIST_HOST_DEVICE bool execute_block(const Team& team, const batch_buffers& batch, std::uint32_t index,
                                       Executor& executor, const typename Executor::output& to) {
  const encoded_block place = batch.blocks[index];
  const bool has_sequences = place.type == block_type::compressed || place.type == block_type::member;
  if (has_sequences) return executor.execute(block_text::of(batch, index), to);
  const auto* const from = reinterpret_cast<const std::uint8_t*>(batch.compressed) + place.at;
  const std::uint32_t step = place.type == block_type::raw ? 1 : 0;  // a run has one byte
  for (std::uint32_t i = team.rank(); i < place.bytes; i += Team::size) to.store_byte(i, from[std::size_t{step} * i]);
  team.sync();
  return true;
}

/// Phase 6 for frame `index`, if the phases before have not rejected it. Publishes how much text is written after each
/// block, and all of it at the end, also if the frame is rejected. The text of a frame in parts is written already.
template <class Team, class Memory>
GPUHIST_HOST_DEVICE void execute_frame(const Team& team, const batch_buffers& batch, std::uint32_t index,
                                       Memory& memory) {
  decoded_frame& result = batch.results[index];
  const encoded_frame& frame = batch.frames[index];
  const bool is_in_parts = frame.is_in_parts != 0;
  if (is_in_parts && team.rank() == 0) result.is_executed = 1;
  if (result.is != verdict::decoded) return;
  tile_executor<Team, Memory> executor(team, memory);
  bool is_valid = true;
  const std::uint32_t end = frame.first_block + (is_in_parts ? 0 : frame.block_count);
  for (std::uint32_t i = frame.first_block; is_valid && i < end; ++i) {
    const decoded_block& block = batch.decoded[i];
    is_valid = execute_block(team, batch, i, executor, byte_output{batch.text + frame.text_at + block.frame_offset});
    if (is_valid) team.publish(result.written, static_cast<std::uint32_t>(block.frame_offset + block.text_bytes));
  }
  if (is_valid && !is_in_parts) return;
  if (!is_valid && team.rank() == 0) result.is = verdict::match_offset;
  team.publish(result.written, static_cast<std::uint32_t>(result.text_bytes));
}

}  // namespace gpuhist::gpu::cuda::zstd
