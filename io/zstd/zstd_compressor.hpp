// Compresses text into zstd frames. Each frame can be decoded without the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

// Declared by libzstd.
struct ZSTD_CCtx_s;

namespace gpuhist::io {

/// Reuses its memory for every frame. Used by one thread at a time; any thread.
class zstd_compressor {
 public:
  /// Throws std::bad_alloc.
  explicit zstd_compressor(int level);

  /// An upper bound for the size of a frame of `text_bytes` bytes of text.
  static std::size_t bound(std::size_t text_bytes);

  /// The memory in bytes of a compressor of this level for frames of `text_bytes`; determined by creating one. Throws
  /// std::bad_alloc.
  static std::size_t memory_for(int level, std::size_t text_bytes);

  /// Writes one frame with all of `text`, its size and its checksum to the front of `out`, which has room for
  /// bound(text.size()) bytes. Returns the length of the frame, or 0 if it was stopped; at levels that take seconds per
  /// frame, stop requests are checked several times in a frame. Throws std::bad_alloc, std::runtime_error.
  std::size_t compress(std::span<const std::byte> text, std::span<std::byte> out, const std::stop_token& stop = {});

 private:
  struct deleter {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };

  const int level_;
  std::unique_ptr<ZSTD_CCtx_s, deleter> context_;
};

/// The checksum of the text, stored at the end of a frame: the low 32 bits of XXH64. Precondition: the frame is
/// complete and has a checksum.
std::uint32_t zstd_checksum_of(std::span<const std::byte> frame);

}  // namespace gpuhist::io
