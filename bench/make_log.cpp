// make_log SIZE: writes SIZE bytes of a synthetic, realistic web server log (or random bytes, or one letter) to
// standard output. The same arguments give the same bytes on every platform. Its output is the input of demonstrations,
// tests and measurements.
#include "bench/generator.hpp"
#include "bench/log_lines.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using gpuhist::bench::append_log_line;
using gpuhist::bench::generator;

void append_random(std::string& out, generator& random, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::array<char, sizeof word> text{};
    std::memcpy(text.data(), &word, sizeof word);
    out.append(text.data(), text.size());
  }
}

enum class kind { log, random, one_letter };

struct request {
  std::uint64_t bytes = 0;
  std::uint64_t seed = 1;
  kind content = kind::log;
};

/// Writes the whole text; false if the pipe is closed or the disk is full.
bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool produce(const request& asked) {
  constexpr std::size_t piece = std::size_t{1} << 18U;
  generator random(asked.seed);
  std::uint64_t clock = 0;
  std::string buffer;
  buffer.reserve(piece + 4096);
  for (std::uint64_t remaining = asked.bytes; remaining > 0;) {
    buffer.clear();
    switch (asked.content) {
      case kind::log:
        while (buffer.size() < piece) append_log_line(buffer, random, clock);
        break;
      case kind::random:
        append_random(buffer, random, piece);
        break;
      case kind::one_letter:
        buffer.assign(piece, 'e');
        break;
    }
    if (buffer.size() > remaining) buffer.resize(remaining);
    if (!write_all(buffer)) return false;
    remaining -= buffer.size();
  }
  return true;
}

/// "64MiB", "1GiB", "12345".
std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty()) return number;
  if (unit == "KiB") return number << 10U;
  if (unit == "MiB") return number << 20U;
  if (unit == "GiB") return number << 30U;
  return std::nullopt;
}

std::optional<kind> parse_kind(std::string_view text) {
  if (text == "log") return kind::log;
  if (text == "random") return kind::random;
  if (text == "one-letter") return kind::one_letter;
  return std::nullopt;
}

std::optional<request> parse(const std::vector<std::string_view>& arguments) {
  request asked;
  bool sized = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_value = i + 1 < arguments.size();
    if (arguments[i] == "--seed" && has_value) {
      const auto seed = parse_bytes(arguments[++i]);
      if (!seed) return std::nullopt;
      asked.seed = *seed;
    } else if (arguments[i] == "--kind" && has_value) {
      const auto content = parse_kind(arguments[++i]);
      if (!content) return std::nullopt;
      asked.content = *content;
    } else {
      const auto bytes = parse_bytes(arguments[i]);
      if (!bytes || sized) return std::nullopt;
      asked.bytes = *bytes;
      sized = true;
    }
  }
  return sized ? std::optional(asked) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const auto asked = parse({argv + 1, argv + argc});
  if (!asked) {
    std::cerr << "usage: make_log SIZE [--seed N] [--kind log|random|one-letter] > FILE   (SIZE: 64MiB, 1GiB, 12345)\n";
    return 2;
  }
  if (produce(*asked)) return 0;
  std::cerr << "make_log: cannot write: " << std::system_category().message(errno) << '\n';
  return 1;
}
