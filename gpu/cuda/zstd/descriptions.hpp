// Phase 1: what a compressed block describes before its bit streams: sizes, distributions, the Huffman tree. One thread
// for each block.
#pragma once

#include "gpu/cuda/zstd/bits.hpp"
#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/fse.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::zstd {

inline constexpr std::uint32_t max_tree_log = 11;
inline constexpr std::uint32_t max_weight_log = 6;
inline constexpr std::uint32_t max_weights = 255;  // described; the last one is deduced

/// The bytes [at, end) of a block that are not parsed yet.
struct unparsed {
  const std::uint32_t* words;
  std::uint32_t at;
  std::uint32_t end;

  GPUHIST_HOST_DEVICE std::uint32_t size() const { return end - at; }
  GPUHIST_HOST_DEVICE std::uint32_t byte(std::uint32_t offset) const { return byte_at(words, at + offset); }
};

// The weights are FSE-coded with two states, which take turns, until the stream has no more bits (RFC 8878, 4.2.1.2).
GPUHIST_HOST_DEVICE inline bool read_coded_weights(unparsed coded, block_codes& to) {
  std::int16_t counts[max_tree_log + 2];
  distribution_reader reader{.counts = counts, .max_symbols = max_tree_log + 2, .max_log = max_weight_log};
  if (!reader.read(coded.words, coded.at, coded.end)) return false;
  fse_entry table[1U << max_weight_log];
  std::uint16_t uses[max_tree_log + 2];
  build_fse_table(table, uses, counts, reader.symbols, reader.log);
  backward_bits bits;
  if (!bits.open(coded.words, coded.at + reader.bytes, coded.end)) return false;
  bits.refill();
  std::uint32_t states[2];
  states[0] = bits.read(reader.log);
  states[1] = bits.read(reader.log);
  if (bits.remaining() < 0) return false;
  for (std::uint32_t count = 0; count < max_weights - 1; ++count) {
    const fse_entry entry = table[states[count % 2]];
    to.weights[count] = static_cast<std::uint8_t>(entry.symbol());
    bits.refill();
    const std::uint32_t width = entry.bits(reader.log);
    states[count % 2] = entry.next(reader.log, width, bits.read(width));
    if (bits.remaining() >= 0) continue;
    to.weights[count + 1] = static_cast<std::uint8_t>(table[states[(count + 1) % 2]].symbol());
    to.weight_count = static_cast<std::uint16_t>(count + 2);
    return true;
  }
  return false;
}

// The last weight makes the sum a power of two (RFC 8878, 4.2.1).
GPUHIST_HOST_DEVICE inline bool deduce_last_weight(block_codes& to) {
  std::uint32_t sum = 0;
  std::uint32_t ones = 0;
  for (std::uint32_t i = 0; i < to.weight_count; ++i) {
    const std::uint32_t weight = to.weights[i];
    if (weight > max_tree_log) return false;
    if (weight != 0) sum += 1U << (weight - 1);
    ones += weight == 1 ? 1U : 0U;
  }
  if (sum == 0) return false;
  const std::uint32_t log = highest_bit(sum) + 1;
  const std::uint32_t rest = (1U << log) - sum;
  if (log > max_tree_log || (rest & (rest - 1)) != 0) return false;
  const std::uint32_t last = highest_bit(rest) + 1;
  ones += last == 1 ? 1U : 0U;
  if (ones < 2 || ones % 2 != 0) return false;
  to.weights[to.weight_count++] = static_cast<std::uint8_t>(last);
  to.tree_log = static_cast<std::uint8_t>(log);
  return true;
}

