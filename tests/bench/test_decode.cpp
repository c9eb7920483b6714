// gpuhist-bench decode and decompress: rates are bytes of text per second, the formats have the same values, and whole
// archives are decoded for every number of threads and every format. Batches of zstd frames: what is planned fits, what
// is listed decodes to the original, and faults are found.
#include "bench/data.hpp"
#include "bench/decode.hpp"
#include "bench/decompress.hpp"
#include "bench/encoded_batch.hpp"
#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/kernels_on_host.hpp"

#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

using namespace gpuhist::bench;
using gpuhist::test::byte_vector;

namespace {

decode_row sample_row() {
  decode_row row;
  row.configuration = {
      .data = "text", .coded = codec::zstd, .level = 3, .frame_bytes = 65536, .in_flight = std::uint64_t{3968} << 20U};
  row.content = {.frames = 61036,
                 .blocks = 61036,
                 .text_bytes = 4'000'000'000,
                 .compressed_bytes = 500'000'000,
                 .sequences = 200'000'000,
                 .huffman_bytes = 1'000'000'000};
  row.seconds = 0.04;
  row.phase_seconds = {0.001, 0.002, 0.003, 0.004, 0.006, 0.007, 0.008, 0.005, 0.015, 0.009, 0.01};
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
  CHECK(name_of(sample_row().configuration) == "text, zstd level 3, frames of 64 KiB, 3.9 GiB in flight");
}

TEST_CASE("a line of the table is below its heading, and a missing peer is a dash") {
  decode_row row = sample_row();
  CHECK(decode_table_heading(codec::zstd) ==
        "data        level    frame  in flight  frames  blocks    ratio  B/sequence  Huffman     GB/s     host   copies"
        "     peer   describe    resolve   literals  sequences       link    execute   checksum\n");
  CHECK(decode_table_line(row) ==
        "text            3   64 KiB    3.7 GiB   61036   61036     8.00        20.0   25.0 %    100.0     10.0    400.0"
        "        -       1.00       2.00       3.00       4.00       5.00      15.00      10.00\n");
  row.peer_seconds = 0.08;
  row.content.sequences = 0;
  CHECK(decode_table_line(row).find("     50.0       1.00") != std::string::npos);
  CHECK(decode_table_line(row).size() == decode_table_heading(codec::zstd).size());
}

TEST_CASE("the table has the phases of its codec") {
  decode_row row = sample_row();
  row.configuration.coded = codec::gzip;
  CHECK(decode_table_heading(codec::gzip)
            .ends_with("     peer     begins    symbols      order       link    execute      crc32\n"));
  CHECK(decode_table_line(row).ends_with(
      "        -       6.00       7.00       8.00       5.00      15.00       9.00\n"));
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
  for (const decode_phase& each : decode_phases) CHECK(object.contains(std::string(each.name) + "_seconds"));
  std::string names;
  for (const auto& [name, value] : object.items()) names += (names.empty() ? "" : ",") + name;
  CHECK(decode_csv_heading() == names + "\n");
  CHECK(decode_csv_row(sample_row(), "H,200", 16)
            .starts_with("\"H,200\",text,zstd,3,65536,61036,61036,4000000000,500000000,"));
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

namespace zstd = gpuhist::gpu::cuda::zstd;

namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t text_bytes = 1'000'000;
constexpr std::uint64_t frame_bytes = 65536;

/// The buffers of a batch in host memory, with the sizes of the plan.
struct host_batch {
  host_batch(const framed_text& from, const batch_plan& plan)
      : listed(list_batch(from, plan)),
        compressed((plan.compressed_bytes + batch_plan::readable_beyond) / sizeof(std::uint32_t) + 1),
        codes(plan.blocks),
        decoded(plan.blocks),
        portions(plan.blocks),
        literals(plan.literal_room),
        sequences(plan.sequence_room),
        text(plan.text_room),
        results(plan.frames) {
    for (std::uint64_t at = 0; at < plan.compressed_bytes; at += from.compressed.size()) {
      std::memcpy(reinterpret_cast<std::byte*>(compressed.data()) + at, from.compressed.data(),
                  std::min<std::uint64_t>(from.compressed.size(), plan.compressed_bytes - at));
    }
    std::uint64_t used[2] = {};
    zstd::decode_on_host({.compressed = compressed.data(),
                          .frames = listed.frames.data(),
                          .blocks = listed.blocks.data(),
                          .frame_count = static_cast<std::uint32_t>(plan.frames),
                          .member_count = from.coded == codec::gzip ? static_cast<std::uint32_t>(plan.frames) : 0,
                          .text_room = static_cast<std::uint32_t>(plan.text_room),
                          .block_count = static_cast<std::uint32_t>(plan.blocks),
                          .literal_room = static_cast<std::uint32_t>(plan.literal_room),
                          .sequence_room = static_cast<std::uint32_t>(plan.sequence_room),
                          .codes = codes.data(),
                          .decoded = decoded.data(),
                          .literals = literals.data(),
                          .sequences = sequences.data(),
                          .text = text.data(),
                          .results = results.data(),
                          .used = used,
                          .portions = portions.data()});
  }

  gpuhist::pipeline::encoded_frames listed;
  std::vector<std::uint32_t> compressed;
  std::vector<zstd::block_codes> codes;
  std::vector<zstd::decoded_block> decoded;
  std::vector<gpuhist::gpu::cuda::deflate::portion_block> portions;
  std::vector<std::uint8_t> literals;
  std::vector<zstd::sequence_entry> sequences;
  std::vector<std::uint8_t> text;
  std::vector<zstd::decoded_frame> results;
};

batch_content content_of_data(data_set which) {
  const auto text = make_data(which, text_bytes);
  const framed_text framed = compress_frames(text, frame_bytes, codec::zstd, 3, 2);
  const batch_plan plan = plan_batch(framed, text_bytes, unlimited);
  const host_batch batch(framed, plan);
  CHECK(rejected_frame(batch.listed.frames, batch.results) == "");
  return content_of(plan, batch.listed.blocks, batch.decoded);
}

std::vector<std::pair<data_set, codec>> all_contents() {
  std::vector<std::pair<data_set, codec>> all;
  for (const data_set which : every_data_set) {
    for (const codec coded : {codec::zstd, codec::gzip}) all.emplace_back(which, coded);
  }
  return all;
}

}  // namespace

TEST_CASE("the frames of a batch repeat the distinct text, and decode to it") {
  for (const auto& [which, coded] : all_contents()) {
    CAPTURE(name_of(which));
    CAPTURE(name_of(coded));
    const auto text = make_data(which, text_bytes);  // the last frame is shorter
    const framed_text framed = compress_frames(text, frame_bytes, coded, 3, 3);
    CHECK(framed.frames() == 16);
    const batch_plan plan = plan_batch(framed, 2'500'000, unlimited);
    CHECK(plan.frames == 16 + 16 + 7);
    CHECK(plan.text_bytes == 2 * text_bytes + 7 * frame_bytes);
    const host_batch batch(framed, plan);
    CHECK(rejected_frame(batch.listed.frames, batch.results) == "");
    CHECK(different_frame(framed, batch.listed, batch.text) == "");
    std::vector<std::uint8_t> joined;
    for (std::size_t i = 0; i < plan.frames; ++i) {
      const std::uint8_t* const begin = batch.text.data() + batch.listed.frames[i].text_at;
      joined.insert(joined.end(), begin, begin + batch.results[i].text_bytes);
    }
    CHECK(joined.size() == plan.text_bytes);
    for (std::size_t i = 0; i < joined.size(); i += text_bytes) {
      const std::size_t size = std::min(text_bytes, joined.size() - i);
      CHECK(std::memcmp(joined.data() + i, text.data(), size) == 0);
    }
  }
}

TEST_CASE("a plan keeps each limit, and one more frame would exceed one") {
  const auto text = make_data(data_set::text, text_bytes);
  const framed_text framed = compress_frames(text, frame_bytes, codec::zstd, 3, 1);
  const std::uint64_t memory_of_five = plan_batch(framed, 5 * frame_bytes, unlimited).device_bytes();
  for (const std::uint64_t frames : {1U, 2U, 5U, 14U}) {
    CHECK(plan_batch(framed, frames * frame_bytes, unlimited).frames == frames);
    CHECK(plan_batch(framed, (frames + 1) * frame_bytes - 1, unlimited).frames == frames);
    CHECK(plan_batch(framed, frames * frame_bytes, memory_of_five).frames == std::min<std::uint64_t>(frames, 5));
  }
  CHECK(plan_batch(framed, unlimited, memory_of_five).frames == 5);
  CHECK(plan_batch(framed, unlimited, memory_of_five - 1).frames == 4);
  CHECK_THROWS_AS(plan_batch(framed, frame_bytes - 1, unlimited), std::runtime_error);
  CHECK_THROWS_AS(plan_batch(framed, unlimited, 1000), std::runtime_error);
}

TEST_CASE("compressed bytes of a batch have 32-bit offsets, however much text and memory there is") {
  const auto text = make_data(data_set::random, std::size_t{32} << 20U);
  const framed_text framed = compress_frames(text, std::uint64_t{8} << 20U, codec::zstd, 1, 2);
  const batch_plan plan = plan_batch(framed, unlimited, unlimited);
  CHECK(plan.compressed_bytes + batch_plan::readable_beyond < std::uint64_t{1} << 32U);
  CHECK(plan.compressed_bytes > (std::uint64_t{1} << 32U) - (std::uint64_t{9} << 20U));
  CHECK(distinct_frames(framed, plan) == 4);
  CHECK(distinct_text_end(framed, plan) == text.size());
}

TEST_CASE("figures of a batch: sequences and Huffman literals are those of compressed blocks") {
  const std::vector<zstd::encoded_block> blocks{
      {.type = zstd::block_type::compressed}, {.type = zstd::block_type::raw}, {.type = zstd::block_type::compressed}};
  std::vector<zstd::decoded_block> decoded(3);
  decoded[0].sequence_count = 30;
  decoded[0].literals = zstd::literals_type::huffman;
  decoded[0].literal_bytes = 250;
  decoded[2].sequence_count = 10;
  decoded[2].literals = zstd::literals_type::raw;
  decoded[2].literal_bytes = 70;
  decoded[1] = decoded[0];  // not initialized for a raw block
  const batch_content content = content_of(
      {.frames = 1, .blocks = 3, .text_bytes = 1000, .text_room = 1024, .compressed_bytes = 400}, blocks, decoded);
  CHECK(content.sequences == 40);
  CHECK(content.huffman_bytes == 250);
  CHECK(content.ratio() == 2.5);
  CHECK(content.text_per_sequence() == 25.0);
  CHECK(content.huffman_share() == 0.25);
  CHECK(content_of({.text_bytes = 1}, {}, {}).text_per_sequence() == std::nullopt);
}

TEST_CASE("data sets differ in what they demand of a decoder") {
  const batch_content random = content_of_data(data_set::random);
  CHECK(random.sequences == 0);
  CHECK(random.huffman_bytes == 0);
  CHECK(random.ratio() < 1);
  CHECK(content_of_data(data_set::zipf).huffman_share() > 0.9);
  const batch_content text = content_of_data(data_set::text);
  CHECK(*text.text_per_sequence() > 5);
  CHECK(*text.text_per_sequence() < 100);
  CHECK(content_of_data(data_set::one_letter).ratio() > 1000);
}

TEST_CASE("the first rejected frame and the first frame with other text are named") {
  const auto text = make_data(data_set::text, text_bytes);
  const framed_text framed = compress_frames(text, frame_bytes, codec::zstd, 3, 2);
  const batch_plan plan = plan_batch(framed, unlimited, 100'000'000);
  host_batch batch(framed, plan);
  CHECK(plan.frames > framed.frames());
  batch.text[batch.listed.frames[16].text_at] ^= 1U;  // repeats frame 0, which is compared
  CHECK(different_frame(framed, batch.listed, batch.text) == "");
  batch.text[batch.listed.frames[15].text_at + framed.text_of(15).size() - 1] ^= 1U;
  CHECK(different_frame(framed, batch.listed, batch.text) == "frame 15: the text is not the original");
  batch.text[batch.listed.frames[3].text_at] ^= 1U;
  CHECK(different_frame(framed, batch.listed, batch.text) == "frame 3: the text is not the original");
  batch.results[7] = {.is = zstd::verdict::checksum, .block = 2, .text_bytes = 0};
  batch.results[9] = {.is = zstd::verdict::no_room, .block = 0, .text_bytes = 0};
  CHECK(rejected_frame(batch.listed.frames, batch.results) == "frame 7, block 2: rejected as checksum");
}

TEST_CASE("the host decompresses all frames on any number of threads, and a damaged frame is an error") {
  const auto text = make_data(data_set::text, text_bytes);
  for (const codec coded : {codec::zstd, codec::gzip}) {
    framed_text framed = compress_frames(text, frame_bytes, coded, 3, 2);
    for (const unsigned threads : {1U, 3U, 40U}) CHECK(decompress_on_host(framed, threads) > 0);
    framed.compressed[framed.ends[4] - 5] ^= std::byte{1};  // its checksum, or just before
    const char* const message = coded == codec::zstd ? "libzstd rejects a frame" : "ISA-L rejects a member";
    CHECK_THROWS_WITH_AS(decompress_on_host(framed, 3), doctest::Contains(message), std::runtime_error);
  }
}
