// Decodes the framing format of snappy (`.sz`), and the blocks of snappy and lz4 that Hadoop writes.
#pragma once

#include "io/decoder.hpp"
#include "io/splitter.hpp"

#include <memory>
#include <string_view>

namespace gpuhist::io {

/// The chunk with which a stream in the framing format begins.
inline constexpr std::string_view snappy_identifier("\xFF\x06\x00\x00sNaPpY", 10);

/// Each chunk with data (at most 64 KiB of text) is a frame, verified by its CRC-32C. Stream identifiers and padding
/// are skipped. The format has no end mark: an input may end after any chunk. The format is that of framing_format.txt
/// of snappy; its reserved chunks are refused, because no encoder writes them, and damage may make one of a chunk with
/// data. From `limits` it uses the windows: 141 KiB.
std::unique_ptr<decoder> make_snappy_decoder(const decoder_limits& limits);

/// Finds chunks by the sizes in their headers.
std::unique_ptr<splitter> make_snappy_splitter();

/// The streams of Hadoop's SnappyCodec and Lz4Codec. A frame is a block: the size of its text in 32 bits, big endian,
/// and then chunks, each with the size of its compressed bytes, until they have so much text. There is neither a
/// checksum nor an end mark: a frame is verified if its chunks decode to the stated size. From `limits` it uses the
/// windows: the largest chunk, compressed and decompressed.
std::unique_ptr<decoder> make_hadoop_snappy_decoder(const decoder_limits& limits);
std::unique_ptr<decoder> make_hadoop_lz4_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
