// The CRC-32 of the text of members (RFC 1952, 8), a warp for each stretch of text. The text is a polynomial over the
// field of two elements, a stretch a sum of 32 of them: each lane has every 32nd word. What a lane has is multiplied by
// x^1024 for each further word, with one look-up for each of its bytes; its sum by a power of x at the end.
//
//     words    | 0 | 1 | 2 | ... | 31 | 32 | 33 | ...        in front, zeros, so that the last row is whole
//     lanes      0   1   2         31    0    1
//
// Stretches of one member add their parts to its result: addition is that of bits, so any order gives the same sum.
#pragma once

#include "gpu/cuda/deflate/symbols.hpp"
#include "gpu/cuda/zstd/encoded.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::deflate {

/// Polynomials modulo that of the CRC: bit 31 is the coefficient of 1, bit 0 that of x^31.
struct crc32_field {
  static constexpr std::uint32_t one = 0x80000000U;
  static constexpr std::uint32_t polynomial = 0xEDB88320U;

  GPUHIST_HOST_DEVICE static constexpr std::uint32_t times_x(std::uint32_t value) {
    return (value & 1U) != 0 ? value >> 1U ^ polynomial : value >> 1U;
  }

  GPUHIST_HOST_DEVICE static constexpr std::uint32_t product(std::uint32_t left, std::uint32_t right) {
    std::uint32_t sum = 0;
    for (; left != 0; left <<= 1U, right = times_x(right)) sum ^= (left & one) != 0 ? right : 0;
    return sum;
  }
};

/// What lanes multiply by.
struct crc32_factors {
  static constexpr unsigned lanes = 32;

  std::uint32_t row[4][256];  ///< x^1024 times a byte at each place of a word
  std::uint32_t lane[lanes];  ///< of its last word: how far it is from the end of the stretch, which has 32 bits more
  std::uint32_t bytes[32];    ///< x^(8 * 2^i)

  static constexpr crc32_factors make() {
    crc32_factors all{};
    std::uint32_t power = crc32_field::one;
    for (unsigned i = 0; i < 8; ++i) power = crc32_field::times_x(power);
    for (std::uint32_t& each : all.bytes) {
      each = power;
      power = crc32_field::product(power, power);
    }
    const std::uint32_t word = all.bytes[2];
    std::uint32_t of_lane = word;
    for (unsigned i = lanes; i-- > 0; of_lane = crc32_field::product(of_lane, word)) all.lane[i] = of_lane;
    const std::uint32_t of_row = all.bytes[7];
    for (unsigned place = 0; place < 4; ++place) {
      for (std::uint32_t byte = 0; byte < 256; ++byte) {
        all.row[place][byte] = crc32_field::product(byte << (8 * place), of_row);
      }
    }
    return all;
  }

  GPUHIST_HOST_DEVICE std::uint32_t times_row(std::uint32_t value) const {
    return row[0][value & 0xffU] ^ row[1][value >> 8U & 0xffU] ^ row[2][value >> 16U & 0xffU] ^ row[3][value >> 24U];
  }

  /// As if so many zeros followed.
  GPUHIST_HOST_DEVICE std::uint32_t moved(std::uint32_t value, std::uint32_t by_bytes) const {
    for (unsigned i = 0; by_bytes != 0; ++i, by_bytes >>= 1U) {
      if ((by_bytes & 1U) != 0) value = crc32_field::product(value, bytes[i]);
    }
    return value;
  }
};

/// A part of the text of a member.
struct text_stretch {
  static constexpr std::uint32_t most_bytes = std::uint32_t{64} << 10U;

  const std::uint8_t* text;   ///< aligned to 4
  std::uint32_t bytes;        ///< a multiple of 4 if others follow
  std::uint32_t bytes_after;  ///< of the member
  std::uint32_t skipped;      ///< of the first word: they are no part of it
  bool is_first;              ///< of the member

  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t before() const { return is_first ? ~std::uint32_t{0} : 0; }

