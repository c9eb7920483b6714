// Phase 4: the sequences of a block (RFC 8878, 3.1.1.3.2). Four threads for each block: one for each of the three
// codes, and one that fetches the bits. Lengths become positions in the text and the literals of the block, so that no
// later phase needs a prefix sum. Repeated offsets at the begin of a block are not known yet: encoded_offset says which
// one it is.
//
// The bits of one sequence, from high to low addresses; each thread reads two of the six fields:
//
//     | offset | match length | literals length | next state of literals | of matches | of offsets |
#pragma once

#include "gpu/cuda/zstd/bits.hpp"
#include "gpu/cuda/zstd/descriptions.hpp"
#include "gpu/cuda/zstd/encoded.hpp"
#include "gpu/cuda/zstd/fse.hpp"

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda_pipeline_primitives.h>
#endif

namespace gpuhist::gpu::cuda::zstd {

/// The lengths that a code of literal lengths or match lengths means: from `first` on, by the value of its extra bits.
struct code_meaning {
  std::uint32_t value;

  static constexpr code_meaning make(std::uint32_t first, std::uint32_t extra) { return {first << 5U | extra}; }
  GPUHIST_HOST_DEVICE constexpr std::uint32_t first() const { return value >> 5U; }
  GPUHIST_HOST_DEVICE constexpr std::uint32_t extra() const { return value & 31U; }
};

/// The meanings of the codes, and the predefined distributions (RFC 8878, 3.1.1.3.2.1.1 and 3.1.1.3.2.2). On the device
/// it lies in shared memory: threads use different places of it at the same time.
struct code_meanings {
  code_meaning literals[36];
  code_meaning matches[53];
  std::int8_t predefined[code_kinds][max_code_symbols];

  static constexpr code_meanings make();
};

constexpr code_meanings code_meanings::make() {
  constexpr std::uint8_t literal_bits[36] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  1,  1,
                                             1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  constexpr std::uint8_t match_bits[53] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0, 0,
                                           0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  1,  1,  1, 1,
                                           2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  constexpr std::int8_t counts[code_kinds][max_code_symbols] = {
      {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1},
      {1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1},
      {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
       1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1}};
  code_meanings all{};
  std::uint32_t length = 0;
  for (unsigned i = 0; i < 36; ++i) {
    all.literals[i] = code_meaning::make(length, literal_bits[i]);
    length += 1U << literal_bits[i];
  }
  length = 3;
  for (unsigned i = 0; i < 53; ++i) {
    all.matches[i] = code_meaning::make(length, match_bits[i]);
    length += 1U << match_bits[i];
  }
  for (unsigned kind = 0; kind < code_kinds; ++kind) {
    for (unsigned i = 0; i < max_code_symbols; ++i) all.predefined[kind][i] = counts[kind][i];
  }
  return all;
}

constexpr unsigned sum_of(unsigned kind) {
  const code_meanings all = code_meanings::make();
  unsigned sum = 0;
  for (const std::int8_t count : all.predefined[kind]) sum += count < 0 ? 1U : static_cast<unsigned char>(count);
  return sum;
}
static_assert(sum_of(literals_code) == 64 && sum_of(offset_code) == 32 && sum_of(match_code) == 64);
static_assert(code_meanings::make().literals[24].first() == 48 && code_meanings::make().literals[35].first() == 65536);
static_assert(code_meanings::make().matches[42].first() == 99 && code_meanings::make().matches[52].first() == 65539);

/// Memory of the team of a block: its decoding tables and a window of its bits.
struct sequence_memory {
  static constexpr unsigned table_entries = 512;
  static constexpr std::int32_t window_quads = 16;

  alignas(16) std::uint32_t window[4 * window_quads];
  fse_entry literals[table_entries];
  fse_entry matches[table_entries];
  fse_entry offsets[table_entries / 2];
  std::uint8_t logs[code_kinds];

  GPUHIST_HOST_DEVICE fse_entry* table(unsigned kind) {
    return kind == literals_code ? literals : kind == offset_code ? offsets : matches;
  }
};

/// The three codes of a sequence, as all threads of a team know them after an exchange.
struct code_values {
  std::uint32_t of[code_kinds];
};

// NOLINTBEGIN(readability-convert-member-functions-to-static): as the members of the other team
/// The team of the host: one thread has all codes.
struct lone_decoder {
  static constexpr unsigned own_codes = code_kinds;

