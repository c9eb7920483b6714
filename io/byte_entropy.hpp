// Recognises compressed or encrypted bytes by their statistics: all 256 values are about equally frequent.
#pragma once

#include <cstddef>
#include <span>

namespace gpuhist::io {

/// looks_compressed() checks so many first bytes.
inline constexpr std::size_t sampled_bytes = std::size_t{16} << 10U;

/// Whether the first sampled_bytes, which are 4 KiB or more, have a collision entropy (Rényi, order 2) of at least 7.8
/// bits a byte. Compressors with entropy codes (brotli, deflate, LZMA) reach 7.84 or more, random bytes 8, UTF-16 text
/// at most 7.4, UTF-8 text 6.1, base64 6, sound of 16 bits 7.6. LZ4 and snappy without an entropy code do not: 6.
bool looks_compressed(std::span<const std::byte> head);

/// Whether more bytes may look compressed, as far as those of `head` show: it has an entropy of at least 7 bits a byte.
bool looks_random(std::span<const std::byte> head);

}  // namespace gpuhist::io
