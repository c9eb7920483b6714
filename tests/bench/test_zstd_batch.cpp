// Batches of zstd frames: what is planned fits, what is listed decodes to the original, and faults are found.
#include "bench/data.hpp"
#include "bench/zstd_batch.hpp"
#include "gpu/cuda/zstd/decode_on_host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

using namespace gpuhist::bench;
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
        literals(plan.literal_room()),
        sequences(plan.sequence_room()),
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
                          .block_count = static_cast<std::uint32_t>(plan.blocks),
                          .literal_room = plan.literal_room(),
                          .sequence_room = plan.sequence_room(),
                          .codes = codes.data(),
                          .decoded = decoded.data(),
                          .literals = literals.data(),
                          .sequences = sequences.data(),
                          .text = text.data(),
                          .results = results.data(),
                          .used = used});
  }

  gpuhist::pipeline::encoded_frames listed;
  std::vector<std::uint32_t> compressed;
  std::vector<zstd::block_codes> codes;
  std::vector<zstd::decoded_block> decoded;
  std::vector<std::uint8_t> literals;
  std::vector<zstd::sequence_entry> sequences;
  std::vector<std::uint8_t> text;
  std::vector<zstd::decoded_frame> results;
};

batch_content content_of_data(data_set which) {
  const auto text = make_data(which, text_bytes);
  const framed_text framed = compress_frames(text, frame_bytes, 3, 2);
  const batch_plan plan = plan_batch(framed, text_bytes, unlimited);
  const host_batch batch(framed, plan);
  CHECK(rejected_frame(batch.results) == "");
  return content_of(plan, batch.listed.blocks, batch.decoded);
}

}  // namespace

TEST_CASE("the frames of a batch repeat the distinct text, and decode to it") {
  for (const data_set which : every_data_set) {
    CAPTURE(name_of(which));
    const auto text = make_data(which, text_bytes);  // the last frame is shorter
    const framed_text framed = compress_frames(text, frame_bytes, 3, 3);
    CHECK(framed.frames() == 16);
    const batch_plan plan = plan_batch(framed, 2'500'000, unlimited);
    CHECK(plan.frames == 16 + 16 + 7);
    CHECK(plan.text_bytes == 2 * text_bytes + 7 * frame_bytes);
    const host_batch batch(framed, plan);
    CHECK(rejected_frame(batch.results) == "");
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
  const framed_text framed = compress_frames(text, frame_bytes, 3, 1);
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
  const framed_text framed = compress_frames(text, std::uint64_t{8} << 20U, 1, 2);
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
  const framed_text framed = compress_frames(text, frame_bytes, 3, 2);
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
  CHECK(rejected_frame(batch.results) == "frame 7, block 2: rejected as checksum");
}

TEST_CASE("libzstd decompresses all frames on any number of threads, and a damaged frame is an error") {
  const auto text = make_data(data_set::text, text_bytes);
  framed_text framed = compress_frames(text, frame_bytes, 3, 2);
  for (const unsigned threads : {1U, 3U, 40U}) CHECK(decompress_on_host(framed, threads) > 0);
  framed.compressed[framed.ends[4] - 1] ^= std::byte{1};  // its checksum
  CHECK_THROWS_WITH_AS(decompress_on_host(framed, 3), doctest::Contains("libzstd rejects a frame"), std::runtime_error);
}
