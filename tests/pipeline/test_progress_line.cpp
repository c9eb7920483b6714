// The text of the progress line and of the status line.
#include "report/output/progress.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace gpuhist::report;

namespace {

constexpr std::uint64_t mib = 1ULL << 20U;
constexpr std::uint64_t gib = 1ULL << 30U;

progress_view archive() {
  return {.now = {.source_bytes = 13 * gib / 10, .text_bytes = 98 * gib / 10, .seconds = 5},
          .rates = {.source = 280.0 * mib, .text = 2.1 * gib},
          .total = 31 * gib / 10,
          .compressed = true};
}

progress_view raw_stream() {
  return {.now = {.source_bytes = 700 * mib, .text_bytes = 699 * mib, .seconds = 12.2},
          .rates = {.source = 57.6 * mib, .text = 57.6 * mib},
          .total = {},
          .compressed = false};
}

}  // namespace

TEST_CASE("for an archive: the share of its bytes on disk, both amounts and rates, and the time left") {
  CHECK(progress_line(archive(), 79) ==
        " 41 %  1.3 of 3.1 GiB read (280 MiB/s), 9.8 GiB counted (2.1 GiB/s), 7 s left");
}

TEST_CASE("for uncompressed text: only the amount read, because the same amount is counted") {
  progress_view view = raw_stream();
  CHECK(progress_line(view, 79) == "700 MiB read (58 MiB/s), 13 s");
  view.total = 1400 * mib;
  CHECK(progress_line(view, 79) == " 50 %  0.7 of 1.4 GiB read (58 MiB/s), 13 s left");
}

TEST_CASE("without a size the line shows the elapsed time, and no share") {
  progress_view view = archive();
  view.total.reset();
  CHECK(progress_line(view, 79) == "1.3 GiB read (280 MiB/s), 9.8 GiB counted (2.1 GiB/s), 5 s");
}

TEST_CASE("a file that grew past its size, and one without bytes, have no share") {
  progress_view view = archive();
  for (const std::uint64_t total : {gib, std::uint64_t{0}}) {
    view.total = total;
    CHECK(progress_line(view, 200).find('%') == std::string::npos);
    CHECK(progress_line(view, 200).find("left") == std::string::npos);
  }
}

TEST_CASE("a stalled run shows no time left, and one that has read everything is at 100 %") {
  progress_view view = archive();
  view.rates = {};
  CHECK(progress_line(view, 200) == " 41 %  1.3 of 3.1 GiB read (0 B/s), 9.8 GiB counted (0 B/s)");
  view = archive();
  view.now.source_bytes = *view.total;
  CHECK(progress_line(view, 200).starts_with("100 %  3.1 of 3.1 GiB read"));
  CHECK(progress_line(view, 200).find("left") == std::string::npos);
  --view.now.source_bytes;
  CHECK(progress_line(view, 200).starts_with(" 99 %"));
}

TEST_CASE("a line fits every width and keeps the most important parts: share, amount, time") {
  for (const progress_view& view : {archive(), raw_stream()}) {
    for (std::size_t width = 1; width < 200; ++width) {
      const std::string line = progress_line(view, width);
      CAPTURE(line);
      CHECK(line.size() <= width);
      CHECK_FALSE(line.empty());
      CHECK(progress_line(view, 200).size() >= line.size());
    }
  }
  CHECK(progress_line(archive(), 67) == " 41 %  1.3 of 3.1 GiB read, 9.8 GiB counted (2.1 GiB/s), 7 s left");
  CHECK(progress_line(archive(), 40) == " 41 %  9.8 GiB (2.1 GiB/s), 7 s left");
  CHECK(progress_line(archive(), 24) == " 41 %  9.8 GiB, 7 s left");
  CHECK(progress_line(archive(), 20) == " 41 %  9.8 GiB");
  CHECK(progress_line(archive(), 5) == " 41 %");
}

TEST_CASE("a line is ASCII without control characters, whatever the numbers") {
  for (const double rate : {0.0, 1e-9, 999.4, 999.6, 1e6, 999.6e6, 1e30}) {
    for (const std::uint64_t bytes : {0ULL, 1ULL, 1023ULL, 1024ULL, 1047552ULL, ~0ULL}) {
      const progress_view view{.now = {.source_bytes = bytes / 2, .text_bytes = bytes, .seconds = 1e9},
                               .rates = {.source = rate, .text = rate},
                               .total = bytes,
                               .compressed = true};
      for (const char c : progress_line(view, 500)) CHECK((c >= ' ' && c <= '~'));
    }
  }
}

TEST_CASE("amounts and rates change their unit before they need a fourth digit") {
  progress_view view = raw_stream();
  const auto shown = [&](std::uint64_t bytes, double rate) {
    view.now.source_bytes = bytes;
    view.rates.source = rate;
    return progress_line(view, 200);
  };
  CHECK(shown(1023, 999) == "1023 B read (999 B/s), 13 s");
  CHECK(shown(1024, 1023.6) == "1.0 KiB read (1.0 KiB/s), 13 s");
  CHECK(shown(1024 * 1024 - 1, 1024 * 1023.6) == "1.0 MiB read (1.0 MiB/s), 13 s");
  CHECK(shown(10 * mib, 9.9 * mib) == "10 MiB read (9.9 MiB/s), 13 s");
  CHECK(shown(10 * mib, 9.96 * mib) == "10 MiB read (10 MiB/s), 13 s");
}

TEST_CASE("times are shown in their two largest units, rounded up") {
  CHECK(for_people(0) == "0 s");
  CHECK(for_people(0.1) == "1 s");
  CHECK(for_people(4) == "4 s");
  CHECK(for_people(59.5) == "1 min 0 s");
  CHECK(for_people(80) == "1 min 20 s");
  CHECK(for_people(2 * 3600 + 5 * 60 + 59) == "2 h 5 min");
  CHECK(for_people(3 * 86400 + 4 * 3600) == "3 d 4 h");
  CHECK(for_people(-1) == "0 s");
}

TEST_CASE("the status line is exact in bytes") {
  CHECK(status_line({.source_bytes = 1, .text_bytes = 300000, .seconds = 1.5}) ==
        "300,000 bytes counted, 1 byte read, 1.50 s, 200,000 bytes/s");
  CHECK(status_line({}) == "0 bytes counted, 0 bytes read, 0.00 s, 0 bytes/s");
}