/// Reads the description of a Huffman tree (RFC 8878, 4.2.1) and moves `from` past it.
GPUHIST_HOST_DEVICE inline bool read_tree(unparsed& from, block_codes& to) {
  if (from.size() == 0) return false;
  const std::uint32_t head = from.byte(0);
  ++from.at;
  if (head >= 128) {
    const std::uint32_t count = head - 127;
    const std::uint32_t bytes = (count + 1) / 2;
    if (bytes > from.size()) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
      to.weights[i] = static_cast<std::uint8_t>(from.byte(i / 2) >> (i % 2 == 0 ? 4U : 0U) & 15U);
    }
    to.weight_count = static_cast<std::uint16_t>(count);
    from.at += bytes;
  } else {
    if (head > from.size()) return false;
    if (!read_coded_weights({.words = from.words, .at = from.at, .end = from.at + head}, to)) return false;
    from.at += head;
  }
  return deduce_last_weight(to);
}

struct literals_header {
  std::uint32_t type;
  std::uint32_t streams;
  std::uint32_t decoded;
  std::uint32_t encoded;
  std::uint32_t header;

  /// RFC 8878, 3.1.1.3.1.1. Precondition: there is a byte.
  ///
  ///     raw, run           | type 2 | format 1 | size 5 |         format x0: 1 byte, 01: 2 bytes, 11: 3 bytes
  ///     Huffman, treeless  | type 2 | format 2 | decoded | encoded |   00, 01: 10 bits each, 10: 14, 11: 18
  GPUHIST_HOST_DEVICE static bool read(const unparsed& from, literals_header& to) {
    const std::uint32_t first = from.byte(0);
    const std::uint32_t format = first >> 2U & 3U;
    to.type = first & 3U;
    const bool plain = to.type < 2;
    to.header = plain ? (format % 2 == 0 ? 1 : format == 1 ? 2 : 3) : (format < 2 ? 3 : format + 2);
    if (to.header > from.size()) return false;
    std::uint64_t bits = 0;
    for (std::uint32_t i = 0; i < to.header; ++i) bits |= std::uint64_t{from.byte(i)} << (8 * i);
    if (plain) {
      to.decoded = static_cast<std::uint32_t>(bits >> (to.header == 1 ? 3U : 4U));
      to.encoded = to.type == 0 ? to.decoded : 1;
      to.streams = 1;
      return true;
    }
    const std::uint32_t width = format < 2 ? 10 : format == 2 ? 14 : 18;
    to.decoded = static_cast<std::uint32_t>(bits >> 4U) & ((1U << width) - 1);
    to.encoded = static_cast<std::uint32_t>(bits >> (4 + width)) & ((1U << width) - 1);
    to.streams = format == 0 ? 1 : 4;
    return true;
  }
};

/// The literals section. Moves `from` past it.
GPUHIST_HOST_DEVICE inline verdict describe_literals(unparsed& from, std::uint32_t block_limit, block_codes& codes,
                                                     decoded_block& to) {
  literals_header head;
  if (from.size() == 0 || !literals_header::read(from, head)) return verdict::literals_header;
  from.at += head.header;
  if (head.decoded > block_limit || head.encoded > from.size()) return verdict::literals_header;
  unparsed section{.words = from.words, .at = from.at, .end = from.at + head.encoded};
  from.at = section.end;
  to.literal_bytes = head.decoded;
  to.streams = static_cast<std::uint8_t>(head.streams);
  if (head.type < 2) {
    to.literals = head.type == 0 ? literals_type::raw : literals_type::run;
    to.literals_at = section.at;
    return verdict::decoded;
  }
  to.literals = literals_type::huffman;
  to.reuses_tree = head.type == 3 ? 1 : 0;
  if (head.streams == 4 && head.decoded < 6) return verdict::literals_header;
  if (head.decoded == 0) return verdict::literals_header;
  if (head.type == 2 && !read_tree(section, codes)) return verdict::huffman_tree;
  to.streams_at = section.at;
  to.streams_bytes = section.size();
  return verdict::decoded;
}

/// The maximum logarithm of the table of a code, and its number of symbols (RFC 8878, 3.1.1.3.2.1).
GPUHIST_HOST_DEVICE inline std::uint32_t max_code_log(unsigned kind) { return kind == offset_code ? 8 : 9; }
GPUHIST_HOST_DEVICE inline std::uint32_t code_symbols(unsigned kind) {
  return kind == literals_code ? 36 : kind == offset_code ? 32 : 53;
}

