// Phase 7: the checksum of the text of a frame, the low 32 bits of XXH64 with seed 0 (RFC 8878, 3.1.1; the algorithm is
// specified in doc/xxhash_spec.md of the xxHash project). Its four accumulators are independent, but each round of one
// depends on the round before, so a frame takes at least as long as its chain of instructions.
//
// A round is sum = rotate(sum + word * prime2, 31) * prime1. The chain is shorter if it keeps the sum with the product
// of the next word, which is then the addend of the multiplication by prime1:
//
//     begin:    the value that the first rotation and multiplication turn into the initial sum
//     round i:  mixed = rotate(mixed, 31) * prime1 + word i * prime2
//     end:      sum = rotate(mixed, 31) * prime1
//
// The products are made before. Two ways of doing that: checksum_of_many.hpp, checksum_of_few.hpp.
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

  /// The whole stripes of a text of less than 4 GiB.
  GPUHIST_HOST_DEVICE static std::uint32_t stripes_in(std::uint64_t text_bytes) {
    return static_cast<std::uint32_t>(text_bytes / stripe_bytes);
  }

  GPUHIST_HOST_DEVICE static std::uint64_t rotate(std::uint64_t value, unsigned bits) {
    return value << bits | value >> (64 - bits);
  }

  /// `from` is aligned, because the text of a frame is.
  template <class Word>
  GPUHIST_HOST_DEVICE static Word load(const std::uint8_t* from) {
#if defined(__CUDA_ARCH__)
    return *reinterpret_cast<const Word*>(from);
#else
    Word value;
    std::memcpy(&value, from, sizeof(value));
    return value;
#endif
  }

  GPUHIST_HOST_DEVICE static std::uint64_t round_of_product(std::uint64_t sum, std::uint64_t product) {
    return rotate(sum + product, 31) * prime1;
  }
  GPUHIST_HOST_DEVICE static std::uint64_t round(std::uint64_t sum, std::uint64_t word) {
    return round_of_product(sum, word * prime2);
  }

  /// The chain of an accumulator before its first product, after a product, and at its end.
  GPUHIST_HOST_DEVICE static std::uint64_t begin(unsigned accumulator) {
    const std::uint64_t initial =
        (accumulator < 2 ? prime2 : 0) + (accumulator == 0 ? prime1 : 0) - (accumulator == 3 ? prime1 : 0);
    return rotate(initial * inverse(prime1), 64 - 31);
  }
  GPUHIST_HOST_DEVICE static std::uint64_t next(std::uint64_t mixed, std::uint64_t product) {
    return rotate(mixed, 31) * prime1 + product;
  }
  GPUHIST_HOST_DEVICE static std::uint64_t end(std::uint64_t mixed) { return rotate(mixed, 31) * prime1; }

  /// The inverse of an odd number modulo 2^64 (Newton's iteration: each step doubles the right bits, three at first).
  GPUHIST_HOST_DEVICE static constexpr std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t found = odd;
    for (unsigned bits = 3; bits < 64; bits *= 2) found *= 2 - odd * found;
    return found;
  }

  /// The hash of a text from its four accumulators, and its bytes after the last whole stripe.
  GPUHIST_HOST_DEVICE static std::uint64_t finish(const std::uint64_t (&sums)[accumulators], const std::uint8_t* rest,
                                                  std::uint64_t bytes) {
    std::uint64_t hash = prime5;
    if (bytes >= stripe_bytes) {
      hash = rotate(sums[0], 1) + rotate(sums[1], 7) + rotate(sums[2], 12) + rotate(sums[3], 18);
      for (const std::uint64_t sum : sums) hash = (hash ^ round(0, sum)) * prime1 + prime4;
    }
    hash += bytes;
    const std::uint8_t* at = rest;
    const std::uint8_t* const end = rest + bytes % stripe_bytes;
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

/// The hash of a text that arrives in pieces, on the host. If a device has multiplied the words of whole stripes by
/// xxh64::prime2, half of the multiplications are left: a core has one multiplier.
class piecewise_xxh64 {
 public:
  /// `has_products`: pieces have products instead of whole stripes.
  explicit piecewise_xxh64(bool has_products) : has_products_(has_products) {}

  /// All pieces but the last are whole stripes.
  void add(const std::uint8_t* piece, std::uint64_t bytes) {
    has_products_ ? add_stripes<true>(piece, bytes) : add_stripes<false>(piece, bytes);
  }

  /// The last piece is still there.
  [[nodiscard]] std::uint64_t finish() const { return xxh64::finish(sums_, rest_, bytes_); }

 private:
  template <bool HasProducts>
  void add_stripes(const std::uint8_t* piece, std::uint64_t bytes) {
    const auto product = [](const std::uint8_t* from) {
      const auto word = xxh64::load<std::uint64_t>(from);
      return HasProducts ? word : word * xxh64::prime2;
    };
    constexpr std::uint64_t prefetched = 1024;  // bytes: a device has written the piece past the caches
    const std::uint8_t* const end = piece + bytes / xxh64::stripe_bytes * xxh64::stripe_bytes;
    std::uint64_t first = sums_[0];  // in registers: twice as fast as an array
    std::uint64_t second = sums_[1];
    std::uint64_t third = sums_[2];
    std::uint64_t fourth = sums_[3];
    for (const std::uint8_t* at = piece; at < end; at += xxh64::stripe_bytes) {
      __builtin_prefetch(at + prefetched);
      first = xxh64::round_of_product(first, product(at));
      second = xxh64::round_of_product(second, product(at + 8));
      third = xxh64::round_of_product(third, product(at + 16));
      fourth = xxh64::round_of_product(fourth, product(at + 24));
    }
    sums_[0] = first;
    sums_[1] = second;
    sums_[2] = third;
    sums_[3] = fourth;
    rest_ = end;
    bytes_ += bytes;
  }

  const bool has_products_;
  std::uint64_t sums_[xxh64::accumulators] = {xxh64::prime1 + xxh64::prime2, xxh64::prime2, 0, 0 - xxh64::prime1};
  const std::uint8_t* rest_ = nullptr;
  std::uint64_t bytes_ = 0;
};

GPUHIST_HOST_DEVICE inline bool has_checksum(const batch_buffers& batch, std::uint32_t index) {
  return batch.results[index].is == verdict::decoded && batch.frames[index].has_checksum != 0;
}

/// Phase 7 for frame `index`, which has a checksum.
GPUHIST_HOST_DEVICE inline void compare_checksum(const batch_buffers& batch, std::uint32_t index,
                                                 const std::uint64_t (&sums)[xxh64::accumulators]) {
  const encoded_frame& frame = batch.frames[index];
  decoded_frame& result = batch.results[index];
  const std::uint64_t stripes = result.text_bytes / xxh64::stripe_bytes * xxh64::stripe_bytes;
  const std::uint64_t hash = xxh64::finish(sums, batch.text + frame.text_at + stripes, result.text_bytes);
  if (static_cast<std::uint32_t>(hash) != frame.checksum) result.is = verdict::checksum;
}

}  // namespace gpuhist::gpu::cuda::zstd
