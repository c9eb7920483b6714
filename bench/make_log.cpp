// make_log SIZE: writes SIZE bytes of a made-up, realistic web server log (or random bytes, or one letter) to standard
// output. The same arguments give the same bytes everywhere: the input of demonstrations, tests and measurements.
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

using std::string_view_literals::operator""sv;

/// SplitMix64 (Steele, Lea, Flood 2014): deterministic everywhere, which std's distributions are not.
class generator {
 public:
  explicit generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  /// 0 to bound-1.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32U) * static_cast<std::uint64_t>(bound)) >> 32U);
  }

 private:
  std::uint64_t state_;
};

constexpr std::array hosts{"web-01"sv, "web-02"sv, "web-17"sv, "edge-fra"sv, "edge-gru"sv, "api-blue"sv, "cache-3"sv};
constexpr std::array levels{"INFO"sv, "INFO"sv, "INFO"sv, "INFO"sv, "INFO"sv, "DEBUG"sv, "WARN"sv, "ERROR"sv};
constexpr std::array methods{"GET"sv, "GET"sv, "GET"sv, "GET"sv, "POST"sv, "HEAD"sv, "DELETE"sv};
constexpr std::array statuses{"200"sv, "200"sv, "200"sv, "200"sv, "304"sv, "302"sv, "404"sv, "500"sv};
constexpr std::array paths{"/"sv,
                           "/index.html"sv,
                           "/api/v2/orders"sv,
                           "/api/v2/orders/search"sv,
                           "/static/app.js"sv,
                           "/img/größe.png"sv,
                           "/login"sv,
                           "/products/naïve-café"sv,
                           "/health"sv,
                           "/api/v2/users/profile"sv,
                           "/検索"sv,
                           "/assets/fonts/q.woff2"sv};
constexpr std::array agents{
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"sv,
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36"sv,
    "curl/8.8.0"sv, "kube-probe/1.30"sv, "python-requests/2.32"sv};

template <std::size_t N>
std::string_view pick(generator& random, const std::array<std::string_view, N>& from) {
  return from[random.below(N)];
}

void append_number(std::string& out, std::uint64_t number, std::size_t digits) {
  std::array<char, 20> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  const auto length = static_cast<std::size_t>(end - text.data());
  if (length < digits) out.append(digits - length, '0');
  out.append(text.data(), length);
}

/// Milliseconds since the start of a day as "2026-03-14T09:26:53.589Z"; days are not carried into months.
void append_time(std::string& out, std::uint64_t milliseconds) {
  out += "2026-03-";
  append_number(out, 1 + milliseconds / 86'400'000 % 31, 2);
  out += 'T';
  append_number(out, milliseconds / 3'600'000 % 24, 2);
  out += ':';
  append_number(out, milliseconds / 60'000 % 60, 2);
  out += ':';
  append_number(out, milliseconds / 1000 % 60, 2);
  out += '.';
  append_number(out, milliseconds % 1000, 3);
  out += 'Z';
}

void append_line(std::string& out, generator& random, std::uint64_t& clock) {
  clock += random.below(40);
  append_time(out, clock);
  ((((out += ' ') += pick(random, hosts)) += ' ') += pick(random, levels)) += " client=10.0.";
  append_number(out, random.below(256), 1);
  out += '.';
  append_number(out, random.below(256), 1);
  ((((out += " \"") += pick(random, methods)) += ' ') += pick(random, paths)) += "?id=";
  append_number(out, random.below(1'000'000), 1);
  ((out += " HTTP/1.1\" ") += pick(random, statuses)) += ' ';
  append_number(out, random.below(200'000), 1);
  out += " \"";
  out += pick(random, agents);
  out += "\" ";
  append_number(out, random.below(2000), 1);
  out += "ms\n";
}

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
  kind what = kind::log;
};

/// Writes all of it; false when nobody reads any more or the disk is full.
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
  for (std::uint64_t left = asked.bytes; left > 0;) {
    buffer.clear();
    switch (asked.what) {
      case kind::log:
        while (buffer.size() < piece) append_line(buffer, random, clock);
        break;
      case kind::random:
        append_random(buffer, random, piece);
        break;
      case kind::one_letter:
        buffer.assign(piece, 'e');
        break;
    }
    if (buffer.size() > left) buffer.resize(left);
    if (!write_all(buffer)) return false;
    left -= buffer.size();
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
      const auto what = parse_kind(arguments[++i]);
      if (!what) return std::nullopt;
      asked.what = *what;
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
