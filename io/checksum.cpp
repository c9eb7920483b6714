#include "io/checksum.hpp"

#define XXH_INLINE_ALL  // no library has to be linked
#include <xxhash.h>

namespace gpuhist::io {
namespace {

std::string digits_of(XXH128_hash_t hash) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t half : {hash.high64, hash.low64}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[(half >> static_cast<unsigned>(shift)) & 0xfU];
  }
  return text;
}

}  // namespace

std::uint64_t checksum_of(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string hash_text(std::string_view bytes) { return digits_of(XXH3_128bits(bytes.data(), bytes.size())); }

struct running_hash::state {
  XXH3_state_t content;
};

running_hash::running_hash() : state_(std::make_unique<state>()) { XXH3_128bits_reset(&state_->content); }

running_hash::~running_hash() = default;

void running_hash::add(std::string_view bytes) { XXH3_128bits_update(&state_->content, bytes.data(), bytes.size()); }

std::string running_hash::text() const { return digits_of(XXH3_128bits_digest(&state_->content)); }

}  // namespace gpuhist::io