  /// What one lane adds to the CRC of the whole words.
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t lane_part(const crc32_factors& factors, unsigned lane) const {
    constexpr unsigned lanes = crc32_factors::lanes;
    const auto* const from = reinterpret_cast<const std::uint32_t*>(text);
    const std::uint32_t words = bytes / 4;
    const std::uint32_t in_front = (lanes - words % lanes) % lanes;
    std::uint32_t sum = 0;
    if (lane >= in_front && words > 0) sum = from[lane - in_front];
    if (lane == in_front && words > 0) sum = (sum & ~std::uint32_t{0} << (8 * skipped)) ^ before();
    for (std::uint32_t at = lanes + lane - in_front; at < words; at += lanes) sum = factors.times_row(sum) ^ from[at];
    return sum == 0 ? 0 : crc32_field::product(sum, factors.lane[lane]);
  }

  /// What the stretch adds to the CRC of the member, given the sum of all lanes.
  [[nodiscard]] GPUHIST_HOST_DEVICE std::uint32_t part(const crc32_factors& factors, std::uint32_t of_words) const {
    std::uint32_t sum = bytes < 4 ? before() : of_words;
    for (std::uint32_t at = bytes < 4 ? skipped : bytes / 4 * 4; at < bytes; ++at) {
      sum ^= text[at];
      for (unsigned i = 0; i < 8; ++i) sum = crc32_field::times_x(sum);
    }
    return factors.moved(sum, bytes_after);
  }
};

/// The first frame whose room ends after `place` in the text of the batch.
GPUHIST_HOST_DEVICE inline std::uint32_t frame_at(const zstd::batch_buffers& batch, std::uint64_t place) {
  std::uint32_t first = 0;
  for (std::uint32_t count = batch.frame_count; count > 0;) {
    const std::uint32_t half = count / 2;
    const zstd::encoded_frame& frame = batch.frames[first + half];
    const bool is_before = frame.text_at + frame.text_room <= place;
    first += is_before ? half + 1 : 0;
    count = is_before ? count - half - 1 : half;
  }
  return first;
}

/// Stretch `number` of the text of the batch: calls add(index, stretch) for the part of each frame with a CRC-32 there.
/// All lanes of a warp call it.
template <class Add>
GPUHIST_HOST_DEVICE void for_each_stretch(const zstd::batch_buffers& batch, std::uint32_t number, Add add) {
  const std::uint64_t begin = std::uint64_t{number} * text_stretch::most_bytes;
  const std::uint64_t end = begin + text_stretch::most_bytes;
  for (std::uint32_t i = frame_at(batch, begin); i < batch.frame_count && batch.frames[i].text_at < end; ++i) {
    const zstd::decoded_frame& result = batch.results[i];
    if (!is_member(batch.frames[i]) || result.is != zstd::verdict::decoded) continue;
    const std::uint64_t text_at = batch.frames[i].text_at + (result.carried - result.carried % 4);
    const std::uint64_t text_end = batch.frames[i].text_at + result.text_bytes;
    const std::uint64_t from = text_at > begin ? text_at : begin;
    const std::uint64_t to = text_end < end ? text_end : end;
    if (from >= to) continue;
    add(i, text_stretch{.text = batch.text + from,
                        .bytes = static_cast<std::uint32_t>(to - from),
                        .bytes_after = static_cast<std::uint32_t>(text_end - to),
                        .skipped = from == text_at ? result.carried % 4 : 0,
                        .is_first = from == text_at && result.carried == 0});
  }
}

/// Stretches of a batch whose frames have so much room.
constexpr std::uint32_t stretches_in(std::uint32_t text_room) { return text_room / text_stretch::most_bytes + 1; }

/// The CRC-32, inverted, of the text of several steps, given that of those before the last one. (Of the step alone it
/// begins with zero instead of ~0, except that of the first step.)
inline std::uint32_t crc32_after(const crc32_factors& factors, std::uint32_t before, const zstd::decoded_frame& step) {
  return factors.moved(before, static_cast<std::uint32_t>(step.text_bytes - step.carried)) ^ step.crc32;
}

/// The CRC-32 of so much text, given the inverted one. That of no text is zero.
inline std::uint32_t finished_crc32(std::uint64_t text_bytes, std::uint32_t inverted) {
  return text_bytes == 0 ? 0 : ~inverted;
}

/// Whether the text of a decoded frame has the CRC-32 that it should have, after all stretches were added.
inline bool has_stated_crc32(const zstd::encoded_frame& frame, const zstd::decoded_frame& result) {
  return finished_crc32(result.text_bytes, result.crc32) == frame.checksum;
}

}  // namespace gpuhist::gpu::cuda::deflate
