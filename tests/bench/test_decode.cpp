// gpuhist-bench decode and decompress: rates are bytes of text per second, the formats have the same values, and whole
// archives are decoded for every number of threads and every format.
#include "bench/decode.hpp"
#include "bench/decompress.hpp"

#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <stdexcept>
#include <string>

using namespace gpuhist::bench;
using gpuhist::test::byte_vector;

namespace {

decode_row sample_row() {
  decode_row row;
  row.configuration = {.data = "text", .level = 3, .frame_bytes = 65536, .in_flight = std::uint64_t{3968} << 20U};
  row.content = {.frames = 61036,
                 .blocks = 61036,
                 .text_bytes = 4'000'000'000,
                 .compressed_bytes = 500'000'000,
                 .sequences = 200'000'000,
                 .huffman_bytes = 1'000'000'000};
  row.seconds = 0.04;
  row.phase_seconds = {0.001, 0.002, 0.003, 0.004, 0.005, 0.015, 0.01};
  row.host_seconds = 0.1;
  row.host_text_bytes = 1'000'000'000;
  row.copy_seconds = 0.01;
  return row;
}

}  // namespace

TEST_CASE("rates are of text: of the batch for the device, of the distinct text for the host") {
  decode_row row = sample_row();
  CHECK(row.rate() == doctest::Approx(100e9));
  CHECK(row.host_rate() == doctest::Approx(10e9));
  CHECK(row.copy_rate() == doctest::Approx(400e9));
  CHECK_FALSE(row.peer_rate());
  row.peer_seconds = 0.08;
  CHECK(*row.peer_rate() == doctest::Approx(50e9));
}

TEST_CASE("a configuration is named by everything that was requested") {
  CHECK(name_of(sample_row().configuration) == "text, level 3, frames of 64 KiB, 3.9 GiB in flight");
}

TEST_CASE("a line of the table is below its heading, and a missing peer is a dash") {
  decode_row row = sample_row();
  CHECK(decode_table_heading() ==
        "data        level    frame  in flight  frames  blocks    ratio  B/sequence  Huffman     GB/s  libzstd   copies"
        "     peer   describe    resolve   literals  sequences       link    execute   checksum\n");
  CHECK(decode_table_line(row) ==
        "text            3   64 KiB    3.7 GiB   61036   61036     8.00        20.0   25.0 %    100.0     10.0    400.0"
        "        -       1.00       2.00       3.00       4.00       5.00      15.00      10.00\n");
  row.peer_seconds = 0.08;
  row.content.sequences = 0;
  CHECK(decode_table_line(row).find("     50.0       1.00") != std::string::npos);
  CHECK(decode_table_line(row).size() == decode_table_heading().size());
}

TEST_CASE("the rows for programs have the same columns and values, and every phase by name") {
  const auto object = nlohmann::ordered_json::parse(decode_json_row(sample_row(), "H200", 16));
  CHECK(object["device"] == "H200");
  CHECK(object["frame_bytes"] == 65536);
  CHECK(object["text_per_sequence"] == 20.0);
  CHECK(object["bytes_per_second"].get<double>() == doctest::Approx(100e9));
  CHECK(object["host_threads"] == 16);
  CHECK(object["execute_seconds"] == 0.015);
  CHECK(object["peer_bytes_per_second"].is_null());
  for (const std::string_view phase : decode_phases) CHECK(object.contains(std::string(phase) + "_seconds"));
  std::string names;
  for (const auto& [name, value] : object.items()) names += (names.empty() ? "" : ",") + name;
  CHECK(decode_csv_heading() == names + "\n");
  CHECK(decode_csv_row(sample_row(), "H,200", 16)
            .starts_with("\"H,200\",text,3,65536,61036,61036,4000000000,500000000,"));
  CHECK(decode_csv_row(sample_row(), "H200", 16).ends_with(",\n"));
}

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
