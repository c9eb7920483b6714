#include "gpu/cuda/units/searched_strings.hpp"

#include <algorithm>
#include <string_view>

namespace gpuhist::gpu::cuda::units {
namespace {

constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

// As a byte of lines of logs.
unsigned rarity(char c) {
  constexpr std::string_view frequent = "etaoinsrdl ";
  if (frequent.find(c) != std::string_view::npos || is_digit(c)) return 2;
  return is_lower(c) ? 3 : 4;
}

struct window {
  std::size_t begin = 0;
  std::size_t size = 0;
  unsigned rarity = 0;
};

// The rarest one. Without bytes: there is none.
window window_of(const searched_string& string, std::size_t most) {
  window best;
  for (std::size_t begin = 0; begin < string.text.size(); ++begin) {
    window tried{.begin = begin};
    for (std::size_t at = begin; at < string.text.size() && tried.size < most; ++at, ++tried.size) {
      const char c = string.ignores_case ? lower(string.text[at]) : string.text[at];
      if (string.ignores_case && (c == 'k' || c == 's')) break;
      tried.rarity += rarity(c);
    }
    if (tried.rarity > best.rarity) best = tried;
  }
  return best;
}

std::uint32_t field_bits_for(std::size_t strings) { return strings <= 4 ? 8 : strings <= 8 ? 4 : 2; }

}  // namespace

std::size_t searched_string::longest() const {
  constexpr std::size_t bytes_of_long_s = 2;
  constexpr std::size_t bytes_of_kelvin_sign = 3;
  std::size_t sum = 0;
  for (const char each : text) {
    const char c = ignores_case ? lower(each) : '\0';
    sum += c == 's' ? bytes_of_long_s : c == 'k' ? bytes_of_kelvin_sign : 1;
  }
  return sum;
}

std::optional<searched_strings> searched_strings::make(std::span<const searched_string> of, std::byte delimiter) {
  if (of.empty() || of.size() > max_strings) return std::nullopt;
  searched_strings made{.field_bits = field_bits_for(of.size()), .count = static_cast<std::uint32_t>(of.size())};
  std::uint16_t used = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const searched_string& string = of[i];
    const window chosen = window_of(string, made.field_bits);
    if (chosen.size == 0 || string.longest() > max_bytes) return std::nullopt;
    if (string.text.find(static_cast<char>(delimiter)) != std::string::npos) return std::nullopt;
    made.longest = std::max(made.longest, static_cast<std::uint32_t>(string.longest()));
    made.strings[i] = {.at = used,
                       .size = static_cast<std::uint8_t>(string.text.size()),
                       .window = static_cast<std::uint8_t>(chosen.begin),
                       .in_window = static_cast<std::uint8_t>(chosen.size),
                       .ignores_case = static_cast<std::uint8_t>(string.ignores_case ? 1 : 0)};
    for (const char each : string.text) {
      made.bytes[used++] = static_cast<std::uint8_t>(string.ignores_case ? lower(each) : each);
    }
    // the last bytes of the field
    const std::size_t first_bit = i * made.field_bits + made.field_bits - chosen.size;
    made.begins |= 1U << first_bit;
    made.ends |= 1U << ((i + 1) * made.field_bits - 1);
    for (std::size_t at = 0; at < chosen.size; ++at) {
      const char c = string.text[chosen.begin + at];
      const std::uint32_t bit = 1U << (first_bit + at);
      made.filter[static_cast<unsigned char>(c)] |= bit;
      if (!string.ignores_case) continue;
      made.filter[static_cast<unsigned char>(lower(c))] |= bit;
      made.filter[static_cast<unsigned char>(upper(c))] |= bit;
    }
  }
  return made;
}

}  // namespace gpuhist::gpu::cuda::units
