// What the host and the device exchange about zstd frames that are decoded on the device. The host walks the headers of
// frames and blocks and fills encoded_frame and encoded_block; the phases of the decoder fill decoded_block and
// decoded_frame. All offsets are into the three buffers of a batch:
//
//     compressed | ... header | block | block | block ... |    under 4 GiB, aligned to 16, 16 more bytes are readable
//     literals   | of block 0 | of block 2 | ...               raw literals stay in `compressed`
//     text       | of frame 0 ..... | of frame 1 ......... |
#pragma once

#include "gpu/host_device.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::cuda::deflate {
struct portion_block;
}

namespace gpuhist::gpu::cuda::zstd {

inline constexpr std::uint32_t max_block_bytes = std::uint32_t{128} << 10U;
/// Offsets have 27 bits in a sequence. A frame with a larger window is decoded on the host.
inline constexpr std::uint64_t max_window_bytes = std::uint64_t{1} << 27U;
inline constexpr std::uint64_t unknown_size = ~std::uint64_t{0};
/// Carried text begins at a multiple of this in the text of a frame, so that stripes of the checksum are aligned.
inline constexpr std::uint64_t carried_alignment = 32;

/// Why the device did not decode a frame. The host decodes the frame again and has the final say: the device rejects
/// everything that libzstd rejects, and in addition what it does not support.
enum class verdict : std::uint32_t {
  decoded,
  no_room,          ///< in a buffer of the batch: literals, sequences or text
  block_size,       ///< a block is larger than the frame permits
  literals_header,  ///< invalid, or the sizes exceed the block
  huffman_tree,
  huffman_stream,
  sequences_header,
  distribution,      ///< of an FSE table
  sequences_stream,  ///< the bits do not end with the last sequence, or the lengths exceed the block
  match_offset,      ///< zero, before the begin of the frame, beyond the window, or more than 27 bits
  content_size,      ///< the text is not as long as the header of the frame says
  checksum,
};

/// The name of the enumerator, for the messages of tests and benchmarks; "unknown verdict" for other values, which
/// damaged device memory may have.
constexpr const char* name_of(verdict value) {
  constexpr std::array names{"decoded",          "no_room",        "block_size",       "literals_header",
                             "huffman_tree",     "huffman_stream", "sequences_header", "distribution",
                             "sequences_stream", "match_offset",   "content_size",     "checksum"};
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : "unknown verdict";
}

/// `carried`: no block of the archive, but what an earlier step leaves to a later one (steps.hpp).
/// `member`: some text of a gzip member, all of whose blocks have the place of its deflate stream
/// (deflate/portions.hpp).
enum class block_type : std::uint32_t { raw, run, compressed, carried, member };

struct encoded_block {
  std::uint32_t at = 0;     ///< offset of its content in `compressed`
  std::uint32_t bytes = 0;  ///< of its content; for a run: of its text (the content is one byte)
  block_type type = block_type::raw;
  std::uint32_t frame = 0;  ///< its index in the batch
};

struct encoded_frame {
  std::uint64_t text_at = 0;    ///< offset in `text`
  std::uint64_t text_room = 0;  ///< bytes from there that belong to this frame
  std::uint64_t window_bytes = 0;
  std::uint64_t content_bytes = unknown_size;
  std::uint32_t first_block = 0;
  std::uint32_t block_count = 0;
  std::uint32_t block_limit = max_block_bytes;  ///< maximum text of a block: the window, at most 128 KiB
  std::uint32_t has_checksum = 0;
  std::uint32_t checksum = 0;     ///< of a member: the CRC-32 of its text, which the host compares
  std::uint32_t is_in_parts = 0;  ///< phase 6 divides it into parts, see parts.hpp
  // of a gzip member, or of a step of one:
  std::uint32_t portions = 0;      ///< of its stream, see deflate::member_room; 0: a zstd frame
  std::uint32_t literals_at = 0;   ///< in `literals`
  std::uint32_t literal_room = 0;  ///< bytes from there
  std::uint32_t entries_at = 0;    ///< in `sequences`
  std::uint32_t entry_room = 0;    ///< entries from there
  std::uint32_t is_continued = 0;  ///< a later step follows
  std::uint32_t bytes_after = 0;   ///< of the stream after the step, which may be read
};

/// The result for one frame.
struct decoded_frame {
  verdict is = verdict::decoded;
  std::uint32_t block = 0;        ///< where it was rejected: index in the frame
  std::uint64_t text_bytes = 0;   ///< if it was decoded
  std::uint32_t written = 0;      ///< of them by phase 6 so far; phase 7 may run at the same time
  std::uint32_t is_executed = 0;  ///< of a frame in parts: phase 6 has ended, or had nothing to do
  std::uint32_t carried = 0;      ///< of its text, bytes of earlier steps
  std::uint32_t crc32 = 0;        ///< of the text of a member, inverted
};

enum class literals_type : std::uint8_t { raw, run, huffman };
enum class code_mode : std::uint8_t { predefined, run, described, repeated };

/// The three codes of sequences, in the order of their descriptions in a block.
enum code_kind : std::uint8_t { literals_code, offset_code, match_code };
inline constexpr unsigned code_kinds = 3;
inline constexpr unsigned max_code_symbols = 53;

/// The distribution of one of the three codes, as a block describes it.
struct code_description {
  std::int16_t counts[max_code_symbols];  ///< normalized; -1: less than one
  code_mode mode;
  std::uint8_t symbols;  ///< number of counts; for a run: its symbol
  std::uint8_t log;      ///< of the sum of the counts
};

/// What one block describes of its codes. Later blocks of the frame may use it.
struct block_codes {
  code_description codes[code_kinds];
  std::uint16_t weight_count;  ///< of the Huffman tree, the deduced last weight included
  std::uint8_t tree_log;       ///< maximum length of a code; 0: the block describes no tree
  std::uint8_t weights[256];
};

/// The repeated offsets of RFC 8878, 3.1.1.5, at one place of a frame.
struct repeated_offsets {
  std::uint32_t at[3];
};

/// What the numbers of cuts count, where the text of a group of frames is divided.
enum class cut_unit : std::uint8_t { bytes, lines };

/// The state of a block between the phases.
struct decoded_block {
  verdict is;
  std::uint32_t literals_at;             ///< offset in `compressed` if they are raw, else in `literals`
  std::uint32_t literal_bytes;           ///< decoded
  std::uint32_t streams_at;              ///< of Huffman, or the byte of a run: offset in `compressed`
  std::uint32_t streams_bytes;           ///< with the jump table
  std::uint32_t sequences_at;            ///< index of the first entry, see sequence_entry
  std::uint32_t sequence_count;          ///< the entries are two more
  std::uint32_t bits_at;                 ///< of the sequences: offset in `compressed`; they end with the block
  std::uint32_t tree_block;              ///< the block that describes the tree of this one
  std::uint32_t code_block[code_kinds];  ///< the blocks that describe its codes
  literals_type literals;
  std::uint8_t streams;        ///< 1 or 4
  std::uint8_t reuses_tree;    ///< the tree is that of an earlier block
  std::uint32_t text_bytes;    ///< known when the sequences are decoded
  std::uint64_t frame_offset;  ///< of its text in the frame
  repeated_offsets before;     ///< at its begin
  repeated_offsets after;      ///< at its end, as encoded_offset
};

/// One sequence: where its text and its literals begin in the block, and its offset. The lengths follow from the next
/// entry. An entry for the literals after the last sequence and one for the end of the block follow the sequences.
///
///     63          36 35          18 17           0
///     |   offset   |   literals   |     text     |
struct sequence_entry {
  std::uint64_t bits;

