// The lines that --stats prints for people.
#include "report/formats/report.hpp"
#include "report/formats/text.hpp"
#include "report/formats/text_table.hpp"

#include "tests/pipeline/report_samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace gpuhist::pipeline;
using namespace gpuhist::test;

TEST_CASE("the statistics for people have one line per stage and end with what limited the run and what would help") {
  run_stats stats = some_stats();
  const std::string text = render_stats(stats, {});
  CHECK(line_with(text, "engine") == "engine      host (no CUDA device)");
  CHECK(line_with(text, "kernel") == "kernel      ranges/AVX3, 2 threads, ready after 0.000 s");
  CHECK(line_with(text, "partition") == "partition   8 classes of the 256 byte values for letters, classes");
  CHECK(line_with(text, "text") == "text        1,000 bytes in 1.000 s = 0.00 GB/s");
  CHECK(line_with(text, "chunks") == "chunks      4 chunks through 16 slots of 256 KiB, 2 threads");
  CHECK(line_with(text, "decompress") == "decompress  not compressed");
  CHECK(line_with(text, "memory") == "memory      14 MiB at most, of a limit of 1 GiB");
  CHECK(line_with(text, "stage") == "stage  bytes  busy s  waiting s  workers    busy  GB/s busy");
  CHECK(line_with(text, "read") == "read   1,000   0.500      0.250        1  50.0 %       0.00");
  CHECK(line_with(text, "count") == "count  1,000   0.750      0.125        2  37.5 %       0.00");
  CHECK(line_with(text, "device").empty());
  const std::vector<std::string> lines = lines_of(text);
  CHECK(lines[lines.size() - 2] == "limited by: read: busy 50 % of the time");
  CHECK(lines.back() == "would help: giving files by name");
  stats.counting.timeline = {4, 3, 2, 1};
  stats.counted_classes = 256;
  CHECK(line_with(render_stats(stats, {}), "device") ==
        "device      4.000 s: copies busy 3.000 s, kernels busy 2.000 s, both at once 1.000 s");
  CHECK(line_with(render_stats(stats, {}), "partition").ends_with("for letters, classes, folded from 256"));
  CHECK_NOTHROW(render_stats(run_stats{}, {}));
}

TEST_CASE("every manner of reading has a line with the number of its inputs") {
  const std::string text = render_stats(some_stats(), {});
  CHECK(line_with(text, "inputs") == "inputs      2 inputs: pread in ranges of 256 KiB by 2 threads");
  CHECK(
      text.find("\n            1 input: pipe of 1 MiB, straight into the slots\n            up to 6 reads at once\n") !=
      std::string::npos);
}

TEST_CASE("the slots over time are one line: blocks or digits, and the shares of the phases") {
  CHECK(line_with(render_stats(some_stats(), {.unicode = true}), "slots") ==
        "slots       \u2581\u2585\u2588\u2583  free 63 %, filling 13 %, counting 25 %");
  CHECK(line_with(render_stats(some_stats(), {.unicode = false}), "slots") ==
        "slots       0593  free 63 %, filling 13 %, counting 25 %");
  run_stats longer = some_stats();
  longer.slots_over_time.in_use.assign(64, 0.5);
  for (const unsigned width : {60U, 80U, 100U, 200U}) {
    const std::string line = line_with(render_stats(longer, {.unicode = true, .width = width}), "slots");
    CHECK(columns(line) <= std::max(width, 63U));
    CHECK(columns(line) > width / 2);
  }
}

TEST_CASE("a sparkline has one column per share, or the mean of neighbours if there are more shares than columns") {
  const std::vector<double> shares = {0, 0.001, 0.5, 0.999, 1, 2, -1};
  CHECK(sparkline(shares, 7, false) == "0159990");
  CHECK(sparkline(shares, 100, false) == "0159990");
  CHECK(sparkline(shares, 7, true) == "\u2581\u2582\u2585\u2588\u2588\u2588\u2581");
  CHECK(sparkline(std::vector<double>{0, 1, 1, 1, 0}, 3, false) == "590");
  CHECK(sparkline(std::vector<double>(64, 1.0), 20, false) == std::string(16, '9'));
  CHECK(sparkline({}, 5, true).empty());
  CHECK(sparkline(shares, 0, true).empty());
}

TEST_CASE("the table of stages drops columns if the width is insufficient, but never the busy share") {
  for (const unsigned width : {24U, 30U, 40U, 60U, 80U}) {
    for (const std::string& line : lines_of(render_stats(some_stats(), {.width = width}))) {
      if (line.starts_with("read ")) CHECK((columns(line) <= width && line.find("50.0 %") != std::string::npos));
    }
  }
}
