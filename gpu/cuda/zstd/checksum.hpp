// Phase 7: the checksum of the text of a frame, the low 32 bits of XXH64 with seed 0 (RFC 8878, 3.1.1; the algorithm is
// specified in doc/xxhash_spec.md of the xxHash project). Its four accumulators are independent: four threads for each
// frame.
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"

#include <cstdint>
#include <cstring>

namespace gpuhist::gpu::cuda::zstd {

struct xxh64 {
  static constexpr std::uint64_t prime1 = 0x9E3779B185EBCA87U;
  static constexpr std::uint64_t prime2 = 0xC2B2AE3D27D4EB4FU;
  static constexpr std::uint64_t prime3 = 0x165667B19E3779F9U;
  static constexpr std::uint64_t prime4 = 0x85EBCA77C2B2AE63U;
  static constexpr std::uint64_t prime5 = 0x27D4EB2F165667C5U;
  static constexpr unsigned accumulators = 4;
  static constexpr std::uint64_t stripe_bytes = 32;

  static constexpr unsigned ahead = 32;  ///< words that are loaded before they are used: one round takes 40 cycles

  GPUHIST_HOST_DEVICE static std::uint64_t rotate(std::uint64_t value, unsigned bits) {
    return value << bits | value >> (64 - bits);
  }

  /// `from` is aligned, because the text of a frame is.
  template <class Word>
  GPUHIST_HOST_DEVICE static std::uint64_t load(const std::uint8_t* from) {
#if defined(__CUDA_ARCH__)
    return *reinterpret_cast<const Word*>(from);
#else
    Word value;
    std::memcpy(&value, from, sizeof(value));
    return value;
#endif
  }

  GPUHIST_HOST_DEVICE static void load_words(std::uint64_t (&to)[ahead], const std::uint8_t* from) {
    for (unsigned i = 0; i < ahead; ++i) to[i] = load<std::uint64_t>(from + i * stripe_bytes);
  }

  GPUHIST_HOST_DEVICE static std::uint64_t round(std::uint64_t sum, std::uint64_t word) {
    return rotate(sum + word * prime2, 31) * prime1;
  }

  /// Accumulator `which` after all whole stripes of the text.
  GPUHIST_HOST_DEVICE static std::uint64_t accumulate(const std::uint8_t* text, std::uint64_t bytes, unsigned which) {
    std::uint64_t sum = which == 0 ? prime1 + prime2 : which == 1 ? prime2 : which == 2 ? 0 : 0 - prime1;
    const std::uint8_t* from = text + std::size_t{8} * which;
    std::uint64_t left = bytes / stripe_bytes;
    if (left >= ahead) {
      std::uint64_t words[ahead];
      load_words(words, from);
      for (; left >= std::uint64_t{2} * ahead; left -= ahead) {
        std::uint64_t next[ahead];
        load_words(next, from += ahead * stripe_bytes);
        for (const std::uint64_t word : words) sum = round(sum, word);
        for (unsigned i = 0; i < ahead; ++i) words[i] = next[i];
      }
      for (const std::uint64_t word : words) sum = round(sum, word);
      from += ahead * stripe_bytes;
      left -= ahead;
    }
    for (; left > 0; --left, from += stripe_bytes) sum = round(sum, load<std::uint64_t>(from));
    return sum;
  }

  /// The hash from the four accumulators and the bytes after the last whole stripe.
  GPUHIST_HOST_DEVICE static std::uint64_t finish(const std::uint64_t (&sums)[accumulators], const std::uint8_t* text,
                                                  std::uint64_t bytes) {
    std::uint64_t hash = prime5;
    if (bytes >= stripe_bytes) {
      hash = rotate(sums[0], 1) + rotate(sums[1], 7) + rotate(sums[2], 12) + rotate(sums[3], 18);
      for (const std::uint64_t sum : sums) hash = (hash ^ round(0, sum)) * prime1 + prime4;
    }
    hash += bytes;
    const std::uint8_t* at = text + bytes / stripe_bytes * stripe_bytes;
    const std::uint8_t* const end = text + bytes;
    for (; end - at >= 8; at += 8) hash = rotate(hash ^ round(0, load<std::uint64_t>(at)), 27) * prime1 + prime4;
    if (end - at >= 4) {
      hash = rotate(hash ^ load<std::uint32_t>(at) * prime1, 23) * prime2 + prime3;
      at += 4;
    }
    for (; at < end; ++at) hash = rotate(hash ^ *at * prime5, 11) * prime1;
    hash = (hash ^ hash >> 33U) * prime2;
    hash = (hash ^ hash >> 29U) * prime3;
    return hash ^ hash >> 32U;
  }
};

GPUHIST_HOST_DEVICE inline bool has_checksum(const batch_buffers& batch, std::uint32_t index) {
  return batch.results[index].is == verdict::decoded && batch.frames[index].has_checksum != 0;
}

/// Phase 7 for frame `index`, which has a checksum.
GPUHIST_HOST_DEVICE inline void compare_checksum(const batch_buffers& batch, std::uint32_t index,
                                                 const std::uint64_t (&sums)[xxh64::accumulators]) {
  const encoded_frame& frame = batch.frames[index];
  decoded_frame& result = batch.results[index];
  const std::uint64_t hash = xxh64::finish(sums, batch.text + frame.text_at, result.text_bytes);
  if (static_cast<std::uint32_t>(hash) != frame.checksum) result.is = verdict::checksum;
}

}  // namespace gpuhist::gpu::cuda::zstd
