#include "io/bzip2/bzip2_text.hpp"

#include "io/bzip2/bzip2_bits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace gpuhist::io {
namespace {

constexpr std::size_t crc_slices = 16;
using crc_tables = std::array<std::array<std::uint32_t, 256>, crc_slices>;

/// Slicing (Kounavis and Berry, 2005): table k holds the checksums of a byte that k zero bytes follow.
constexpr crc_tables make_crc_tables() {
  constexpr std::uint32_t polynomial = 0x04C11DB7;
  crc_tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte << 24U;
    for (int bit = 0; bit < 8; ++bit) crc = crc << 1U ^ ((crc >> 31U) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < crc_slices; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before << 8U ^ tables[0][before >> 24U];
    }
  }
  return tables;
}

constexpr crc_tables bzip2_tables = make_crc_tables();

/// The share of 8 bytes that `after` bytes follow.
std::uint32_t crc_of_word(std::uint64_t word, std::size_t after) {
  std::uint32_t crc = 0;
  for (std::size_t i = 0; i < 8; ++i) crc ^= bzip2_tables[after + i][word >> (8 * i) & 0xFFU];
  return crc;
}

std::uint64_t load_bytes(const std::uint8_t* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

constexpr std::size_t run_bytes = 4;

bool begins_run(const std::uint8_t* at) { return at[0] == at[1] && at[0] == at[2] && at[0] == at[3]; }

/// The first position from `at` at which four equal bytes begin and that is below `limit`; otherwise `limit`. The bytes
/// go to `end`.
const std::uint8_t* find_run(const std::uint8_t* at, const std::uint8_t* limit, const std::uint8_t* end) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr std::uint64_t highs = 0x8080808080808080;
  constexpr std::ptrdiff_t step = 8;
  while (limit - at > 0 && end - at >= static_cast<std::ptrdiff_t>(step + run_bytes - 1)) {
    // byte i of `different` is zero if a run begins at at[i]; the lowest such byte is found exactly
    const std::uint64_t second = load_bytes(at + 1);
    const std::uint64_t third = load_bytes(at + 2);
    const std::uint64_t different = (load_bytes(at) ^ second) | (second ^ third) | (third ^ load_bytes(at + 3));
    const std::uint64_t found = (different - ones) & ~different & highs;
    if (found != 0) return std::min(limit, at + (std::countr_zero(found) / 8));
    at += step;
  }
  for (; at < limit && end - at >= static_cast<std::ptrdiff_t>(run_bytes); ++at) {
    if (begins_run(at)) return at;
  }
  return limit;
}

}  // namespace

std::uint32_t bzip2_crc(std::uint32_t crc, std::span<const std::byte> bytes) {
  crc = ~crc;
  for (; bytes.size() >= 16; bytes = bytes.subspan(16)) {
    crc = crc_of_word(load_big_endian(bytes.data()) ^ std::uint64_t{crc} << 32U, 8) ^
          crc_of_word(load_big_endian(bytes.data() + 8), 0);
  }
  for (const std::byte byte : bytes)
    crc = crc << 8U ^ bzip2_tables[0][crc >> 24U ^ std::to_integer<std::uint32_t>(byte)];
  return ~crc;
}

void bzip2_run_expander::start(std::span<const std::uint8_t> block) {
  begin_ = at_ = block.data();
  end_ = begin_ + block.size();
  number_is_next_ = false;
  left_ = 0;
}

std::size_t bzip2_run_expander::expand(std::span<std::byte> out) {
  std::size_t written = 0;
  while (written < out.size() && !ended()) {
    if (left_ != 0) {
      const std::size_t bytes = std::min(left_, out.size() - written);
      std::memset(out.data() + written, begin_[-2], bytes);
      left_ -= bytes;
      written += bytes;
    } else if (number_is_next_) {
      left_ = *at_++;
      begin_ = at_;
      number_is_next_ = false;
    } else {
      written += copy_until_run(out.subspan(written));
    }
  }
  return written;
}

/// Copies up to the end of the first four equal bytes.
std::size_t bzip2_run_expander::copy_until_run(std::span<std::byte> out) {
  const std::uint8_t* const limit = at_ + std::min(out.size(), static_cast<std::size_t>(end_ - at_));
  // a run may have begun in the three bytes that were copied last
  const std::uint8_t* const from = at_ - std::min<std::ptrdiff_t>(at_ - begin_, run_bytes - 1);
  const std::uint8_t* const run = find_run(from, limit, end_);
  number_is_next_ = limit - run >= static_cast<std::ptrdiff_t>(run_bytes);
  const auto bytes = static_cast<std::size_t>((number_is_next_ ? run + run_bytes : limit) - at_);
  std::memcpy(out.data(), at_, bytes);
  at_ += bytes;
  return bytes;
}

}  // namespace gpuhist::io