  GPUHIST_HOST_DEVICE unsigned kind(unsigned own) const { return own; }
  GPUHIST_HOST_DEVICE bool decodes() const { return true; }
  GPUHIST_HOST_DEVICE bool writes() const { return true; }
  GPUHIST_HOST_DEVICE void sync() const {}
  GPUHIST_HOST_DEVICE bool any(bool is) const { return is; }
  GPUHIST_HOST_DEVICE code_values exchange(const std::uint32_t (&own)[own_codes]) const {
    return {{own[0], own[1], own[2]}};
    // NOLINTEND(readability-convert-member-functions-to-static)
  }
};

/// For a team without a block, which decodes along.
GPUHIST_HOST_DEVICE inline void clear_sequence_table(unsigned kind, sequence_memory& memory) {
  memory.table(kind)[0] = fse_entry::make(0, 1);
  memory.logs[kind] = 0;
}

/// A stream that is read from its last bit to its first. Bits are numbered from the begin of the quad of words that has
/// the first one.
struct bit_range {
  const std::uint32_t* words;  ///< aligned to a quad
  std::int32_t begin;
  std::int32_t end;

  /// The bytes [from, to) of `all`. False: there are none, or the last one is zero.
  GPUHIST_HOST_DEVICE bool locate(const std::uint32_t* all, std::uint32_t from, std::uint32_t to) {
    if (from >= to) return false;
    const std::uint32_t last = byte_at(all, to - 1);
    if (last == 0) return false;
    words = all + std::size_t{from / 16} * 4;
    begin = static_cast<std::int32_t>(from % 16 * 8);
    end = static_cast<std::int32_t>((to - 1 - from / 16 * 16) * 8 + highest_bit(last));
    return true;
  }
};

/// The bits of a block, which the host reads where they are.
class direct_bits {
 public:
  GPUHIST_HOST_DEVICE direct_bits(const lone_decoder&, std::uint32_t*, const bit_range& range) : words_(range.words) {}

  /// `count` bits, 0 to 31, from bit `low` on. They have no meaning if `low` is before the begin of the stream.
  GPUHIST_HOST_DEVICE std::uint32_t read(std::int32_t low, std::uint32_t count) const {
    if (low < 0) return 0;
    const std::int32_t word = low / 32;
    const std::uint64_t both = std::uint64_t{words_[word + 1]} << 32U | words_[word];
    return static_cast<std::uint32_t>(both >> low % 32) & ((1U << count) - 1);
  }

  GPUHIST_HOST_DEVICE void consumed_to(std::int32_t) {}

 private:
  const std::uint32_t* words_;
};

#if defined(__CUDACC__)
/// Four neighbouring threads of a warp. The fourth has the codes of the third. All teams of the warp take part in every
/// call, also those whose block has ended: masks that are not constant cost more than the decoding.
class quad_decoder {
 public:
  static constexpr unsigned own_codes = 1;
  static constexpr unsigned threads = 4;

  __device__ unsigned rank() const { return threadIdx.x % threads; }
  __device__ unsigned kind(unsigned) const { return rank() < code_kinds ? rank() : code_kinds - 1; }
  __device__ bool decodes() const { return !fetches(); }
  __device__ bool writes() const { return rank() == 0; }
  __device__ bool fetches() const { return rank() == threads - 1; }
  __device__ void sync() const { __syncwarp(); }
  __device__ bool any(bool is) const { return __any_sync(warp, is ? 1 : 0) != 0; }
  __device__ code_values exchange(const std::uint32_t (&own)[own_codes]) const {
    return {{__shfl_sync(warp, own[0], 0, threads), __shfl_sync(warp, own[0], 1, threads),
             __shfl_sync(warp, own[0], 2, threads)}};
  }

 private:
  static constexpr unsigned warp = 0xffffffffU;
};

/// The bits of a block, of which a window is in shared memory. The fetching thread copies one quad of words when there
/// is room, long before it is used, and does not wait for it.
///
///     quads    | ... | next | .... window .... | read already |
class window_bits {
 public:
  __device__ window_bits(const quad_decoder& team, std::uint32_t* window, const bit_range& range)
      : team_(team), window_(window), words_(range.words), next_((range.end >> quad_shift) - quads) {
    for (std::int32_t quad = next_ + quads - static_cast<std::int32_t>(team.rank()); quad > next_ && quad >= 0;
         quad -= static_cast<std::int32_t>(quad_decoder::threads)) {
      *reinterpret_cast<uint4*>(place(quad)) = reinterpret_cast<const uint4*>(words_)[quad];
    }
    team.sync();
  }

