#include "io/archive/rpm_headers.hpp"

#include "io/failure.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::io {
namespace {

std::uint64_t big_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte each : bytes) value = value << 8U | std::to_integer<std::uint64_t>(each);
  return value;
}

[[noreturn]] void fail_short(const byte_sequence& package, const byte_reader& input) {
  throw input_error("ends early, within the headers of an rpm package, at " + input.place_of(package.at()), 0,
                    failure_kind::damaged, failure_origin::input, lack::end);
}

void pass(byte_sequence& package, std::uint64_t size, const byte_reader& input) {
  constexpr std::uint64_t step = std::uint64_t{64} << 10U;
  while (size > 0) {
    const std::size_t found = package.ahead(static_cast<std::size_t>(std::min(size, step))).size();
    if (found == 0) fail_short(package, input);
    const std::uint64_t passed = std::min<std::uint64_t>(found, size);
    package.pass(static_cast<std::size_t>(passed));
    size -= passed;
  }
}

// A signature or a header. Returns its size.
std::uint64_t pass_section(byte_sequence& package, const byte_reader& input) {
  constexpr std::string_view magic("\x8E\xAD\xE8\x01", 4);
  constexpr std::size_t intro_bytes = 16;  // magic, 4 reserved bytes, number of entries, size of their data
  constexpr std::uint64_t entry_bytes = 16;
  constexpr std::uint64_t most = std::uint64_t{256} << 20U;  // rpm's own limit
  const auto intro = package.ahead(intro_bytes);
  if (intro.size() < intro_bytes) fail_short(package, input);
  const std::uint64_t size = entry_bytes * big_endian(intro.subspan(8, 4)) + big_endian(intro.subspan(12, 4));
  if (!has_magic(intro, magic) || size > most) {
    throw input_error("damaged rpm package: no header is found where one should be, at " + input.place_of(package.at()),
                      0, failure_kind::damaged);
  }
  pass(package, intro_bytes + size, input);
  return intro_bytes + size;
}

}  // namespace

void pass_rpm_headers(byte_sequence& package, const byte_reader& input) {
  constexpr std::uint64_t lead_bytes = 96;
  constexpr std::uint64_t alignment = 8;
  pass(package, lead_bytes, input);
  const std::uint64_t signature = pass_section(package, input);
  pass(package, (alignment - signature % alignment) % alignment, input);
  pass_section(package, input);
}

}  // namespace gpuhist::io
