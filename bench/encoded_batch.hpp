// Batches of zstd frames or gzip members for the measurement of decoders: text compressed on all cores, and repeated
// until a batch is full.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"
#include "pipeline/flow/decoding/encoded_frames.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::bench {

/// What frames are: zstd frames, or gzip members.
enum class codec : std::uint8_t { zstd, gzip };
std::string_view name_of(codec which);

/// Text, and its frames one after another.
struct framed_text {
  codec coded = codec::zstd;
  std::span<const std::uint8_t> text;
  std::vector<std::byte> compressed;
  std::vector<std::uint64_t> ends;  ///< offset of the end of each frame
  pipeline::encoded_frames listed;

  [[nodiscard]] std::size_t frames() const { return ends.size(); }
  [[nodiscard]] std::span<const std::byte> frame(std::size_t index) const;
  [[nodiscard]] std::span<const std::uint8_t> text_of(std::size_t index) const;
};

/// Compresses `text`, which is not empty and is borrowed, with libzstd or zlib into frames of `frame_bytes` with
/// checksums; the last one may be shorter. Throws std::runtime_error, std::bad_alloc.
framed_text compress_frames(std::span<const std::uint8_t> text, std::uint64_t frame_bytes, codec with, int level,
                            unsigned threads);

/// Seconds to decompress all frames with libzstd or ISA-L; each thread has a buffer for one frame. Throws
/// std::runtime_error.
double decompress_on_host(const framed_text& from, unsigned threads);

/// The frames of a batch and the sizes of its buffers, see gpu::cuda::zstd::batch_buffers.
struct batch_plan {
  codec coded = codec::zstd;
  std::uint64_t frames = 0;
  std::uint64_t blocks = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t text_room = 0;
  std::uint64_t compressed_bytes = 0;
  std::uint64_t literal_room = 0;   ///< bytes
  std::uint64_t sequence_room = 0;  ///< entries; of zstd enough for one sequence per 8 bytes of text

  /// Bytes after the compressed bytes that decoders may read.
  static constexpr std::uint64_t readable_beyond = 32;

  [[nodiscard]] std::uint64_t device_bytes() const;  ///< of all buffers
};

/// As many frames in turn as fit into `text_bytes` of text, `device_bytes` of memory, and 32-bit offsets of compressed
/// bytes, literals and sequences. Throws std::runtime_error if not one fits.
batch_plan plan_batch(const framed_text& from, std::uint64_t text_bytes, std::uint64_t device_bytes);

/// Lists the frames of the batch as the pipeline does, and places what members need. The batch is the compressed bytes
/// of `from`, repeated up to compressed_bytes.
pipeline::encoded_frames list_batch(const framed_text& from, const batch_plan& plan);

/// What the decoder found in a batch.
struct batch_content {
  std::uint64_t frames = 0;
  std::uint64_t blocks = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t compressed_bytes = 0;
  std::uint64_t sequences = 0;
  std::uint64_t huffman_bytes = 0;  ///< of literals, decoded

  [[nodiscard]] double ratio() const;
  [[nodiscard]] std::optional<double> text_per_sequence() const;  ///< nothing: there is no sequence
  [[nodiscard]] double huffman_share() const;                     ///< of the text
};

batch_content content_of(const batch_plan& plan, std::span<const gpu::cuda::zstd::encoded_block> blocks,
                         std::span<const gpu::cuda::zstd::decoded_block> decoded);

/// The first of these frames that was rejected, and why; empty if there is none.
std::string rejected_frame(std::span<const gpu::cuda::zstd::encoded_frame> frames,
                           std::span<const gpu::cuda::zstd::decoded_frame> results);

/// The first frame whose text in `decoded` is not the original; empty if there is none. `decoded` is the text of the
/// batch up to the end of the last frame that is compared, at the places of `listed`; at most all distinct frames.
std::string different_frame(const framed_text& from, const pipeline::encoded_frames& listed,
                            std::span<const std::uint8_t> decoded);

/// The frames of the batch with distinct text, and the end of their text.
std::size_t distinct_frames(const framed_text& from, const batch_plan& plan);
std::uint64_t distinct_text_end(const framed_text& from, const batch_plan& plan);

}  // namespace gpuhist::bench