  static constexpr unsigned position_bits = 18;
  static constexpr std::uint32_t position_mask = (1U << position_bits) - 1;

  GPUHIST_HOST_DEVICE static sequence_entry make(std::uint32_t text, std::uint32_t literals, std::uint32_t offset) {
    return {std::uint64_t{offset} << (2 * position_bits) | std::uint64_t{literals} << position_bits | text};
  }
  GPUHIST_HOST_DEVICE std::uint32_t text() const { return static_cast<std::uint32_t>(bits) & position_mask; }
  GPUHIST_HOST_DEVICE std::uint32_t literals() const {
    return static_cast<std::uint32_t>(bits >> position_bits) & position_mask;
  }
  GPUHIST_HOST_DEVICE std::uint32_t offset() const { return static_cast<std::uint32_t>(bits >> (2 * position_bits)); }
};

/// An offset that a block knows without its predecessor, or one of the three repeated offsets at its begin, less a
/// number. 28 bits:
///
///     27 26  25 24                0
///     | 0 |   offset - 1          |
///     | 1 | which |  less         |
struct encoded_offset {
  static constexpr std::uint32_t inherited_flag = 1U << 27U;
  static constexpr unsigned which_shift = 25;

  GPUHIST_HOST_DEVICE static std::uint32_t inherited(std::uint32_t which) {
    return inherited_flag | which << which_shift;
  }

