// Rows of gpuhist-bench decode: rates are bytes of text per second, and the formats have the same values.
#include "bench/decode.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace gpuhist::bench;

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