  __device__ std::uint32_t read(std::int32_t low, std::uint32_t count) const {
    const auto word = static_cast<std::uint32_t>(low >> 5);
    const std::uint32_t lower = window_[word % words_in_window];
    const std::uint32_t upper = window_[(word + 1) % words_in_window];
    return __funnelshift_r(lower, upper, static_cast<std::uint32_t>(low)) & ((1U << count) - 1);
  }

  /// The bits from `bit` on will not be read again. A sequence has fewer bits than a quad, so that one fetch for each
  /// is enough.
  __device__ void consumed_to(std::int32_t bit) {
    if (next_ >= 0 && bit >> quad_shift < next_ + quads - 1) {
      if (team_.fetches()) __pipeline_memcpy_async(place(next_), words_ + 4 * std::int64_t{next_}, 16);
      --next_;
    }
    __pipeline_commit();
    __pipeline_wait_prior(8);
    team_.sync();
  }

 private:
  static constexpr std::int32_t quads = sequence_memory::window_quads;
  static constexpr std::uint32_t words_in_window = 4 * quads;
  static constexpr unsigned quad_shift = 7;

  __device__ std::uint32_t* place(std::int32_t quad) const { return window_ + 4 * (quad % quads); }

  const quad_decoder& team_;
  std::uint32_t* window_;
  const std::uint32_t* words_;
  std::int32_t next_;  // the next quad to fetch
};
#endif

/// Builds one table of block `index`, which has sequences. The block that describes it may be an earlier one.
GPUHIST_HOST_DEVICE inline void build_sequence_table(const batch_buffers& batch, const decoded_block& block,
                                                     unsigned kind, const code_meanings& meanings,
                                                     sequence_memory& memory) {
  const code_description& described = batch.codes[block.code_block[kind]].codes[kind];
  fse_entry* const table = memory.table(kind);
  if (described.mode == code_mode::run) {
    table[0] = fse_entry::make(described.symbols, 1);
    memory.logs[kind] = 0;
    return;
  }
  std::int16_t counts[max_code_symbols];
  const bool is_described = described.mode == code_mode::described;
  const std::uint32_t symbols = is_described ? described.symbols : kind == offset_code ? 29 : code_symbols(kind);
  const std::uint32_t log = is_described ? described.log : kind == offset_code ? 5 : 6;
  for (std::uint32_t i = 0; i < symbols; ++i) {
    counts[i] = is_described ? described.counts[i] : static_cast<std::int16_t>(meanings.predefined[kind][i]);
  }
  std::uint16_t uses[max_code_symbols];
  build_fse_table(table, uses, counts, symbols, log);
  memory.logs[kind] = static_cast<std::uint8_t>(log);
}

/// The repeated offsets while sequences are decoded, as encoded_offset.
struct offset_history {
  std::uint32_t first = encoded_offset::inherited(0);
  std::uint32_t second = encoded_offset::inherited(1);
  std::uint32_t third = encoded_offset::inherited(2);

  /// The encoded offset for the value of a sequence. False: it is zero or too large. RFC 8878, 3.1.1.5.
  GPUHIST_HOST_DEVICE bool take(std::uint32_t value, bool has_literals, std::uint32_t& offset) {
    if (value >= encoded_offset::inherited_flag + 4) return false;
    const std::uint32_t which = value - (has_literals ? 1U : 0U);  // 0 to 3: a repeated offset
    const bool repeats = value <= 3;
    const bool is_less = repeats && which == 3;
    if (is_less && first == 0) return false;
    const std::uint32_t less = (first & encoded_offset::inherited_flag) != 0 ? first + 1 : first - 1;
    offset = !repeats ? value - 4 : which == 0 ? first : which == 1 ? second : which == 2 ? third : less;
    if (repeats && which == 0) return true;
    if (!repeats || which != 1) third = second;
    second = first;
    first = offset;
    return true;
  }
};

/// The text and literals that sequences cover so far, and where their entries are written.
struct sequence_writer {
  sequence_entry* to = nullptr;
  std::uint32_t literal_bytes = 0;
  std::uint32_t limit = 0;  ///< of the text
  offset_history history{};
  std::uint32_t text = 0;
  std::uint32_t literals = 0;

