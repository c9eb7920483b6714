// The loop over the symbols of a block uses bits as follows: a refill gives 56. Three literal entries use up to 33. A
// length uses up to 20 and its distance up to 28.
#include "io/gzip/deflate_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace gpuhist::io {
namespace {

using tables = deflate_tables;

constexpr std::size_t max_match = 258;
constexpr std::uint32_t literal_mask = (1U << tables::literal_bits) - 1;
constexpr std::uint32_t distance_mask = (1U << tables::distance_bits) - 1;

/// Both literals of an entry are written; the second one is overwritten if the entry has one.
template <class Symbol>
Symbol* put_literals(Symbol* out, std::uint32_t entry) {
  if constexpr (sizeof(Symbol) == 1) {
    const auto both = static_cast<std::uint16_t>(entry >> 8U);
    std::memcpy(out, &both, sizeof both);
  } else {
    const std::uint32_t both = ((entry >> 8U) & 0xFFU) | (entry & 0xFF0000U);
    std::memcpy(out, &both, sizeof both);
  }
  return out + ((entry >> 24U) & 3U);
}

/// Copies a match to `out`. Writes up to deflate_text::slack - max_match symbols after its end.
template <class Symbol>
Symbol* copy_match(Symbol* out, const Symbol* from, std::size_t length) {
  constexpr std::ptrdiff_t step = 32 / static_cast<std::ptrdiff_t>(sizeof(Symbol));
  constexpr std::ptrdiff_t half = step / 2;
  Symbol* const end = out + length;
  const std::ptrdiff_t distance = out - from;
  if (distance >= half) {
    do {
      std::memcpy(out, from, half * sizeof(Symbol));
      std::memcpy(out + half, from + half, half * sizeof(Symbol));
      out += step;
      from += step;
    } while (out < end);
  } else if (distance == 1) {
    std::fill_n(out, length, *from);
  } else {
    while (out < end) *out++ = *from++;
  }
  return end;
}

/// The length or distance of an entry: its base and the extra bits after the code.
std::size_t value_of(std::uint32_t entry, std::uint32_t base_mask, std::uint64_t bits) {
  const unsigned all = entry & 0xFFU;
  const unsigned code = (entry >> 8U) & 0xFU;
  const std::uint64_t extra = (bits & ((std::uint64_t{1} << all) - 1)) >> code;
  return ((entry >> 16U) & base_mask) + static_cast<std::size_t>(extra);
}

/// Decodes symbols up to the end of the block, the room of the chunk or the data, or an error. Full: there is no room.
template <class Symbol>
block_end decode_symbols(deflate_bits& position, const tables& codes, Symbol*& text, Symbol* const room_end,
                         const Symbol* const low) {
  const std::uint32_t* const literals = codes.literals();
  const std::uint32_t* const distances = codes.distances();
  deflate_bits bits = position;
  Symbol* out = text;
  block_end end = block_end::full;
  bits.refill();
  std::uint32_t entry = literals[bits.peek() & literal_mask];
  while (out < room_end) {
    if (bits.is_spent() && bits.is_past_end()) {
      end = block_end::incomplete;
      break;
    }
    if ((entry & tables::is_literal) != 0) {
      bits.take(entry & 0xFFU);
      out = put_literals(out, entry);
      entry = literals[bits.peek() & literal_mask];
      if ((entry & tables::is_literal) != 0) {
        bits.take(entry & 0xFFU);
        out = put_literals(out, entry);
        entry = literals[bits.peek() & literal_mask];
      }
      bits.refill();
      if ((entry & tables::is_literal) != 0) continue;
    }
    if ((entry & tables::is_special) != 0) {
      const std::uint32_t kind = (entry >> tables::kind_shift) & 3U;
      if (kind == tables::subtable) {
        bits.take(tables::literal_bits);
        const std::uint32_t index_mask = (1U << ((entry >> 8U) & 0x1FU)) - 1;
        entry = literals[((entry >> tables::offset_shift) & 0x7FFFU) + (bits.peek() & index_mask)];
        if ((entry & tables::is_literal) != 0) {
          bits.take(entry & 0xFFU);
          out = put_literals(out, entry);
          bits.refill();
          entry = literals[bits.peek() & literal_mask];
          continue;
        }
      }
      if ((entry & tables::is_special) != 0) {
        const bool ended = (entry >> tables::kind_shift & 3U) == tables::end_of_block;
        bits.take(entry & 0xFFU);
        end = ended ? block_end::next : block_end::damaged;
        break;
      }
    }
    const std::size_t length = value_of(entry, 0x1FFU, bits.peek());
    bits.take(entry & 0xFFU);
    std::uint32_t reference = distances[bits.peek() & distance_mask];
    if ((reference & tables::is_special_distance) != 0) {
      const std::uint32_t offset = (reference >> 16U) & 0x7FFFU;
      if (offset == 0) {
        end = block_end::damaged;
        break;
      }
      bits.take(tables::distance_bits);
      reference = distances[offset + (bits.peek() & ((1U << ((reference >> 8U) & 0xFFU)) - 1))];
      if ((reference & tables::is_special_distance) != 0) {
        end = block_end::damaged;
        break;
      }
    }
    const std::size_t distance = value_of(reference, 0x7FFFU, bits.peek());
    bits.take(reference & 0xFFU);
    bits.refill();
    entry = literals[bits.peek() & literal_mask];
    if (distance > static_cast<std::size_t>(out - low)) {
      end = block_end::damaged;
      break;
    }
    out = copy_match(out, out - distance, length);
  }
  position = bits;
  text = out;
  return end;
}

/// As decode_symbols(), in the last chunk of the text.
template <class Symbol>
block_end decode_into(deflate_bits& bits, const tables& codes, deflate_text::chunk& chunk, Symbol* begin,
                      std::ptrdiff_t low) {
  Symbol* out = begin + chunk.size;
  const block_end end = decode_symbols(bits, codes, out, begin + chunk.room, begin + low);
  chunk.size = static_cast<std::size_t>(out - begin);
  return end;
}

void append(deflate_text::chunk& chunk, std::span<const std::byte> bytes) {
  if (chunk.is_marked) {
    std::ranges::transform(bytes, chunk.symbols() + chunk.size,
                           [](std::byte byte) { return std::to_integer<std::uint16_t>(byte); });
  } else {
    std::ranges::copy(bytes, chunk.bytes() + chunk.size);
  }
  chunk.size += bytes.size();
}

}  // namespace

