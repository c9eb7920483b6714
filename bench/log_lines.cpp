// A synthetic, realistic web server log.
#include "bench/log_lines.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace gpuhist::bench {
namespace {

using std::string_view_literals::operator""sv;

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

}  // namespace

void append_log_line(std::string& out, generator& random, std::uint64_t& clock) {
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

}  // namespace gpuhist::bench
