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
constexpr std::size_t copied_symbols = 32;  // at once
static_assert(deflate_text::slack >= max_match + copied_symbols);
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

/// Copies a match to `out`. Writes up to 32 symbols after its end.
template <class Symbol>
Symbol* copy_match(Symbol* out, const Symbol* from, std::size_t length) {
  constexpr std::ptrdiff_t word = 16 / sizeof(Symbol);  // copied in one register
  constexpr std::ptrdiff_t step = copied_symbols;
  Symbol* const end = out + length;
  const std::ptrdiff_t distance = out - from;
  if (distance >= word) {
    do {
      for (std::ptrdiff_t i = 0; i < step; i += word) std::memcpy(out + i, from + i, 16);
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

/// The state of the loop over the symbols of a block, in registers.
template <class Symbol>
class symbol_loop {
 public:
  /// `low`: the first symbol that may be copied.
  symbol_loop(const deflate_bits& bits, const tables& codes, Symbol* out, const Symbol* low)
      : literals_(codes.literals()), distances_(codes.distances()), low_(low), bits_(bits), out_(out) {
    next_entry();
  }

  /// Decodes up to the end of the block or of the data, or an error. Full: there is no room.
  block_end run(const Symbol* const room_end) {
    while (out_ < room_end) {
      if (bits_.is_spent() && bits_.is_past_end()) return block_end::incomplete;
      if (is_literal() && put_literals_of_entry()) continue;
      if (is_special()) {
        if (enter_subtable()) continue;
        if (is_special()) return end_of_entry();
      }
      if (!copy()) return block_end::damaged;
    }
    return block_end::full;
  }

  [[nodiscard]] const deflate_bits& bits() const { return bits_; }
  [[nodiscard]] Symbol* out() const { return out_; }

 private:
  [[nodiscard]] bool is_literal() const { return (entry_ & tables::is_literal) != 0; }
  [[nodiscard]] bool is_special() const { return (entry_ & tables::is_special) != 0; }

  void look_up() { entry_ = literals_[bits_.peek() & literal_mask]; }

  void next_entry() {
    bits_.refill();
    look_up();
  }

  void put() {
    bits_.take(entry_ & 0xFFU);
    out_ = put_literals(out_, entry_);
  }

  /// Up to two entries of literals. Whether the next one is of literals, too.
  bool put_literals_of_entry() {
    put();
    look_up();
    if (is_literal()) {
      put();
      look_up();
    }
    bits_.refill();
    return is_literal();
  }

  /// Continues in a subtable, if the entry refers to one. Whether a literal was found there.
  bool enter_subtable() {
    if (((entry_ >> tables::kind_shift) & 3U) != tables::subtable) return false;
    bits_.take(tables::literal_bits);
    const std::uint32_t index_mask = (1U << ((entry_ >> 8U) & 0x1FU)) - 1;
    entry_ = literals_[((entry_ >> tables::offset_shift) & 0x7FFFU) + (bits_.peek() & index_mask)];
    if (!is_literal()) return false;
    put();
    next_entry();
    return true;
  }

  block_end end_of_entry() {
    bits_.take(entry_ & 0xFFU);
    const bool ended = ((entry_ >> tables::kind_shift) & 3U) == tables::end_of_block;
    return ended ? block_end::next : block_end::damaged;
  }

  /// A length and its distance. False if there is no such distance.
  bool copy() {
    const std::size_t length = value_of(entry_, 0x1FFU, bits_.peek());
    bits_.take(entry_ & 0xFFU);
    std::uint32_t reference = distances_[bits_.peek() & distance_mask];
    if ((reference & tables::is_special_distance) != 0) {
      const std::uint32_t offset = (reference >> 16U) & 0x7FFFU;
      if (offset == 0) return false;
      bits_.take(tables::distance_bits);
      reference = distances_[offset + (bits_.peek() & ((1U << ((reference >> 8U) & 0xFFU)) - 1))];
      if ((reference & tables::is_special_distance) != 0) return false;
    }
    const std::size_t distance = value_of(reference, 0x7FFFU, bits_.peek());
    bits_.take(reference & 0xFFU);
    next_entry();  // before the copy, so that both run at the same time
    if (distance > static_cast<std::size_t>(out_ - low_)) return false;
    out_ = copy_match(out_, out_ - distance, length);
    return true;
  }

  const std::uint32_t* literals_;
  const std::uint32_t* distances_;
  const Symbol* low_;
  deflate_bits bits_;
  Symbol* out_;
  std::uint32_t entry_ = 0;  // of the next bits
};

/// Decodes symbols to the end of a chunk, of which the text begins at `begin`.
template <class Symbol>
block_end decode_symbols(deflate_bits& bits, const tables& codes, deflate_text::chunk& chunk, Symbol* begin,
                         std::ptrdiff_t low) {
  symbol_loop<Symbol> loop(bits, codes, begin + chunk.size, begin + low);
  const block_end end = loop.run(begin + chunk.room);
  chunk.size = static_cast<std::size_t>(loop.out() - begin);
  bits = loop.bits();
  return end;
}

void append(deflate_text::chunk& chunk, std::span<const std::byte> bytes) {
  if (chunk.is_marked) {
    std::ranges::transform(bytes, chunk.symbols() + chunk.size,
                           [](std::byte byte) { return std::to_integer<std::uint16_t>(byte); });
  } else {
    std::copy_n(bytes.data(), bytes.size(), chunk.bytes() + chunk.size);
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
    const block_end end = chunk.is_marked ? decode_symbols(bits, tables_, chunk, chunk.symbols(), text.low())
                                          : decode_symbols(bits, tables_, chunk, chunk.bytes(), text.low());
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
