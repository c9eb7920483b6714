// What --stats tells people, line by line.
#include "pipeline/report.hpp"

#include "tests/pipeline/report_samples.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::pipeline;
using namespace gpuhist::test;

TEST_CASE("the statistics for people have a line a stage and end with what limited the run") {
  run_stats stats = some_stats();
  const std::string text = render_stats(stats, {});
  CHECK(line_with(text, "engine") == "engine      host (no CUDA device)");
  CHECK(line_with(text, "kernel") == "kernel      ranges/AVX3, 2 threads, ready after 0.000 s");
  CHECK(line_with(text, "chunks") == "chunks      4 chunks through 16 slots of 256 KiB, 2 threads");
  CHECK(line_with(text, "stage") == "stage  bytes   busy s  waiting s  workers    busy");
  CHECK(line_with(text, "read") == "read   1,000    0.500      0.250        1   50.0 %");
  CHECK(line_with(text, "count") == "count  1,000    0.750      0.125        2   37.5 %");
  CHECK(line_with(text, "device").empty());
  CHECK(lines_of(text).back() == "limited by: read: busy 50 % of the time");
  stats.counting.timeline = {4, 3, 2, 1};
  CHECK(line_with(render_stats(stats, {}), "device") ==
        "device      4.000 s: copies busy 3.000 s, kernels busy 2.000 s, both at once 1.000 s");
  CHECK_NOTHROW(render_stats(run_stats{}, {}));
}
