// The contracts of splitters and of decoding ahead for lz4, with parts where the splitter reports them, and inputs made
// against it: false sizes inside data, blocks that expand much, contexts of other frames.
#include "io/format.hpp"
#include "io/lz4/lz4_decoder.hpp"
#include "io/lz4/lz4_parts.hpp"

#include "tests/contract/part_contract.hpp"
#include "tests/contract/splitter_contract.hpp"
#include "tests/io/lz4_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace gpuhist::test;
using gpuhist::io::lz4_part;
using gpuhist::io::make_lz4_splitter;

TEST_CASE("lz4: a splitter finds the same frames as the decoder, for any cuts") {
  check_splits(make_lz4_splitter, lz4_sample_builder("one").frame(sample_text(700)).build());
  check_splits(make_lz4_splitter,
               lz4_sample_builder("all kinds")
                   .frame({})
                   .skippable(7)
                   .frame(sample_text(200'000), {.linked_blocks = true, .block_checksums = true, .content_size = true})
                   .frame(noise(70'000), {.content_checksum = false})
                   .skippable(0)
                   .frame(noise(1), {.block_size = LZ4F_max4MB})
                   .build());
}

TEST_CASE("lz4: a splitter finds all frames before any damaged byte") {
  check_damaged_splits(make_lz4_splitter, lz4_sample_builder("small frames")
                                              .frame(sample_text(100))
                                              .frame({})
                                              .frame(noise(50), {.block_checksums = true})
                                              .build());
}

TEST_CASE("lz4: a splitter is lost at a legacy frame, and the manner states the cause") {
  const byte_vector frame = lz4_frame_of(sample_text(500));
  CHECK(manner_of(make_lz4_splitter, joined(frame, frame)) == "frames found by the sizes of their blocks");
  const byte_vector legacy = joined(lz4_legacy_magic(), lz4_legacy_block_of(sample_text(50)));
  const byte_vector both = joined(frame, joined(legacy, frame));
  CHECK(split(make_lz4_splitter, both, always(7)) == std::vector<std::size_t>{frame.size()});
  CHECK(manner_of(make_lz4_splitter, both) == "the end of a legacy frame cannot be found without decoding it");
  CHECK(manner_of(make_lz4_splitter, joined(frame, noise(30))) ==
        "no frame can be found after data that is not an lz4 frame");
}

namespace {

const decoder_maker make = [] { return gpuhist::io::make_lz4_decoder({}); };
const part_decoder_maker make_parts = [] { return gpuhist::io::make_lz4_part_decoder(); };

/// Parts of `bytes` or more: 1 is a part for each block.
part_divider parts_of(std::size_t bytes) {
  return [bytes](std::span<const std::byte> packed) {
    return reported_parts([bytes] { return gpuhist::io::make_lz4_splitter_with_parts(bytes); }, packed,
                          always(everything));
  };
}

/// Parts of `bytes` that begin anywhere, as if each began with a block of a frame like the first frame of `header`.
part_divider parts_anywhere(std::span<const std::byte> header, std::size_t bytes) {
  const auto parsed = gpuhist::io::parse_lz4_header(header);
  REQUIRE(parsed.status == gpuhist::io::lz4_header_status::complete);
  return
      [bytes, context = std::make_shared<gpuhist::io::lz4_context>(parsed.header)](std::span<const std::byte> packed) {
        std::vector<part_place> places;
        for (std::size_t begin = 0; begin < packed.size(); begin += bytes) {
          places.push_back({.begin = begin, .size = std::min(bytes, packed.size() - begin), .begins_frame = true});
          if (begin != 0) places.back().start.context = context;
        }
        return places;
      };
}

constexpr lz4_settings small_blocks{.block_checksums = true, .content_size = true, .flush_bytes = 60};
constexpr lz4_settings small_linked_blocks{.linked_blocks = true, .flush_bytes = 60};
constexpr lz4_settings no_checks{.content_checksum = false, .flush_bytes = 100};

/// Blocks of both kinds, some stored.
byte_vector mixed(std::size_t bytes) {
  return joined(sample_text(bytes), joined(noise(bytes / 2), sample_text(2 * bytes, 7)));
}

std::vector<decoder_sample> small_samples() {
  std::vector<decoder_sample> samples;
  samples.push_back(lz4_sample_builder("blocks with checksums").frame(mixed(150), small_blocks).build());
  samples.push_back(lz4_sample_builder("frames of all kinds")
                        .frame(mixed(100), small_linked_blocks)
                        .skippable(9)
                        .frame(mixed(200), no_checks)
                        .frame({})
                        .frame(sample_text(300, 2), small_blocks)
                        .legacy_magic()
                        .legacy_block(sample_text(90))
                        .build());
  return samples;
}

std::size_t parts_with_blocks(const part_list& parts) {
  return static_cast<std::size_t>(std::ranges::count_if(parts, [](const auto& each) {
    const auto* const part = dynamic_cast<const lz4_part*>(each.get());
    return part != nullptr && !part->blocks().empty();
  }));
}

/// A part of one block without text, as if it began at `offset`.
std::shared_ptr<gpuhist::io::decoded_part> part_at(std::size_t offset) {
  std::vector<gpuhist::io::lz4_ready_block> blocks{{.begin = offset}};
  return std::make_shared<lz4_part>(gpuhist::io::lz4_frame_header(), std::move(blocks), lz4_part::memory());
}

/// The compressed blocks of `packed` that are decoded ahead.
std::vector<gpuhist::io::lz4_ready_block> ready_blocks(std::span<const std::byte> packed, std::size_t part_bytes,
                                                       std::vector<std::shared_ptr<gpuhist::io::decoded_part>>& keep) {
  const std::vector<part_place> places = parts_of(part_bytes)(packed);
  std::vector<gpuhist::io::lz4_ready_block> blocks;
  for (const auto& part : decode_parts(make_parts, packed, places, {.threads = 1})) {
    keep.push_back(part);
    const auto* const found = dynamic_cast<const lz4_part*>(part.get());
    if (found != nullptr) blocks.insert(blocks.end(), found->blocks().begin(), found->blocks().end());
  }
  return blocks;
}

}  // namespace

TEST_CASE("lz4 parts: inputs have the same text, ends and verdict with parts as without") {
  for (const decoder_sample& sample : small_samples()) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{1} << 20U}) {
      check_parts(make, make_parts, sample, parts_of(bytes));
    }
  }
  for (const auto block_size : {LZ4F_max64KB, LZ4F_max256KB, LZ4F_max1MB, LZ4F_max4MB}) {
    check_parts(make, make_parts,
                lz4_sample_builder("large")
                    .frame(mixed(1'200'000), {.block_size = block_size, .block_checksums = true})
                    .frame(mixed(100'000), {.block_size = block_size, .linked_blocks = true})
                    .build(),
                parts_of(1));
  }
}

TEST_CASE("lz4 parts: parts that begin anywhere, as if a block began there, change nothing") {
  for (const lz4_settings& settings : {small_blocks, no_checks}) {
    const byte_vector frame = lz4_frame_of(joined(byte_vector(300), mixed(200)), settings);
    const decoder_sample sample = lz4_sample_builder("frames")
                                      .frame(mixed(200), settings)
                                      .frame(mixed(100), {.flush_bytes = 50})
                                      .frame(joined(byte_vector(300), mixed(200)), settings)
                                      .build();
    check_parts(make, make_parts, sample, parts_anywhere(frame, 29));
    check_parts_of_damaged(make, make_parts, sample, 2000, parts_anywhere(frame, 150));
    const part_shape everywhere{.look_ahead = sample.packed.size(), .divide = parts_anywhere(frame, 1)};
    check_same_with_parts(make, make_parts, sample.packed, everywhere, sample.plain.size());
    CHECK(parts_with_blocks(decode_parts(make_parts, sample.packed, everywhere)) > 3);
  }
}

TEST_CASE("lz4 parts: the text of blocks that were decoded ahead is taken over, and their bytes are not read") {
  const byte_vector text = sample_text(30'000);
  for (const bool checksums : {true, false}) {
    const byte_vector packed = lz4_frame_of(text, {.block_checksums = checksums, .flush_bytes = 500});
    std::vector<std::shared_ptr<gpuhist::io::decoded_part>> keep;
    const auto true_blocks = ready_blocks(packed, 1, keep);
    REQUIRE(true_blocks.size() > 40);
    // the last: parts begin within blocks, too, while the part of the block is in use
    for (const part_divider& divide : {parts_of(1), parts_of(3'000), parts_anywhere(packed, 1)}) {
      const std::vector<part_place> places = divide(packed);
      part_list parts = decode_parts(make_parts, packed, places, {.look_ahead = 1'000});
      byte_vector erased = packed;
      for (const auto& [begin, bytes, ignored] : true_blocks) {
        const auto holds = [at = begin](const auto& each) {
          const auto* const part = dynamic_cast<const lz4_part*>(each.get());
          return part != nullptr && std::ranges::count(part->blocks(), at, &gpuhist::io::lz4_ready_block::begin) != 0;
        };
        if (std::ranges::none_of(parts, holds)) continue;
        std::ranges::fill(std::span(erased).subspan(begin, bytes), std::byte{0});
      }
      check_taken_over(make, std::move(parts), places, packed, erased, text.size());
    }
  }
}

TEST_CASE("lz4 parts: within a long block a decoder keeps no parts before its position") {
  const byte_vector packed = lz4_frame_of(noise(200'000), {.block_size = LZ4F_max256KB});
  check_parts_are_released(make, packed, 1'000, part_at);
}

TEST_CASE("lz4 parts: every cut and every flipped bit of a small input gives the same with parts as without") {
  for (const decoder_sample& sample : small_samples()) {
    check_parts_of_damaged(make, make_parts, sample, 2000, parts_of(1));
    check_parts_of_damaged(make, make_parts, sample, 2000, parts_of(150));
  }
}

TEST_CASE("lz4 parts: cuts and flipped bits of a larger input give the same with parts as without") {
  check_parts_of_damaged(make, make_parts, lz4_sample_builder("larger").frame(mixed(120'000)).build(), 60, parts_of(1));
}

TEST_CASE("lz4 parts: all text of independent blocks that are compressed is decoded ahead, after the first part") {
  const byte_vector text = sample_text(1'000'000);
  const byte_vector packed = lz4_frame_of(text, {.block_checksums = true});
  std::vector<std::shared_ptr<gpuhist::io::decoded_part>> keep;
  byte_vector decoded;
  for (const auto& each : ready_blocks(packed, 1, keep)) {
    decoded.insert(decoded.end(), each.text.begin(), each.text.end());
  }
  const std::size_t first = std::size_t{64} << 10U;
  REQUIRE(decoded.size() == text.size() - first);
  CHECK(std::ranges::equal(decoded, std::span(text).subspan(first)));
  CHECK(ready_blocks(lz4_frame_of(text, {.linked_blocks = true}), 1, keep).empty());
  CHECK(ready_blocks(lz4_frame_of(noise(300'000)), 1, keep).empty());
}

TEST_CASE("lz4 parts: a splitter reports parts of at least the given size, whatever the cuts") {
  const byte_vector frame = lz4_frame_of(mixed(300'000), {.block_checksums = true});
  const byte_vector packed = joined(frame, joined(lz4_frame_of(mixed(100'000), {.linked_blocks = true}), frame));
  const auto splitter = [] { return gpuhist::io::make_lz4_splitter_with_parts(50'000); };
  const auto begins = [&](const size_chooser& cut) {
    std::vector<std::size_t> found;
    for (const part_place& each : reported_parts(splitter, packed, cut)) {
      if (each.begins_frame) found.push_back(each.begin);
    }
    return found;
  };
  const auto expected = begins(always(everything));
  CHECK(expected.size() > 4);
  CHECK(std::ranges::none_of(expected,
                             [&](std::size_t at) { return at > frame.size() && at < packed.size() - frame.size(); }));
  CHECK(begins(always(1)) == expected);
  for (std::uint32_t seed = 0; seed < 4; ++seed) CHECK(begins(sometimes(60'000, seed)) == expected);
  for (std::size_t i = 1; i < expected.size(); ++i) CHECK(expected[i] - expected[i - 1] >= 50'000);
}

TEST_CASE("lz4 parts: the text of a part stays below its memory, and the decoder does without the rest") {
  const byte_vector zeros(24'000'000, std::byte{0});
  const byte_vector packed = lz4_frame_of(zeros, {.block_size = LZ4F_max256KB});
  const std::vector<part_place> places = parts_of(1'000)(packed);
  for (const std::size_t max_bytes : {std::size_t{0}, std::size_t{5'000'000}, std::size_t{64'000'000}}) {
    for (const auto& part : decode_parts(make_parts, packed, places, {.max_bytes = max_bytes})) {
      const auto* const found = dynamic_cast<const lz4_part*>(part.get());
      std::size_t bytes = 0;
      if (found != nullptr) {
        for (const auto& each : found->blocks()) bytes += each.text.size();
      }
      CHECK(bytes <= max_bytes);
    }
    check_same_with_parts(make, make_parts, packed, {.max_bytes = max_bytes, .divide = parts_of(1'000)}, zeros.size());
  }
}

TEST_CASE("lz4 parts: the list of blocks, and a copy of a block in two pieces, belong to the memory of a part") {
  constexpr std::size_t number = 100'000;
  constexpr std::size_t list_bytes = 200'000;
  byte_vector packed = lz4_frame_of({}, {.content_checksum = false});
  packed.resize(packed.size() - 4);  // the end of the frame
  for (std::size_t i = 0; i < number; ++i) {
    for (const int each : {2, 0, 0, 0, 0x10, 0x78}) packed.push_back(static_cast<std::byte>(each));  // a block: "x"
  }
  packed.resize(packed.size() + 4);
  const part_shape tiny_blocks{.max_bytes = gpuhist::io::lz4_text_bytes + list_bytes,
                               .divide = parts_of(packed.size() - 20)};
  std::size_t blocks = 0;
  for (const auto& each : decode_parts(make_parts, packed, tiny_blocks)) {
    if (const auto* const part = dynamic_cast<const lz4_part*>(each.get())) blocks += part->blocks().size();
  }
  CHECK(blocks > 0);
  CHECK(blocks * sizeof(gpuhist::io::lz4_ready_block) <= list_bytes);
  check_same_with_parts(make, make_parts, packed, tiny_blocks, number);

  const byte_vector text = joined(noise(900'000), byte_vector(100'000));
  const byte_vector large = lz4_frame_of(joined(text, text), {.block_size = LZ4F_max1MB, .flush_bytes = 1'000'000});
  part_shape divided{.look_ahead = large.size(), .divide = [&large](std::span<const std::byte> input) {
                       std::vector<part_place> places = parts_of(1)(input);
                       REQUIRE(places.size() > 1);
                       places.at(1).size = 1'000;  // the rest of its block is in the next pieces
                       places.resize(2);
                       REQUIRE(large.size() > places[1].begin + 1'000);
                       return places;
                     }};
  for (const auto& [max_bytes, expected] :
       {std::pair(std::size_t{800'000}, std::size_t{0}), std::pair(std::size_t{1'000'000}, std::size_t{1})}) {
    divided.max_bytes = gpuhist::io::lz4_text_bytes + max_bytes;
    CHECK(parts_with_blocks(decode_parts(make_parts, large, divided)) == expected);
  }
}

TEST_CASE("lz4 parts: a part that was decoded for another kind of frame is not taken over") {
  const byte_vector with_checksums = lz4_frame_of(sample_text(500), small_blocks);
  lz4_settings other = small_blocks;
  other.block_size = LZ4F_max1MB;
  const auto context_of = [](std::span<const std::byte> frame) { return parts_of(1)(frame).at(1).start.context; };
  const byte_vector without = lz4_frame_of(sample_text(500), no_checks);
  for (const auto& wrong : {context_of(without), context_of(lz4_frame_of(sample_text(500), other))}) {
    const part_divider divide = [&wrong](std::span<const std::byte> packed) {
      auto places = parts_of(1)(packed);
      for (part_place& each : places) {
        if (each.begins_frame) each.start.context = wrong;
      }
      return places;
    };
    check_same_with_parts(make, make_parts, with_checksums, {.look_ahead = 1000, .divide = divide}, 500);
  }
}

TEST_CASE("lz4 parts: blocks inside the data of stored blocks, and false sizes, are never taken for blocks") {
  const byte_vector inner = lz4_frame_of(sample_text(2'000), {.flush_bytes = 100});
  byte_vector text;
  for (int i = 0; i < 40; ++i) text = joined(text, joined(inner, noise(3'000)));
  const decoder_sample sample = lz4_sample_builder("nested").frame(text, {.flush_bytes = 7'000}).build();
  for (const std::size_t bytes : {1, 1'000, 10'000}) check_parts(make, make_parts, sample, parts_of(bytes));
  const auto whole = reported_parts(gpuhist::io::make_lz4_splitter, sample.packed, always(everything));
  CHECK(whole.size() == 1);  // smaller than a part of a run
}

TEST_CASE("lz4 parts: many tiny frames and a frame of many tiny blocks have the same result with parts") {
  const std::size_t count = unless_sampled(20'000U, 2'000U);
  byte_vector frames;
  byte_vector text;
  const byte_vector frame = lz4_frame_of(byte_vector(40), {.flush_bytes = 20});
  for (std::size_t i = 0; i < count; ++i) {
    frames.insert(frames.end(), frame.begin(), frame.end());
    const byte_vector line = sample_text(5);
    text.insert(text.end(), line.begin(), line.end());
  }
  const part_shape many_parts{.threads = 2, .divide = parts_of(1)};
  check_same_with_parts(make, make_parts, frames, many_parts, count * 40);
  CHECK(parts_with_blocks(decode_parts(make_parts, frames, many_parts)) == count);
  const byte_vector blocks = lz4_frame_of(text, {.block_checksums = true, .flush_bytes = 1});
  check_same_with_parts(make, make_parts, blocks, {.threads = 3, .divide = parts_of(count / 4)}, text.size());
}

TEST_CASE("lz4 parts: the table of formats divides lz4 where its splitter reports parts") {
  const gpuhist::io::format* const lz4 = gpuhist::io::format_named("lz4");
  REQUIRE(lz4 != nullptr);
  CHECK(lz4->parts.splitter_divides);
  CHECK(lz4->parts.make);
}
