// Compresses text into zstd frames, each of which can be decoded without the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

// libzstd's.
struct ZSTD_CCtx_s;

namespace gpuhist::io {

inline constexpr int zstd_least_level = 1;
inline constexpr int zstd_most_level = 22;

/// Keeps its memory from one frame to the next. Used by one thread at a time; any thread.
class zstd_compressor {
 public:
  /// Throws std::bad_alloc.
  explicit zstd_compressor(int level);

  /// Bytes that suffice for a frame of `text_bytes` bytes of text.
  static std::size_t bound(std::size_t text_bytes);

  /// Bytes that a compressor of this level takes for frames of `text_bytes`; found by making one. Throws
  /// std::bad_alloc.
  static std::size_t memory_for(int level, std::size_t text_bytes);

  /// Writes one frame that holds all of `text`, its size and its checksum, to the front of `out`, which has room for
  /// bound(text.size()) bytes. Returns the length of the frame; 0 where a stop came first, which is looked for now and
  /// then at levels that take seconds for a frame. Throws std::bad_alloc, std::runtime_error.
  std::size_t compress(std::span<const std::byte> text, std::span<std::byte> out, const std::stop_token& stop = {});

 private:
  struct deleter {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };

  const int level_;
  std::unique_ptr<ZSTD_CCtx_s, deleter> context_;
};

/// The checksum of the text that stands at the end of a frame: the low 32 bits of XXH64. Precondition: the frame is
/// whole and has one.
std::uint32_t zstd_checksum_of(std::span<const std::byte> frame);

}  // namespace gpuhist::io
