#include "pipeline/program/batch/checksum.hpp"

#define XXH_INLINE_ALL  // no library has to be linked
#include <xxhash.h>

namespace gpuhist::pipeline {

std::uint64_t checksum_of(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string hash_text(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  std::string text;
  for (const std::uint64_t half : {hash.high64, hash.low64}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[(half >> static_cast<unsigned>(shift)) & 0xfU];
  }
  return text;
}

}  // namespace gpuhist::pipeline
