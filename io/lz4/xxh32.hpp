// XXH32, the checksum of lz4 frames, headers and blocks, by libxxhash.
#pragma once

#define XXH_INLINE_ALL  // no library has to be linked
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

/// The checksum of bytes that are added piece by piece, with seed 0.
class xxh32 {
 public:
  xxh32() { XXH32_reset(&state_, 0); }

  void add(std::span<const std::byte> bytes) {
    if (!bytes.empty()) XXH32_update(&state_, bytes.data(), bytes.size());
  }
  [[nodiscard]] std::uint32_t value() const { return XXH32_digest(&state_); }

  /// The checksum of `bytes`.
  static std::uint32_t of(std::span<const std::byte> bytes) {
    xxh32 sum;
    sum.add(bytes);
    return sum.value();
  }

 private:
  XXH32_state_t state_{};
};

}  // namespace gpuhist::io