/// One of the three codes. Moves `from` past its description.
GPUHIST_HOST_DEVICE inline bool describe_code(unparsed& from, unsigned kind, std::uint32_t mode, code_description& to) {
  to.mode = static_cast<code_mode>(mode);
  if (to.mode == code_mode::run) {
    if (from.size() == 0 || from.byte(0) >= code_symbols(kind)) return false;
    to.symbols = static_cast<std::uint8_t>(from.byte(0));
    ++from.at;
  } else if (to.mode == code_mode::described) {
    distribution_reader reader{.counts = to.counts, .max_symbols = code_symbols(kind), .max_log = max_code_log(kind)};
    if (!reader.read(from.words, from.at, from.end)) return false;
    to.symbols = static_cast<std::uint8_t>(reader.symbols);
    to.log = static_cast<std::uint8_t>(reader.log);
    from.at += reader.bytes;
  }
  return true;
}

/// The sequences section: number of sequences and codes. `from` has the rest of the block.
GPUHIST_HOST_DEVICE inline verdict describe_sequences(unparsed& from, block_codes& codes, decoded_block& to) {
  if (from.size() == 0) return verdict::sequences_header;
  const std::uint32_t first = from.byte(0);
  const std::uint32_t bytes = first < 128 ? 1 : first < 255 ? 2 : 3;
  if (bytes > from.size()) return verdict::sequences_header;
  std::uint32_t count = first;
  if (bytes == 2) count = (first - 128) * 256 + from.byte(1);
  if (bytes == 3) count = from.byte(1) + from.byte(2) * 256 + 0x7f00;
  from.at += bytes;
  to.sequence_count = count;
  // some versions of libzstd reject a zero of two bytes
  if (count == 0) return from.size() == 0 && bytes == 1 ? verdict::decoded : verdict::sequences_header;
  if (from.size() == 0 || (from.byte(0) & 3U) != 0) return verdict::sequences_header;
  const std::uint32_t modes = from.byte(0);
  ++from.at;
  for (unsigned kind = 0; kind < code_kinds; ++kind) {
    if (!describe_code(from, kind, modes >> (6 - 2 * kind) & 3U, codes.codes[kind])) return verdict::distribution;
  }
  to.bits_at = from.at;
  return verdict::decoded;
}

/// Takes `amount` of a buffer that all blocks share. False: there is not that much left.
GPUHIST_HOST_DEVICE inline bool take_room(std::uint64_t* used, std::uint32_t amount, std::uint32_t room,
                                          std::uint32_t& at) {
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  const std::uint64_t begin = atomicAdd(reinterpret_cast<unsigned long long*>(used), amount);
#else
  const std::uint64_t begin = *used;
  *used += amount;
#endif
  at = static_cast<std::uint32_t>(begin);
  return begin + amount <= room;
}

/// Places its literals and sequences in the buffers of the batch.
GPUHIST_HOST_DEVICE inline verdict reserve(const batch_buffers& batch, decoded_block& to) {
  if (to.literals != literals_type::raw) {
    const std::uint32_t rounded = (to.literal_bytes + 15) / 16 * 16;
    to.streams_at = to.literals == literals_type::run ? to.literals_at : to.streams_at;
    if (!take_room(batch.used, rounded, batch.literal_room, to.literals_at)) return verdict::no_room;
  }
  const std::uint32_t entries = to.sequence_count + 2;
  return take_room(batch.used + 1, entries, batch.sequence_room, to.sequences_at) ? verdict::decoded : verdict::no_room;
}

