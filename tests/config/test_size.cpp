// Sizes and durations: every good form, every kind of bad form, and the rounded sizes for people.
#include "config/size.hpp"
#include "config/usage_error.hpp"
#include "tests/support/usage_errors.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using gpuhist::config::format_size;
using gpuhist::config::parse_duration;
using gpuhist::config::parse_size;
using gpuhist::config::usage_error;
using gpuhist::test::usage_error_of;

TEST_CASE("a size is a number of bytes with an optional unit in any case") {
  const std::vector<std::pair<std::string, std::uint64_t>> good = {
      {"0", 0},
      {"65536", 65536},
      {"17B", 17},
      {"64K", 65536},
      {"64k", 65536},
      {"64KiB", 65536},
      {"64kib", 65536},
      {"64KB", 64000},
      {"16MiB", 16777216},
      {"16m", 16777216},
      {"3mB", 3000000},
      {"1GB", 1000000000},
      {"1GiB", 1073741824},
      {"2T", 2199023255552},
      {"1tb", 1000000000000},
      {"9223372036854775808", std::uint64_t{1} << 63U},
      {"8388608T", std::uint64_t{1} << 63U},
  };
  for (const auto& [text, bytes] : good) {
    CAPTURE(text);
    CHECK(parse_size(text) == bytes);
  }
}

TEST_CASE("text that is not a size is refused, and the message shows the good forms") {
  for (const char* text :
       {"", " ", "K", "-1", "+1", "64 K", "64Q", "1.5G", "0x10", "1e3", "64KK", "10s", "K64", "1GiB "}) {
    CAPTURE(text);
    const std::string message = usage_error_of([&] { parse_size(text); });
    CHECK(message == "\"" + std::string(text) + "\" is not a size; good forms are 65536, 64K (= 64KiB), 16MiB, 1GB");
  }
}

TEST_CASE("a size above 2^63 is refused as too large and never wraps") {
  for (const char* text : {"9223372036854775809", "18446744073709551616", "8388609T", "99999999999999999999999K"}) {
    CAPTURE(text);
    CHECK(usage_error_of([&] { parse_size(text); }).find("is more than 2^63 bytes") != std::string::npos);
  }
}

TEST_CASE("a duration is a number with a unit of time") {
  const std::vector<std::pair<std::string, std::chrono::milliseconds>> good = {{"0s", 0ms},
                                                                               {"500ms", 500ms},
                                                                               {"10s", 10s},
                                                                               {"5m", 5min},
                                                                               {"1h", 1h},
                                                                               {"876000h", 876'000h},
                                                                               {"3153600000000ms", 876'000h}};
  for (const auto& [text, time] : good) {
    CAPTURE(text);
    CHECK(parse_duration(text) == time);
  }
}

TEST_CASE("text that is not a duration is refused, and the message shows the good forms") {
  for (const char* text : {"", "10", "s", "-1s", "1.5s", "10 s", "10S", "10M", "64MiB", "1d", "10sec"}) {
    CAPTURE(text);
    const std::string message = usage_error_of([&] { parse_duration(text); });
    CHECK(message == "\"" + std::string(text) + "\" is not a duration; good forms are 500ms, 10s, 5m, 1h");
  }
}

TEST_CASE("a duration above the longest one is refused, and the message names the longest one") {
  for (const char* text : {"3153600000001ms", "3153600001s", "52560001m", "876001h", "9223372036854775807ms",
                           "9223372036854775808ms", "18446744073709551616ms", "99999999999999999999h"}) {
    CAPTURE(text);
    CHECK(usage_error_of([&] { parse_duration(text); }) ==
          "\"" + std::string(text) + "\" is longer than the longest duration, 876000h (100 years)");
  }
}

TEST_CASE("both clocks can represent the current time plus the longest duration") {
  const auto fits = [](auto now) {
    const auto room = decltype(now)::max() - now;
    CHECK(gpuhist::config::longest_duration < room / 2);  // an interval after the next one, too
  };
  fits(std::chrono::steady_clock::now());
  fits(std::chrono::system_clock::now());
}

TEST_CASE("sizes for people have at most one decimal and the largest unit that fits") {
  const std::vector<std::pair<std::uint64_t, std::string>> shown = {
      {0, "0 bytes"},
      {1, "1 byte"},
      {17, "17 bytes"},
      {1023, "1023 bytes"},
      {1024, "1 KiB"},
      {1536, "1.5 KiB"},
      {(1U << 20U) - 1, "1 MiB"},
      {4U << 20U, "4 MiB"},
      {(std::uint64_t{3} << 30U) / 2, "1.5 GiB"},
      {std::uint64_t{1} << 63U, "8 EiB"},
      {~std::uint64_t{0}, "16 EiB"},
  };
  for (const auto& [bytes, text] : shown) CHECK(format_size(bytes) == text);
}