  /// The offset `later` of some blocks, after what earlier ones do. Unspecified if it is not positive.
  GPUHIST_HOST_DEVICE static std::uint32_t combined(std::uint32_t later, const repeated_offsets& earlier) {
    if ((later & inherited_flag) == 0) return later;
    const std::uint32_t less = later & ((1U << which_shift) - 1);
    const std::uint32_t from = of(earlier, later >> which_shift & 3U);
    return (from & inherited_flag) != 0 ? from + less : from - less;
  }

  GPUHIST_HOST_DEVICE static repeated_offsets values(const repeated_offsets& encoded, const repeated_offsets& before) {
    return {{value(encoded.at[0], before), value(encoded.at[1], before), value(encoded.at[2], before)}};
  }

  /// Zero if the offset is not positive.
  GPUHIST_HOST_DEVICE static std::uint32_t value(std::uint32_t encoded, const repeated_offsets& before) {
    if ((encoded & inherited_flag) == 0) return encoded + 1;
    const std::uint32_t less = encoded & ((1U << which_shift) - 1);
    const std::uint32_t from = of(before, encoded >> which_shift & 3U);
    return from > less ? from - less : 0;
  }

 private:
  GPUHIST_HOST_DEVICE static std::uint32_t of(const repeated_offsets& all, std::uint32_t which) {
    return which == 0 ? all.at[0] : which == 1 ? all.at[1] : all.at[2];
  }
};

/// What the thread blocks share that write the text of the parts of a frame.
struct part_counters {
  std::uint32_t begun = 0;  ///< pieces of parts, in order
  std::uint32_t ended = 0;
};

/// Of the frames whose parts are written at the same time.
struct part_progress {
  static constexpr unsigned frames = 8;

  part_counters of[frames];
};

/// The buffers of a batch, on the device or (in tests) on the host. No phase reads or writes outside them.
struct batch_buffers {
  const std::uint32_t* compressed = nullptr;
  const encoded_frame* frames = nullptr;
  const encoded_block* blocks = nullptr;
  std::uint32_t frame_count = 0;
  std::uint32_t member_count = 0;   ///< of the frames, members of gzip
  std::uint32_t portion_count = 0;  ///< of all members
  std::uint32_t text_room = 0;      ///< of all frames
  std::uint32_t block_count = 0;
  std::uint32_t literal_room = 0;    ///< bytes
  std::uint32_t sequence_room = 0;   ///< entries
  block_codes* codes = nullptr;      ///< one for each block
  decoded_block* decoded = nullptr;  ///< one for each block
  std::uint8_t* literals = nullptr;
  sequence_entry* sequences = nullptr;
  std::uint8_t* text = nullptr;
  decoded_frame* results = nullptr;            ///< one for each frame
  std::uint64_t* used = nullptr;               ///< two counters, at first what members have: bytes of literals, entries
  deflate::portion_block* portions = nullptr;  ///< one for each block, if there are members
  /// For frames in parts; without symbols there are none.
  std::int32_t* symbols = nullptr;
  std::uint32_t symbol_room = 0;
  part_progress* progress = nullptr;
};

}  // namespace gpuhist::gpu::cuda::zstd
