// gpuhist-bench decompress decodes whole archives, for every number of threads and every format.
#include "bench/decompress.hpp"

#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using namespace gpuhist::bench;
using gpuhist::test::byte_vector;

namespace {

std::string as_string(const byte_vector& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string frames_of(unsigned number, std::size_t text_bytes) {
  std::string archive;
  for (unsigned i = 0; i < number; ++i)
    archive += as_string(gpuhist::test::zstd_frame_of(gpuhist::test::noise(text_bytes, i)));
  return archive;
}

}  // namespace

TEST_CASE("all frames of all archives are decompressed, in parallel if they are large enough for a task") {
  const gpuhist::test::temporary_folder here;
  const std::string large = frames_of(5, 100'000);
  const std::string small = frames_of(20, 1000);
  const decompress_options options{
      .files = {here.file("large", large), here.file("small", small)}, .threads = {1, 3}, .rounds = 2};
  const decompress_result result = measure_decompress(options);
  CHECK(result.load.files == 2);
  CHECK(result.load.tasks == 5 + 1);
  CHECK(result.load.compressed_bytes == large.size() + small.size());
  CHECK(result.load.text_bytes == 520'000);
  REQUIRE(result.rates.size() == 2);
  CHECK(result.rates[0].threads == 1);
  CHECK(result.rates[1].threads == 3);
  for (const decompress_rate& each : result.rates) CHECK(each.seconds > 0);
}

TEST_CASE("a damaged archive and a file that is no archive are errors") {
  const gpuhist::test::temporary_folder here;
  const auto measure = [](const std::string& path) {
    return measure_decompress({.files = {path}, .threads = {2}, .rounds = 1});
  };
  std::string damaged = frames_of(3, 100'000);
  damaged.resize(damaged.size() - 1);
  const std::string text = here.file("text", "text");
  CHECK_THROWS_WITH_AS(measure(text),
                       (text + ": is not an archive that gpuhist decompresses; name an archive, or no file").c_str(),
                       std::runtime_error);
  CHECK_THROWS_AS(measure(here.file("damaged", damaged)), std::runtime_error);
  CHECK_THROWS_AS(measure(here / "nowhere"), std::runtime_error);
}

TEST_CASE("the table shows the load and each rate relative to the first; the rows for programs have the same values") {
  const decompress_result result{
      .load = {.files = 1, .tasks = 2, .compressed_bytes = 1 << 20, .text_bytes = 4'000'000'000},
      .rates = {{.threads = 1, .seconds = 2}, {.threads = 16, .seconds = 0.25}}};
  CHECK(decompress_csv(result) ==
        "archives,tasks,compressed_bytes,text_bytes,threads,seconds,bytes_per_second\n"
        "1,2,1048576,4000000000,1,2.000000,2000000000\n"
        "1,2,1048576,4000000000,16,0.250000,16000000000\n");
  CHECK(decompress_json_rows(result).starts_with(
      R"({"archives":1,"tasks":2,"compressed_bytes":1048576,"text_bytes":4000000000,"threads":1,"seconds":2.0,)"));
  CHECK(decompress_table(result) ==
        "1 archive, 2 tasks: 3.7 GiB of text in 1 MiB\n"
        "\n"
        "threads    GB/s  times the first\n"
        "      1    2.00             1.00\n"
        "     16   16.00             8.00\n");
}
