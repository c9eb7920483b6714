#include "io/lz4/xxh32.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gpuhist::io {
namespace {

constexpr std::uint32_t prime_3 = 0xC2B2AE3DU;
constexpr std::uint32_t prime_4 = 0x27D4EB2FU;
constexpr std::uint32_t prime_5 = 0x165667B1U;

std::uint32_t load(const std::byte* from) {
  static_assert(std::endian::native == std::endian::little);
  std::uint32_t value = 0;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

}  // namespace

void xxh32::add(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  if (rest_size_ != 0) {
    const std::size_t more = std::min(bytes.size(), stripe_bytes - rest_size_);
    std::ranges::copy(bytes.first(more), rest_.begin() + static_cast<std::ptrdiff_t>(rest_size_));
    rest_size_ += more;
    bytes = bytes.subspan(more);
    if (rest_size_ < stripe_bytes) return;
    add_stripes(rest_);
  }
  const std::size_t whole = bytes.size() / stripe_bytes * stripe_bytes;
  add_stripes(bytes.first(whole));
  std::ranges::copy(bytes.subspan(whole), rest_.begin());
  rest_size_ = bytes.size() - whole;
}

// The four lanes depend on themselves only: they are kept in registers, and their multiplications overlap. Compilers
// would put them into one vector register, which takes six times as long without SSE 4.1: an instruction that may
// change a lane prevents it.
void xxh32::add_stripes(std::span<const std::byte> stripes) {
  const auto round = [](std::uint32_t lane, const std::byte* from) {
    std::uint32_t mixed = std::rotl(lane + load(from) * prime_2, 13) * prime_1;
    asm("" : "+r"(mixed));  // NOLINT(hicpp-no-assembler)
    return mixed;
  };
  auto [a, b, c, d] = lanes_;
  const std::byte* const end = stripes.data() + stripes.size();
  for (const std::byte* at = stripes.data(); at != end; at += stripe_bytes) {
    a = round(a, at);
    b = round(b, at + 4);
    c = round(c, at + 8);
    d = round(d, at + 12);
  }
  lanes_ = {a, b, c, d};
}

std::uint32_t xxh32::value() const {
  std::uint32_t value = prime_5;  // of fewer bytes than a stripe: the seed
  if (size_ >= stripe_bytes) {
    value = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
  }
  value += static_cast<std::uint32_t>(size_);
  std::size_t at = 0;
  for (; at + 4 <= rest_size_; at += 4) value = std::rotl(value + load(rest_.data() + at) * prime_3, 17) * prime_4;
  for (; at < rest_size_; ++at) {
    value = std::rotl(value + std::to_integer<std::uint32_t>(rest_[at]) * prime_5, 11) * prime_1;
  }
  value = (value ^ (value >> 15U)) * prime_2;
  value = (value ^ (value >> 13U)) * prime_3;
  return value ^ (value >> 16U);
}

std::uint32_t xxh32::of(std::span<const std::byte> bytes) {
  xxh32 sum;
  sum.add(bytes);
  return sum.value();
}

}  // namespace gpuhist::io
