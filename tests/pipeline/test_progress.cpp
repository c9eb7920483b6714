// Where progress is shown, how many bytes there are to read, and rates over a sliding window at times chosen by the
// test.
#include "pipeline/flow/inputs/source_bytes.hpp"
#include "report/output/progress.hpp"
#include "report/output/rate_window.hpp"

#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

TEST_CASE("by default progress is shown only on a terminal, in its foreground, and not if input is typed there") {
  for (int bits = 0; bits < 8; ++bits) {
    const bool terminal = (bits & 1) != 0;
    const bool foreground = (bits & 2) != 0;
    const bool typed_on = (bits & 4) != 0;
    const progress_style expected = terminal && foreground && !typed_on ? progress_style::line : progress_style::none;
    CHECK(choose_progress_style(
              {.requested = {}, .terminal = terminal, .foreground = foreground, .typed_on = typed_on}) == expected);
  }
}

TEST_CASE("--progress shows it anywhere, --no-progress and -q nowhere") {
  for (const bool terminal : {false, true}) {
    for (const bool unrelated : {false, true}) {
      progress_setting setting{.requested = true, .terminal = terminal, .foreground = unrelated, .typed_on = unrelated};
      CHECK(choose_progress_style(setting) == (terminal ? progress_style::line : progress_style::log));
      setting.quiet = true;
      CHECK(choose_progress_style(setting) == progress_style::none);
      setting = {.requested = false, .terminal = terminal, .foreground = unrelated, .typed_on = unrelated};
      CHECK(choose_progress_style(setting) == progress_style::none);
    }
  }
}

TEST_CASE("the bytes to read are the sum of regular files, each as often as it is named") {
  const test::temporary_folder folder;
  const std::string large = folder.file("large", std::string(1000, 'x'));
  const std::string small = folder.file("small", "12");
  CHECK(source_bytes_of(std::vector<std::string>{large, small, large}) == 2002);
}

TEST_CASE("one input of unknown size makes the sum unknown, and it is not opened to find out") {
  const test::temporary_folder folder;
  const std::string file = folder.file("file", "12");
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);  // opening it would wait for a writer
  CHECK_FALSE(source_bytes_of(std::vector<std::string>{file, fifo}).has_value());
  CHECK_FALSE(source_bytes_of(std::vector<std::string>{file, "/dev/null"}).has_value());
}

TEST_CASE("inputs that will fail have no bytes to read") {
  const test::temporary_folder folder;
  const std::string file = folder.file("file", "12");
  CHECK(source_bytes_of(std::vector<std::string>{file, file + ".missing", "/tmp"}) == 2);
}

namespace {

run_progress at(double seconds, std::uint64_t source, std::uint64_t text) {
  return {.source_bytes = source, .text_bytes = text, .seconds = seconds};
}

}  // namespace

TEST_CASE("a run that is younger than the window has the rates since its start") {
  rate_window window(3);
  CHECK(window.rates().source == 0);
  window.add(at(0.5, 100, 1000));
  window.add(at(2, 400, 3000));
  CHECK(window.rates().source == doctest::Approx(200));
  CHECK(window.rates().text == doctest::Approx(1500));
}

TEST_CASE("times before the window do not count: a run that stalls for a whole window has rate 0") {
  rate_window window(3);
  for (int i = 1; i <= 100; ++i) window.add(at(0.2 * i, 1000ULL * static_cast<unsigned>(i), 0));
  CHECK(window.rates().source == doctest::Approx(5000));
  for (int i = 101; i <= 115; ++i) window.add(at(0.2 * i, 100'000, 0));
  CHECK(window.rates().source < 100);
  window.add(at(0.2 * 117, 100'000, 0));
  CHECK(window.rates().source == 0);
}

TEST_CASE("a run that becomes faster shows its new rate one window later") {
  rate_window window(3);
  for (int second = 1; second <= 10; ++second) window.add(at(second, 100ULL * static_cast<unsigned>(second), 0));
  for (int second = 11; second <= 13; ++second) window.add(at(second, 1000ULL * static_cast<unsigned>(second - 9), 0));
  CHECK(window.rates().source == doctest::Approx(1000));
}

TEST_CASE("samples that are farther apart than the window are compared in pairs") {
  rate_window window(3);
  window.add(at(10, 100, 0));
  window.add(at(20, 1100, 0));
  CHECK(window.rates().source == doctest::Approx(100));
}