block_end deflate_blocks::decode(deflate_bits& bits, deflate_text& text) {
  const bool is_last = bits.read(1) != 0;
  block_end end = block_end::damaged;
  switch (bits.read(2)) {
    case 0:
      end = decode_stored(bits, text);
      break;
    case 1:
      if (built_ != built::fixed) tables_.build_fixed();
      built_ = built::fixed;
      end = decode_codes(bits, text);
      break;
    case 2:
      if (read_codes(bits)) end = decode_codes(bits, text);
      break;
    default:
      break;
  }
  if (bits.is_past_end()) return block_end::incomplete;
  return end == block_end::next && is_last ? block_end::last : end;
}

bool deflate_blocks::read_codes(deflate_bits& bits) {
  deflate_lengths lengths;
  if (!read_lengths(bits, lengths)) return false;
  const auto all = std::span<const std::uint8_t>(lengths.all);
  tables_.build(all.first(lengths.literals), all.subspan(lengths.literals, lengths.distances));
  built_ = built::dynamic;
  return true;
}

block_end deflate_blocks::decode_codes(deflate_bits& bits, deflate_text& text) const {
  while (true) {
    deflate_text::chunk& chunk = text.last();
    const block_end end = chunk.is_marked ? decode_into(bits, tables_, chunk, chunk.symbols(), text.low())
                                          : decode_into(bits, tables_, chunk, chunk.bytes(), text.low());
    if (end != block_end::full) return end;
    if (!text.grow()) return block_end::full;
  }
}

block_end deflate_blocks::decode_stored(deflate_bits& bits, deflate_text& text) {
  bits.read(static_cast<unsigned>((8 - bits.position() % 8) % 8));
  const std::uint32_t length = bits.read(16);
  if (bits.read(16) != (length ^ 0xFFFFU)) return block_end::damaged;
  if (bits.is_past_end() || length > (bits.end() - bits.position()) / 8) return block_end::incomplete;
  auto bytes = bits.data().subspan(static_cast<std::size_t>(bits.position() / 8), length);
  bits.seek(bits.position() + std::uint64_t{8} * length);
  while (!bytes.empty()) {
    if (text.last().size >= text.last().room && !text.grow()) return block_end::full;
    const std::size_t some = std::min(bytes.size(), text.last().room - text.last().size);
    append(text.last(), bytes.first(some));
    bytes = bytes.subspan(some);
  }
  return block_end::next;
}

}  // namespace gpuhist::io