/// Phase 1 for block `index`: writes batch.codes[index] and batch.decoded[index].
GPUHIST_HOST_DEVICE inline void describe_block(const batch_buffers& batch, std::uint32_t index) {
  const encoded_block block = batch.blocks[index];
  if (block.type == block_type::carried || block.type == block_type::member) return;
  const std::uint32_t limit = batch.frames[block.frame].block_limit;
  block_codes& codes = batch.codes[index];
  codes.tree_log = 0;
  for (code_description& each : codes.codes) each.mode = code_mode::repeated;  // phase 2 reads it of every block
  decoded_block to{};
  to.is = block.bytes > limit ? verdict::block_size : verdict::decoded;
  to.text_bytes = block.bytes;  // of a raw block and of a run
  if (block.type == block_type::compressed && to.is == verdict::decoded) {
    unparsed rest{.words = batch.compressed, .at = block.at, .end = block.at + block.bytes};
    to.is = describe_literals(rest, limit, codes, to);
    if (to.is == verdict::decoded) to.is = describe_sequences(rest, codes, to);
    if (to.is == verdict::decoded) to.is = reserve(batch, to);
  }
  batch.decoded[index] = to;
}

/// What a block uses and describes.
struct block_uses {
  bool has_tree = false;
  bool has_codes = false;
  bool describes_tree = false;
  bool describes_code[code_kinds] = {};

  GPUHIST_HOST_DEVICE static block_uses of(const batch_buffers& batch, std::uint32_t index) {
    const decoded_block& block = batch.decoded[index];
    const auto& codes = batch.codes[index].codes;
    const bool is_compressed =
        batch.blocks[index].type == block_type::compressed && block.is == verdict::decoded;  // and not rejected
    const bool is_carried = batch.blocks[index].type == block_type::carried;
    block_uses uses;
    uses.has_tree = is_compressed && block.literals == literals_type::huffman;
    uses.has_codes = is_compressed && block.sequence_count != 0;
    uses.describes_tree = is_carried ? batch.codes[index].tree_log != 0 : uses.has_tree && block.reuses_tree == 0;
    for (unsigned kind = 0; kind < code_kinds; ++kind) {
      uses.describes_code[kind] = (is_carried || uses.has_codes) && codes[kind].mode != code_mode::repeated;
    }
    return uses;
  }
};

/// The last block of a frame, up to the own block of each thread, that describes something. 0: none does; otherwise its
/// index, plus 1.
template <class Team>
class last_description {
 public:
  /// The blocks of the team follow each other, and those of its call before. All threads call it.
  GPUHIST_HOST_DEVICE std::uint32_t next(const Team& team, std::uint32_t own, bool describes) {
    std::uint32_t last = describes ? own + 1 : before_;
    for (unsigned distance = 1; distance < Team::size; distance *= 2) {
      const std::uint32_t lower = team.from_lower(last, distance);
      if (team.rank() >= distance && lower > last) last = lower;
    }
    before_ = team.value_of(last, Team::size - 1);
    return last;
  }

  /// Of all blocks so far.
  GPUHIST_HOST_DEVICE std::uint32_t of_all() const { return before_; }

 private:
  std::uint32_t before_ = 0;
};

/// Phase 2, a team for each frame: finds for each block the earlier blocks whose tree and codes it uses. Each thread
/// has one of several blocks that follow each other.
template <class Team>
GPUHIST_HOST_DEVICE void resolve_references(const Team& team, const batch_buffers& batch, std::uint32_t index) {
  const encoded_frame& frame = batch.frames[index];
  const std::uint32_t end = frame.first_block + frame.block_count;
  last_description<Team> tree;
  last_description<Team> codes[code_kinds];
  for (std::uint32_t first = frame.first_block; first < end; first += Team::size) {
    const std::uint32_t own = first + team.rank();
    const block_uses uses = own < end ? block_uses::of(batch, own) : block_uses();
    const std::uint32_t tree_of = tree.next(team, own, uses.describes_tree);
    if (uses.has_tree) {
      batch.decoded[own].tree_block = tree_of - 1;
      if (tree_of == 0) batch.decoded[own].is = verdict::huffman_tree;
    }
    for (unsigned kind = 0; kind < code_kinds; ++kind) {
      const std::uint32_t code_of = codes[kind].next(team, own, uses.describes_code[kind]);
      if (!uses.has_codes) continue;
      batch.decoded[own].code_block[kind] = code_of - 1;
      if (code_of == 0) batch.decoded[own].is = verdict::distribution;
    }
  }
}

}  // namespace gpuhist::gpu::cuda::zstd
