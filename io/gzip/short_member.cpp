#include "io/gzip/short_member.hpp"

#include "io/gzip/deflate_codes.hpp"

#include <algorithm>

namespace gpuhist::io {
namespace {

constexpr unsigned dynamic_block = 2;

constexpr unsigned reversed(unsigned code, unsigned length) {
  unsigned out = 0;
  for (unsigned bit = 0; bit < length; ++bit, code >>= 1U) out = out << 1U | (code & 1U);
  return out;
}

constexpr std::array<std::uint8_t, 32> reversed_5 = [] {
  std::array<std::uint8_t, 32> all{};
  for (unsigned code = 0; code < all.size(); ++code) all[code] = static_cast<std::uint8_t>(reversed(code, 5));
  return all;
}();

}  // namespace

void short_member::code::clear() {
  number = 0;
  of_length = {};
}

void short_member::code::add(std::size_t symbol, unsigned length) {
  symbols[number++] = {.symbol = static_cast<std::uint16_t>(symbol), .length = static_cast<std::uint16_t>(length)};
  ++of_length[length];
}

// Codes in canonical order: by length, then by symbol. One code of one bit is permitted alone.
bool short_member::code::build() {
  unsigned longest = 15;
  while (longest > 0 && of_length[longest] == 0) --longest;
  if (longest > most_code_bits) return false;
  mask = (std::uint64_t{1} << longest) - 1;
  std::array<unsigned, most_code_bits + 1> next{};
  unsigned code = 0;
  for (unsigned length = 1; length <= longest; ++length) {
    code = (code + of_length[length - 1]) << 1U;
    next[length] = code;
  }
  const bool is_complete = code + of_length[longest] == mask + 1;
  if (!is_complete && (number > 1 || longest > 1)) return false;
  if (!is_complete) std::fill_n(table.begin(), mask + 1, entry{});
  for (const entry& each : std::span(symbols).first(number)) {
    const unsigned bits = next[each.length]++;
    const unsigned of_ten = static_cast<unsigned>(reversed_5[bits & 31U]) << 5U | reversed_5[bits >> 5U];
    const std::size_t step = std::size_t{1} << each.length;
    for (std::size_t at = of_ten >> (most_code_bits - each.length); at <= mask; at += step) table[at] = each;
  }
  return true;
}

std::optional<short_member::decoded> short_member::decode(std::span<const std::byte> in, std::span<std::byte> out) {
  if (in.size() <= deflate_bits::padding || (std::to_integer<unsigned>(in[0]) >> 1U & 3U) != dynamic_block) return {};
  deflate_bits bits(in.first(in.size() - deflate_bits::padding));
  out = out.first(std::min(out.size(), most_text));
  std::size_t size = 0;
  for (bool is_last = false; !is_last;) {
    is_last = bits.read(1) == 1;
    if (bits.read(2) != dynamic_block || !read_codes(bits)) return {};
    const auto end = decode_text(bits, out, size);
    if (!end || bits.is_past_end()) return {};
    size = *end;
  }
  return decoded{.in = static_cast<std::size_t>((bits.position() + 7) / 8), .out = size};
}

bool short_member::read_precode(deflate_bits& bits, unsigned number) {
  std::array<std::uint8_t, precode_order.size()> lengths{};
  for (unsigned i = 0; i < number; ++i) lengths[precode_order[i]] = static_cast<std::uint8_t>(bits.read(3));
  precode_.clear();
  for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
    if (lengths[symbol] != 0) precode_.add(symbol, lengths[symbol]);
  }
  return precode_.number > 1 && precode_.build();
}

bool short_member::read_codes(deflate_bits& bits) {
  const std::size_t literals = 257 + bits.read(5);
  const std::size_t total = literals + 1 + bits.read(5);
  if (literals > max_literal_codes || total - literals > max_distance_codes) return false;
  if (!read_precode(bits, 4 + bits.read(4))) return false;
  literals_.clear();
  distances_.clear();
  unsigned last = 0;
  for (std::size_t at = 0; at < total;) {
    bits.refill();
    const code::entry found = precode_.find(bits.peek());
    bits.take(found.length);
    std::size_t times = 1;
    if (found.symbol < 16) {
      last = found.symbol;
    } else if (found.symbol == 16) {
      if (at == 0) return false;
      times = 3 + bits.read(2);
    } else {
      last = 0;
      times = found.symbol == 17 ? 3 + bits.read(3) : 11 + bits.read(7);
    }
    if (times > total - at) return false;
    if (last == 0) at += times;
    for (; last != 0 && times > 0; --times, ++at) {
      at < literals ? literals_.add(at, last) : distances_.add(at - literals, last);
    }
  }
  return literals_.number > 1 && literals_.build() && (distances_.number == 0 || distances_.build());
}

// `at`: the end of the text so far. Returns the end of that of the block.
std::optional<std::size_t> short_member::decode_text(deflate_bits& bits, std::span<std::byte> out,
                                                     std::size_t at) const {
  for (;;) {
    bits.refill();
    const code::entry found = literals_.find(bits.peek());
    bits.take(found.length);
    if (found.symbol < end_code) {
      if (at == out.size()) return {};
      out[at++] = static_cast<std::byte>(found.symbol);
      continue;
    }
    if (found.symbol == end_code) return at;
    const std::size_t index = found.symbol - end_code - 1;
    if (index >= length_bases.size() || distances_.number == 0) return {};
    const std::size_t length = length_bases[index] + bits.read(length_extras[index]);
    bits.refill();
    const code::entry back = distances_.find(bits.peek());
    bits.take(back.length);
    if (back.length == 0 || back.symbol >= distance_bases.size()) return {};
    const std::size_t distance = distance_bases[back.symbol] + bits.read(distance_extras[back.symbol]);
    if (distance > at || length > out.size() - at) return {};
    for (const std::size_t end = at + length; at < end; ++at) out[at] = out[at - distance];
  }
}

}  // namespace gpuhist::io