  /// Writes the entry if `writes`.
  GPUHIST_HOST_DEVICE verdict add(const code_values& sequence, bool writes) {
    const std::uint32_t run = sequence.of[literals_code];
    std::uint32_t offset = 0;
    if (!history.take(sequence.of[offset_code], run != 0, offset)) return verdict::match_offset;
    if (writes) *to = sequence_entry::make(text, literals, offset);
    ++to;
    literals += run;
    text += run + sequence.of[match_code];
    return literals > literal_bytes || text > limit ? verdict::sequences_stream : verdict::decoded;
  }

  /// The entries after the sequences.
  GPUHIST_HOST_DEVICE verdict finish(decoded_block& block, bool writes) {
    block.after = {{history.first, history.second, history.third}};
    block.text_bytes = text + literal_bytes - literals;
    if (block.text_bytes > limit) return verdict::sequences_stream;
    if (writes) {
      to[0] = sequence_entry::make(text, literals, 0);
      to[1] = sequence_entry::make(block.text_bytes, literal_bytes, 0);
    }
    return verdict::decoded;
  }
};

/// What one state says: a value with extra bits, and the bits of the next state.
struct code_step {
  std::uint32_t first;
  std::uint32_t extra;
  fse_entry entry;
  std::uint32_t next_bits;

  /// Both numbers of bits, to exchange them at once.
  GPUHIST_HOST_DEVICE std::uint32_t widths() const { return extra | next_bits << 8U; }
};

/// One code and its state.
struct code_state {
  const fse_entry* table = nullptr;
  const code_meaning* meanings = nullptr;  ///< of any other code for offsets, whose symbols say what they mean
  std::uint32_t log = 0;
  std::uint32_t state = 0;

  GPUHIST_HOST_DEVICE code_step step(unsigned kind) const {
    const fse_entry entry = table[state];
    const std::uint32_t symbol = entry.symbol();
    const code_meaning meaning = meanings[symbol];
    const bool is_offset = kind == offset_code;
    return {is_offset ? 1U << symbol : meaning.first(), is_offset ? symbol : meaning.extra(), entry, entry.bits(log)};
  }
};

/// Where the six fields of a sequence begin. `of` has the widths of the three codes.
struct sequence_fields {
  std::int32_t extra[code_kinds];
  std::int32_t next[code_kinds];

  GPUHIST_HOST_DEVICE static sequence_fields below(std::int32_t bit, const code_values& widths) {
    const auto extra_of = [&](unsigned kind) { return static_cast<std::int32_t>(widths.of[kind] & 255U); };
    const auto next_of = [&](unsigned kind) { return static_cast<std::int32_t>(widths.of[kind] >> 8U); };
    sequence_fields at;
    at.extra[offset_code] = bit - extra_of(offset_code);
    at.extra[match_code] = at.extra[offset_code] - extra_of(match_code);
    at.extra[literals_code] = at.extra[match_code] - extra_of(literals_code);
    at.next[literals_code] = at.extra[literals_code] - next_of(literals_code);
    at.next[match_code] = at.next[literals_code] - next_of(match_code);
    at.next[offset_code] = at.next[match_code] - next_of(offset_code);
    return at;
  }

