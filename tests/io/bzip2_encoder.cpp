#include "tests/io/bzip2_encoder.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace gpuhist::test {
namespace {

using bytes8 = std::vector<std::uint8_t>;

bytes8 with_runs(std::span<const std::byte> text) {
  bytes8 out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 1;
    while (at + length < text.size() && length < 259 && text[at + length] == text[at]) ++length;
    out.insert(out.end(), std::min<std::size_t>(length, 4), std::to_integer<std::uint8_t>(text[at]));
    if (length >= 4) out.push_back(static_cast<std::uint8_t>(length - 4));
    at += length;
  }
  return out;
}

/// Flips the lowest bit of the bytes before the first distances of the format: enough for blocks of 2000 bytes.
void randomise(bytes8& block) {
  constexpr std::array distances{619U, 720U, 127U, 481U, 931U};
  std::size_t at = 0;
  for (const std::size_t distance : distances) {
    if (at + distance - 2 < block.size()) block[at + distance - 2] ^= 1U;
    at += distance;
  }
}

struct transformed {
  bytes8 last;
  std::size_t origin = 0;
};

transformed transform(const bytes8& block) {
  std::vector<std::size_t> rows(block.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::ranges::stable_sort(rows, [&](std::size_t left, std::size_t right) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::uint8_t a = block[(left + i) % block.size()];
      const std::uint8_t b = block[(right + i) % block.size()];
      if (a != b) return a < b;
    }
    return left < right;
  });
  transformed out;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row] == 0) out.origin = row;
    out.last.push_back(block[(rows[row] + block.size() - 1) % block.size()]);
  }
  return out;
}

void put_run(std::vector<unsigned>& symbols, std::size_t length) {
  for (; length > 0; length = (length - 1) / 2) symbols.push_back(length % 2 == 1 ? 0 : 1);
}

/// Move to front, runs of zeros, end of block.
std::vector<unsigned> symbols_of(const bytes8& last, bytes8 list) {
  const auto end_of_block = static_cast<unsigned>(list.size()) + 1;
  std::vector<unsigned> symbols;
  std::size_t run = 0;
  for (const std::uint8_t byte : last) {
    const auto place = std::ranges::find(list, byte);
    if (place == list.begin()) {
      ++run;
      continue;
    }
    put_run(symbols, run);
    run = 0;
    symbols.push_back(static_cast<unsigned>(place - list.begin()) + 1);
    std::rotate(list.begin(), place, place + 1);
  }
  put_run(symbols, run);
  symbols.push_back(end_of_block);
  return symbols;
}

void put_used(bit_writer& out, const bytes8& used) {
  std::array<std::uint32_t, 16> groups{};
  for (const std::uint8_t byte : used) groups[byte / 16U] |= 0x8000U >> (byte % 16U);
  for (const std::uint32_t group : groups) out.put(group != 0 ? 1 : 0, 1);
  for (const std::uint32_t group : groups) {
    if (group != 0) out.put(group, 16);
  }
}

void put_lengths(bit_writer& out, const bytes8& lengths) {
  std::uint8_t length = lengths.front();
  out.put(length, 5);
  for (const std::uint8_t wanted : lengths) {
    for (; length < wanted; ++length) out.put(2, 2);
    for (; length > wanted; --length) out.put(3, 2);
    out.put(0, 1);
  }
}

/// The code words in the order of their lengths and symbols.
std::vector<std::uint64_t> words_of(const bytes8& lengths) {
  std::vector<std::uint64_t> words(lengths.size());
  std::uint64_t next = 0;
  for (unsigned length = 1; length <= 20; ++length) {
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      if (lengths[symbol] == length) words[symbol] = next++;
    }
    next *= 2;
  }
  return words;
}

}  // namespace

std::uint32_t bzip2_crc_of(std::span<const std::byte> text) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::byte byte : text) {
    crc ^= std::to_integer<std::uint32_t>(byte) << 24U;
    for (int bit = 0; bit < 8; ++bit) crc = crc << 1U ^ ((crc & 0x80000000U) != 0 ? 0x04C11DB7U : 0U);
  }
  return ~crc;
}

bzip2_stream_writer::bzip2_stream_writer(char level) {
  for (const char each : {'B', 'Z', 'h', level}) out_.put(static_cast<std::uint8_t>(each), 8);
}

void bzip2_stream_writer::block(std::span<const std::byte> text, const bzip2_block_settings& settings) {
  const std::uint32_t crc = bzip2_crc_of(text) ^ settings.crc_change;
  combined_ = (combined_ << 1U | combined_ >> 31U) ^ crc;
  transformed sorted;
  if (settings.symbols.empty()) {
    bytes8 block = with_runs(text);
    if (settings.randomised) randomise(block);
    sorted = transform(block);
  }
  std::set<std::uint8_t> letters(sorted.last.begin(), sorted.last.end());
  letters.insert(settings.letters.begin(), settings.letters.end());
  const bytes8 used(letters.begin(), letters.end());
  const std::vector<unsigned> symbols = settings.symbols.empty() ? symbols_of(sorted.last, used) : settings.symbols;
  const bytes8 lengths = settings.lengths.empty() ? bytes8(used.size() + 2, 9) : settings.lengths;
  const std::vector<std::uint64_t> words = words_of(lengths);
  const auto selectors = static_cast<unsigned>((symbols.size() + 49) / 50) + settings.selectors_added;

  out_.put(0x314159265359, 48);
  out_.put(crc, 32);
  out_.put(settings.randomised ? 1 : 0, 1);
  out_.put(static_cast<std::uint64_t>(static_cast<std::int64_t>(sorted.origin) + settings.origin_change), 24);
  put_used(out_, used);
  out_.put(settings.codes, 3);
  out_.put(selectors, 15);
  for (unsigned i = 0; i < selectors; ++i) out_.put(0, 1);
  for (unsigned i = 0; i < settings.codes; ++i) put_lengths(out_, lengths);
  for (const unsigned symbol : symbols) out_.put(words[symbol], lengths[symbol]);
}

byte_vector bzip2_stream_writer::finish(std::uint32_t crc_change) {
  out_.put(0x177245385090, 48);
  out_.put(combined_ ^ crc_change, 32);
  return out_.bytes();
}

}  // namespace gpuhist::test
