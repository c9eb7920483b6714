// Whole zstd frames and gzip members as a device decodes them.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"
#include "io/zstd/zstd_layout.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

/// The frames of a group. Offsets into the compressed bytes count from its begin, offsets of text from zero.
struct encoded_frames {
  std::vector<gpu::cuda::zstd::encoded_frame> frames;
  std::vector<gpu::cuda::zstd::encoded_block> blocks;
  std::uint64_t text_room = 0;                   ///< for all frames
  std::uint64_t sequences = 0;                   ///< gpu::frame_job::sequences
  std::optional<std::uint64_t> stated_text = 0;  ///< bytes, as the headers say; nothing: some do not, or of members
  bool lacks_end_marker = false;                 ///< a decoder has a notice if the input ends with these
};

/// Whether devices decode such a frame: its window, and that it names no dictionary.
[[nodiscard]] bool is_supported(const io::zstd_frame_header& header);

/// A frame without its blocks, and a block of frame 0 whose content is at this offset.
[[nodiscard]] gpu::cuda::zstd::encoded_frame encoded_header(const io::zstd_frame_header& header);
[[nodiscard]] gpu::cuda::zstd::encoded_block encoded_block_of(const io::zstd_block_header& header, std::uint32_t at);

/// Lists the frames of `bytes`, which are less than 4 GiB, or their members if they begin as gzip. Throws
/// std::bad_alloc.
///
/// Of zstd frames, skippable ones are left out. Nothing: the bytes are not whole frames, or a frame names a dictionary
/// or has a window that devices do not decode, or says that its text is longer than its blocks can be.
///
/// gzip members are listed with the sizes that their trailers state, where io::make_gzip_splitter() finds their ends or
/// guesses them, however long they are. A device rejects a member with a wrong end. Nothing: the bytes are not whole
/// members, or one states more text than its bytes can have.
std::optional<encoded_frames> list_frames(const io::byte_access& bytes);

/// Whether bytes begin as gzip does.
[[nodiscard]] bool begins_member(std::span<const std::byte> bytes);

/// If `bytes` begin with a gzip member and have the begin of no other one, as list_frames() looks for them: the size of
/// its header. Nothing: otherwise, and of BGZF, whose blocks are short.
std::optional<std::uint64_t> header_of_only_member(const io::byte_access& bytes);

/// What ends a gzip member.
struct member_trailer {
  static constexpr std::uint64_t size = 8;

  std::uint32_t checksum = 0;
  std::uint32_t text_bytes = 0;  ///< modulo 2^32

  /// `end`: of the member.
  static member_trailer before(const io::byte_access& bytes, std::uint64_t end);
};

}  // namespace gpuhist::pipeline