  GPUHIST_HOST_DEVICE static std::int32_t select(const std::int32_t (&from)[code_kinds], unsigned kind) {
    return kind == literals_code ? from[literals_code] : kind == offset_code ? from[offset_code] : from[match_code];
  }
};

/// The first states, which begin the stream. Returns the bit where the first sequence ends.
template <class Team, class Bits>
GPUHIST_HOST_DEVICE std::int32_t read_states(const Team& team, std::int32_t end, const Bits& bits,
                                             const code_meanings& meanings, sequence_memory& memory,
                                             code_state (&codes)[Team::own_codes]) {
  std::int32_t begins[code_kinds];
  begins[literals_code] = end - memory.logs[literals_code];
  begins[offset_code] = begins[literals_code] - memory.logs[offset_code];
  begins[match_code] = begins[offset_code] - memory.logs[match_code];
  for (unsigned i = 0; i < Team::own_codes; ++i) {
    const unsigned kind = team.kind(i);
    const std::uint32_t log = memory.logs[kind];
    codes[i] = {.table = memory.table(kind),
                .meanings = kind == match_code ? meanings.matches : meanings.literals,
                .log = log,
                .state = bits.read(sequence_fields::select(begins, kind), log)};
  }
  return begins[match_code];
}

/// Decodes the sequences of a block, if it `has_some`. Writes its entries, text_bytes, and the offsets at its end.
template <class Bits, class Team>
GPUHIST_HOST_DEVICE verdict decode_bits(const Team& team, bit_range range, bool has_some, const code_meanings& meanings,
                                        sequence_memory& memory, sequence_writer& writer, std::uint32_t count) {
  Bits bits(team, memory.window, range);
  code_state codes[Team::own_codes];
  std::int32_t bit = read_states(team, range.end, bits, meanings, memory, codes);
  verdict is = verdict::decoded;
  for (bool active = has_some; team.any(active);) {
    code_step steps[Team::own_codes];
    std::uint32_t own[Team::own_codes];
    for (unsigned i = 0; i < Team::own_codes; ++i) {
      steps[i] = codes[i].step(team.kind(i));
      own[i] = steps[i].widths();
    }
    const sequence_fields fields = sequence_fields::below(bit, team.exchange(own));
    std::uint32_t next[Team::own_codes];
    for (unsigned i = 0; i < Team::own_codes; ++i) {
      const unsigned kind = team.kind(i);
      own[i] = steps[i].first + bits.read(sequence_fields::select(fields.extra, kind), steps[i].extra);
      next[i] = bits.read(sequence_fields::select(fields.next, kind), steps[i].next_bits);
    }
    const code_values sequence = team.exchange(own);
    if (active) {
      for (unsigned i = 0; i < Team::own_codes; ++i) {
        codes[i].state = steps[i].entry.next(codes[i].log, steps[i].next_bits, next[i]);
      }
      is = writer.add(sequence, team.writes());
      --count;
      bit = count == 0 ? fields.extra[literals_code] : fields.next[offset_code];
      active = is == verdict::decoded && count != 0 && bit >= range.begin;
    }
    bits.consumed_to(bit);
  }
  if (is == verdict::decoded && bit != range.begin) return verdict::sequences_stream;
  return is;
}

/// A compressed block whose text is its literals.
GPUHIST_HOST_DEVICE inline void decode_no_sequences(const batch_buffers& batch, decoded_block& block) {
  sequence_entry* const to = batch.sequences + block.sequences_at;
  to[0] = sequence_entry::make(0, 0, 0);
  to[1] = sequence_entry::make(block.literal_bytes, block.literal_bytes, 0);
  block.text_bytes = block.literal_bytes;
}

/// Phase 4 for block `index`, if there is one. All threads of the team call it.
template <class Bits, class Team>
GPUHIST_HOST_DEVICE void decode_sequences(const Team& team, const batch_buffers& batch, std::uint32_t index,
                                          const code_meanings& meanings, sequence_memory& memory) {
  decoded_block block{};
  bit_range range{batch.compressed, 0, 0};
  sequence_writer writer{};
  const bool is_compressed = index < batch.block_count && batch.blocks[index].type == block_type::compressed &&
                             batch.decoded[index].is == verdict::decoded;
  bool has_some = false;
  if (is_compressed) {
    const encoded_block place = batch.blocks[index];
    block = batch.decoded[index];
    block.after = {{encoded_offset::inherited(0), encoded_offset::inherited(1), encoded_offset::inherited(2)}};
    if (block.sequence_count == 0) {
      if (team.writes()) decode_no_sequences(batch, block);
    } else {
      has_some = range.locate(batch.compressed, block.bits_at, place.at + place.bytes);
      if (!has_some) block.is = verdict::sequences_stream;
      writer = {.to = batch.sequences + block.sequences_at,
                .literal_bytes = block.literal_bytes,
                .limit = batch.frames[place.frame].block_limit};
    }
  }
  for (unsigned i = 0; i < Team::own_codes && team.decodes(); ++i) {
    if (has_some)
      build_sequence_table(batch, block, team.kind(i), meanings, memory);
    else
      clear_sequence_table(team.kind(i), memory);
  }
  team.sync();
  const verdict is = decode_bits<Bits>(team, range, has_some, meanings, memory, writer, block.sequence_count);
  if (has_some) block.is = is == verdict::decoded ? writer.finish(block, team.writes()) : is;
  if (is_compressed && team.writes()) batch.decoded[index] = block;
}

}  // namespace gpuhist::gpu::cuda::zstd
