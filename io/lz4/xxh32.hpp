// XXH32, the checksum of lz4 frames, headers and blocks (Yann Collet: xxHash fast digest algorithm, 0.1.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

/// The checksum of bytes that are added piece by piece, with seed 0.
class xxh32 {
 public:
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint32_t value() const;

  /// The checksum of `bytes`.
  static std::uint32_t of(std::span<const std::byte> bytes);

 private:
  static constexpr std::size_t stripe_bytes = 16;
  static constexpr std::uint32_t prime_1 = 0x9E3779B1U;
  static constexpr std::uint32_t prime_2 = 0x85EBCA77U;

  void add_stripes(std::span<const std::byte> stripes);

  std::array<std::uint32_t, 4> lanes_{prime_1 + prime_2, prime_2, 0, 0U - prime_1};
  std::array<std::byte, stripe_bytes> rest_{};  // the bytes after the last whole stripe
  std::size_t rest_size_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace gpuhist::io
