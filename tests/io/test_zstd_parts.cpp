// The contract of decoding ahead for zstd: frames whose blocks are decoded without libzstd have the text, the frame
// ends, the errors and their offsets that libzstd alone gives, intact, cut and damaged ones.
#include "io/format.hpp"
#include "io/part_memory.hpp"
#include "io/zstd/zstd_decoder.hpp"
#include "io/zstd/zstd_layout.hpp"
#include "io/zstd/zstd_parts.hpp"

#include "tests/contract/part_contract.hpp"
#include "tests/contract/splitter_contract.hpp"
#include "tests/gpu/zstd_corpus.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <memory>

using namespace gpuhist::test;
using gpuhist::io::zstd_block_type;
using gpuhist::io::zstd_part;

namespace {

const decoder_maker make_one = [] { return gpuhist::io::make_zstd_decoder({}); };
const part_decoder_maker make_parts = [] { return gpuhist::io::make_zstd_part_decoder(); };

/// Parts of `bytes` or more: 1 is a part for each block.
part_divider parts_of(std::size_t bytes) {
  return [bytes](std::span<const std::byte> packed) {
    return reported_parts([bytes] { return gpuhist::io::make_zstd_splitter_with_parts(bytes); }, packed,
                          always(everything));
  };
}

struct part_settings {
  int level = 3;
  bool checksum = true;
  bool content_size = false;
  int window_log = 17;  ///< frames with smaller ones have no parts
  std::size_t flush_bytes = 0;
};

byte_vector frame_of(std::span<const std::byte> text, const part_settings& settings) {
  return encoded_frame_of(text, {.level = settings.level,
                                 .window_log = settings.window_log,
                                 .checksum = settings.checksum,
                                 .content_size = settings.content_size,
                                 .flush_bytes = settings.flush_bytes});
}

decoder_sample sample_of(std::string name, const byte_vector& text, const part_settings& settings) {
  decoder_sample sample;
  sample.name = std::move(name);
  sample.add_frame(text, frame_of(text, settings));
  return sample;
}

byte_vector mixed(std::size_t bytes, std::uint32_t seed = 1) {
  return joined(sample_text(bytes, seed), joined(noise(bytes / 2, seed), sample_text(2 * bytes, seed + 7)));
}

std::ptrdiff_t ready_blocks(const part_list& parts) {
  std::ptrdiff_t ready = 0;
  for (const auto& each : parts) {
    const auto* const part = dynamic_cast<const zstd_part*>(each.get());
    if (part != nullptr)
      ready += static_cast<std::size_t>(std::ranges::count_if(part->blocks(), [](const auto& each) {
        return each.is_ready && each.header.type == zstd_block_type::compressed;
      }));
  }
  return ready;
}

/// Of the last block, a compressed one.
byte_vector block_header_of(std::size_t content_bytes) {
  byte_vector header;
  for (const unsigned shift : {0U, 8U, 16U}) {
    header.push_back(static_cast<std::byte>((content_bytes << 3U | 5U) >> shift & 0xFFU));
  }
  return header;
}

/// A random number below `end`.
std::uint32_t below(std::mt19937& random, std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); }

byte_vector random_text(std::mt19937& random, std::size_t bytes) {
  const std::uint32_t seed = below(random, 1U << 30U);
  switch (below(random, 7)) {
    case 0:
      return noise(bytes, seed);
    case 1:
      return byte_vector(bytes, static_cast<std::byte>(seed & 0xFFU));
    case 2: {
      byte_vector text = noise(below(random, 40) + 1, seed);
      while (text.size() < bytes) text = joined(text, text);
      text.resize(bytes);
      return text;
    }
    case 3: {  // literals with a tree
      byte_vector text = noise(bytes, seed);
      for (std::byte& each : text) each = static_cast<std::byte>('a' + std::popcount(std::to_integer<unsigned>(each)));
      return text;
    }
    case 4: {  // literals with codes that are decoded in pairs
      byte_vector text = noise(bytes, seed);
      for (std::byte& each : text) each = (each & std::byte{63}) | std::byte{64};
      return text;
    }
    default:
      return sample_text(bytes, seed);
  }
}

byte_vector random_frame(std::mt19937& random) {
  const bool is_large = below(random, 8) == 0;
  byte_vector text;
  for (std::uint32_t i = below(random, 5) + 1; i > 0; --i) {
    text = joined(text, random_text(random, below(random, is_large ? 100'000 : 900)));
  }
  const std::size_t flush = below(random, 3) == 0 ? 0 : below(random, is_large ? 50'000 : 400) + 1;
  return frame_of(text, {.level = std::array<int, 6>{-5, 1, 3, 5, 9, 19}.at(below(random, 6)),
                         .checksum = below(random, 2) == 0,
                         .content_size = below(random, 2) == 0,
                         .window_log = 17 + static_cast<int>(below(random, 3)),
                         .flush_bytes = flush});
}

class borrowed_part_decoder final : public gpuhist::io::part_decoder {
 public:
  explicit borrowed_part_decoder(gpuhist::io::part_decoder& from) : from_(from) {}
  std::unique_ptr<gpuhist::io::decoded_part> decode(const gpuhist::io::part_input& input) override {
    return from_.decode(input);
  }

 private:
  gpuhist::io::part_decoder& from_;
};

/// For several runs, as in a pipeline. New memory takes most of the time of a short run.
struct fuzzed_decoders {
  std::shared_ptr<gpuhist::io::part_memory> plans =
      gpuhist::io::part_memory::shared(gpuhist::io::zstd_plan_bytes, 1'000);
  std::shared_ptr<gpuhist::io::part_memory> texts = gpuhist::io::part_memory::shared(std::size_t{1} << 20U, 4);
  std::shared_ptr<gpuhist::io::part_memory> long_texts = gpuhist::io::part_memory::shared(std::size_t{2} << 20U, 4);
  std::unique_ptr<gpuhist::io::decoder> alone = make_one();
  std::unique_ptr<gpuhist::io::decoder> ahead = make_one();
  std::unique_ptr<gpuhist::io::part_decoder> of_parts = make_parts();
};

}  // namespace

TEST_CASE("zstd parts: inputs have the same text, ends and verdict with parts as without") {
  for (const int level : {-5, 1, 3, 9, 19}) {
    for (const std::size_t flush : {0, 60, 3'000}) {
      const byte_vector text = mixed(flush == 60 ? 3'000 : 90'000);
      const auto sample = sample_of("level " + std::to_string(level), text, {.level = level, .flush_bytes = flush});
      for (const std::size_t bytes : {std::size_t{1}, std::size_t{1'000}, std::size_t{1} << 20U}) {
        check_parts(make_one, make_parts, sample, parts_of(bytes));
      }
    }
  }
  const byte_vector text = joined(mixed(200'000), joined(byte_vector(300'000), mixed(100'000)));
  check_parts(make_one, make_parts, sample_of("all sizes", text, {.content_size = true, .window_log = 18}),
              parts_of(1));
}

TEST_CASE("zstd parts: every level, strategy and kind of text gives the same with parts as without") {
  std::ptrdiff_t taken_over = 0;
  for (const named_text& text : corpus_texts()) {
    CAPTURE(text.name);
    for (frame_settings settings : corpus_settings(text.bytes.size(), false)) {
      settings.content_size &= text.bytes.size() > (std::size_t{1} << 17U);
      settings.window_log = std::max(settings.window_log, 17);
      CAPTURE(describe(settings));
      const byte_vector packed = encoded_frame_of(text.bytes, settings);
      taken_over += ready_blocks(decode_parts(make_parts, packed, parts_of(3'000)(packed), {}));
      check_same_with_parts(make_one, make_parts, packed, {.divide = parts_of(3'000)}, text.bytes.size());
    }
  }
  CHECK(taken_over > 1'000);
}

TEST_CASE("zstd parts: files of other projects give the same with parts as without") {
  const std::filesystem::path folder(environment("GPUHIST_TEST_DATA"));
  if (folder.empty()) {
    MESSAGE("skipped: no GPUHIST_TEST_DATA, the folder of the test files of other projects");
    return;
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".zst") continue;
    CAPTURE(entry.path().string());
    ++files;
    check_same_with_parts(make_one, make_parts, text_of_file(entry.path()), {.divide = parts_of(1)},
                          std::size_t{1} << 24U);
  }
  CHECK(files > 3);
}

TEST_CASE("zstd parts: all compressed blocks are decoded ahead, also those that repeat tables of earlier parts") {
  for (const int level : {1, 3, 9, 19}) {
    const byte_vector text = sample_text(3'000'000);
    const byte_vector packed = frame_of(text, {.level = level, .window_log = 20, .flush_bytes = 20'000});
    const auto layout = gpuhist::io::lay_out_zstd_frame(gpuhist::io::access_to(packed), 0);
    REQUIRE(layout.has_value());
    const auto compressed = std::ranges::count(layout->blocks, gpuhist::io::zstd_block_type::compressed,
                                               [](const auto& each) { return each.header.type; });
    CHECK(compressed >= 100);
    for (const std::size_t bytes : {1, 30'000}) {
      const auto places = parts_of(bytes)(packed);
      CHECK(ready_blocks(decode_parts(make_parts, packed, places, {.threads = 2})) == compressed);
    }
  }
}

TEST_CASE(
    "zstd parts: literals with short codes, of which two are decoded at a time, are the same, also damaged ones") {
  std::mt19937 random(fuzz_seed(51));
  for (unsigned bits = 1; bits <= 7; ++bits) {  // of a code
    CAPTURE(bits);
    byte_vector text = noise(500'000, bits);
    for (std::byte& each : text) each &= static_cast<std::byte>((1U << bits) - 1);
    const byte_vector packed = frame_of(text, {.level = 1, .checksum = false, .flush_bytes = 70'000});
    CHECK(ready_blocks(decode_parts(make_parts, packed, parts_of(1)(packed), {})) >= 7);
    check_same_with_parts(make_one, make_parts, packed, {.divide = parts_of(1)}, text.size());
    for (std::size_t run = 0; run < fuzz_runs(30); ++run) {
      byte_vector damaged = packed;
      damage(damaged, random, 8);
      check_same_with_parts(make_one, make_parts, damaged, {.divide = parts_of(1)}, 2 * text.size());
    }
  }
}

TEST_CASE("zstd parts: the text of blocks that were decoded ahead is taken over, and their bytes are not read") {
  const byte_vector text = sample_text(300'000);
  for (const int level : {1, 3, 19}) {
    const byte_vector packed = frame_of(text, {.level = level, .flush_bytes = 10'000});
    for (const std::size_t bytes : {1, 5'000}) {
      const std::vector<part_place> places = parts_of(bytes)(packed);
      part_list parts = decode_parts(make_parts, packed, places, {});
      byte_vector erased = packed;
      for (const auto& each : parts) {
        const auto* const part = dynamic_cast<const zstd_part*>(each.get());
        if (part == nullptr) continue;
        for (const auto& block : part->blocks()) {
          std::ranges::fill(std::span(erased).subspan(block.begin + 3, block.header.content_bytes()), std::byte{0xFF});
        }
      }
      check_taken_over(make_one, std::move(parts), places, packed, erased, text.size());
    }
  }
}

TEST_CASE("zstd parts: any parts may be missing, and have any limit of memory") {
  std::mt19937 random(fuzz_seed(48));
  for (const int level : {1, 3, 9, 19}) {
    const byte_vector text = joined(sample_text(700'000), mixed(100'000));
    const byte_vector packed = frame_of(text, {.level = level, .window_log = 18, .flush_bytes = 9'000});
    const std::vector<part_place> places = parts_of(5'000)(packed);
    for (unsigned run = 0; run < 10; ++run) {
      part_list parts = decode_parts(make_parts, packed, places, {.max_bytes = std::size_t{1} << below(random, 26)});
      for (auto& each : parts) {
        if (below(random, 3) == 0) each = nullptr;  // each part refers to none before it
      }
      const decoding ahead =
          decode_with_parts(make_one, std::move(parts), places, packed, always(everything), text.size());
      CHECK_FALSE(ahead.failed);
      CHECK(ahead.missing.empty());
      CHECK((ahead.plain == text));
    }
  }
  for (const std::size_t max_bytes : {std::size_t{0}, std::size_t{4'000'000}, gpuhist::io::zstd_part_memory}) {
    const byte_vector zeros(8'000'000);
    check_same_with_parts(make_one, make_parts, frame_of(zeros, {}),
                          {.max_bytes = max_bytes, .divide = parts_of(1'000)}, zeros.size());
  }
}

TEST_CASE("zstd parts: every cut and every flipped bit of small inputs gives the same with parts as without") {
  for (const int level : {1, 3, 19}) {
    for (const bool checksum : {true, false}) {
      const auto sample = sample_of("small", mixed(300), {.level = level, .checksum = checksum, .flush_bytes = 250});
      check_parts_of_damaged(make_one, make_parts, sample, 2000, parts_of(1));
      check_parts_of_damaged(make_one, make_parts, sample, 2000, parts_of(150));
    }
  }
}

TEST_CASE("zstd parts: cuts and flipped bits of larger inputs give the same with parts as without") {
  for (const bool content_size : {true, false}) {
    check_parts_of_damaged(make_one, make_parts, sample_of("larger", mixed(120'000), {.content_size = content_size}),
                           60, parts_of(1));
  }
}

TEST_CASE("zstd parts: damage late in a long frame, of which libzstd decodes only the rest, gives the same result") {
  std::mt19937 random(fuzz_seed(47));
  constexpr std::size_t kept_begin = std::size_t{256} << 10U;
  for (std::size_t run = 0; run < fuzz_runs(40); ++run) {
    CAPTURE(run);
    byte_vector text = noise(400'000, below(random, 1'000));
    for (std::byte& each : text) each = (each & std::byte{63}) | std::byte{64};  // no block is stored as it is
    while (text.size() < 1'000'000) text = joined(text, random_text(random, below(random, 60'000)));
    const std::size_t flush = below(random, 3) == 0 ? 0 : below(random, 20'000) + 200;
    const byte_vector frame = frame_of(text, {.level = std::array<int, 4>{1, 3, 6, 12}.at(below(random, 4)),
                                              .checksum = below(random, 2) == 0,
                                              .content_size = below(random, 2) == 0,
                                              .window_log = 17 + static_cast<int>(below(random, 4)),
                                              .flush_bytes = flush});
    REQUIRE(frame.size() > kept_begin + 1'000);
    CHECK(ready_blocks(decode_parts(make_parts, frame, parts_of(20'000)(frame), {})) > 1);
    for (unsigned i = 0; i < 10; ++i) {
      byte_vector rest(frame.begin() + kept_begin, frame.end());
      damage(rest, random, 8);
      const byte_vector packed = joined(byte_vector(frame.begin(), frame.begin() + kept_begin), rest);
      check_same_with_parts(make_one, make_parts, packed, {.divide = parts_of(20'000)}, std::size_t{1} << 21U);
    }
  }
}

TEST_CASE("zstd parts: a frame that is handed over to libzstd at any block has the same result, also a damaged one") {
  std::mt19937 random(fuzz_seed(49));
  std::size_t failed = 0;
  std::size_t handed_over = 0;
  for (std::size_t run = 0; run < fuzz_runs(60); ++run) {
    CAPTURE(run);
    byte_vector text;
    while (text.size() < 900'000) text = joined(text, random_text(random, below(random, 60'000)));
    const std::size_t flush = below(random, 3) == 0 ? 0 : below(random, 20'000) + 200;
    const byte_vector frame = frame_of(text, {.level = std::array<int, 4>{1, 3, 6, 12}.at(below(random, 4)),
                                              .checksum = below(random, 2) == 0,
                                              .content_size = below(random, 2) == 0,
                                              .window_log = 17 + static_cast<int>(below(random, 3)),
                                              .flush_bytes = flush});
    for (unsigned i = 0; i < 8; ++i) {
      const bool is_damaged = i % 2 != 0;
      byte_vector packed = frame;
      if (is_damaged) damage(packed, random, 8);
      const std::size_t most_alone = below(random, 3) == 0 ? 0 : below(random, 200'000);
      const decoder_maker make_other = [most_alone] {
        return gpuhist::io::make_zstd_decoder_that_hands_over({}, most_alone);
      };
      const auto places = parts_of(below(random, 20'000) + 1)(packed);
      part_list parts = decode_parts(make_parts, packed, places, {.joins = below(random, 3) == 0});
      const std::uint32_t kept = below(random, 4);
      for (std::size_t at = 2; at < parts.size(); ++at) {  // the part at 1 has the first block
        if (below(random, 4) >= kept) parts[at] = nullptr;
      }
      const std::size_t room = below(random, 3) == 0 ? below(random, 5'000) + 1 : everything;
      const std::size_t bound = std::size_t{1} << 21U;
      const decoding alone = decode_with_parts(make_one, part_list(parts.size()), places, packed, always(room), bound);
      const decoding ahead = decode_with_parts(make_other, std::move(parts), places, packed, always(room), bound);
      failed += alone.failed ? 1 : 0;
      handed_over += ahead.took_no_parts && !is_damaged ? 1 : 0;
      CHECK(ahead.failed == alone.failed);
      CHECK(ahead.error == alone.error);
      CHECK(ahead.missing == alone.missing);
      CHECK(ahead.ends == alone.ends);
      CHECK((ahead.plain == alone.plain));
      if (!is_damaged) CHECK((ahead.plain == text));
    }
  }
  MESSAGE(failed << " damaged, " << handed_over << " valid ones handed over");
  CHECK(handed_over > 0);
}

TEST_CASE("zstd parts: random frames, also damaged ones, have the same result with parts as without") {
  std::mt19937 random(fuzz_seed(46));
  const std::size_t runs = fuzz_runs(3'000);
  std::size_t failed = 0;
  std::ptrdiff_t taken_over = 0;
  byte_vector frame;
  fuzzed_decoders decoders;
  for (std::size_t run = 0; run < runs; ++run) {
    CAPTURE(run);
    const bool is_new = run % 16 == 0;
    if (is_new) {
      frame = random_frame(random);
      decoders = fuzzed_decoders();
    }
    byte_vector packed = frame;
    for (std::uint32_t damages = below(random, 3); damages > 0 && !packed.empty(); --damages) damage(packed, random, 8);
    const part_shape shape{.divide = parts_of(below(random, 2) == 0 ? 1 : below(random, 2'000) + 1)};
    const auto places = shape.divide(packed);
    const std::size_t room = below(random, 3) == 0 ? below(random, 5'000) + 1 : (is_new ? everything : 60'000);
    const std::size_t bound = std::size_t{1} << 20U;
    part_list parts = decode_parts([&] { return std::make_unique<borrowed_part_decoder>(*decoders.of_parts); }, packed,
                                   places, {.joins = below(random, 4) != 0});
    taken_over += ready_blocks(parts);
    const decoding alone =
        decode_with_parts(*decoders.alone, part_list(parts.size()), places, packed, always(room), bound);
    const decoding ahead = decode_with_parts(*decoders.ahead, std::move(parts), places, packed, always(room), bound);
    failed += alone.failed ? 1 : 0;
    CHECK(ahead.failed == alone.failed);
    CHECK(ahead.error == alone.error);
    CHECK(ahead.missing == alone.missing);
    CHECK(ahead.ends == alone.ends);
    CHECK((ahead.plain == alone.plain));
  }
  MESSAGE(runs << " runs, " << failed << " damaged, " << taken_over << " blocks decoded ahead");
  CHECK(taken_over > static_cast<std::ptrdiff_t>(runs / 4));
}

TEST_CASE("zstd parts: text that was made ahead stays as it is, with windows of any size") {
  std::mt19937 random(fuzz_seed(50));
  byte_vector text = sample_text(40'000'000);
  for (unsigned i = 0; i < 4'000; ++i) {  // matches that are long ago
    const std::size_t to = 1'000'000 + below(random, 38'000'000);
    const std::size_t offset =
        1'000 + below(random, static_cast<std::uint32_t>(std::min<std::size_t>(to - 1'000, 16'000'000)));
    std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(to - offset), 500,
                text.begin() + static_cast<std::ptrdiff_t>(to));
  }
  for (const int window : {17, 18, 19, 20, 22, 24}) {
    CAPTURE(window);
    const byte_vector packed = frame_of(text, {.level = 1, .window_log = window});
    check_same_with_parts(make_one, make_parts, packed, {.divide = parts_of(gpuhist::io::zstd_part_bytes)},
                          text.size());
  }
}

TEST_CASE("zstd parts: a frame does not repeat tables of the frame before") {
  const byte_vector text = sample_text(400'000);
  const byte_vector first = frame_of(text, {.flush_bytes = 20'000});
  const auto layout = gpuhist::io::lay_out_zstd_frame(gpuhist::io::access_to(first), 0);
  REQUIRE(layout.has_value());
  byte_vector second = first;  // without its first block
  second.erase(second.begin() + static_cast<std::ptrdiff_t>(layout->blocks[0].at - 3),
               second.begin() + static_cast<std::ptrdiff_t>(layout->blocks[1].at - 3));
  const byte_vector packed = joined(first, second);
  const auto places = parts_of(1)(packed);
  part_list parts = decode_parts(make_parts, packed, places, {});
  for (std::size_t i = 3; i < 8; ++i) parts[i] = nullptr;
  const decoding ahead =
      decode_with_parts(make_one, std::move(parts), places, packed, always(everything), 2 * text.size());
  const decoding alone =
      decode_with_parts(make_one, part_list(places.size()), places, packed, always(everything), 2 * text.size());
  CHECK(alone.failed);
  CHECK(ahead.error == alone.error);
  CHECK((ahead.plain == alone.plain));
}

TEST_CASE("zstd parts: blocks that no encoder writes are judged as by libzstd") {
  const byte_vector ones(std::size_t{2} * 43'691, std::byte{0xFF});
  const byte_vector cases[] = {
      // sequences of the greatest length, as many as a block can have
      joined(vector_of(std::string("\x00\xFF\xAB\x2B\x54\x23\x00\x00", 8)), joined(ones, vector_of("\x01"))),
      vector_of(std::string("\x18"
                            "abc\x80\x00",
                            6)),  // no sequences, in two bytes
      vector_of(std::string("\x46\x00\x03\x80\x10\x01\x00\x01\x00\x01\x00\x02\x02\x02\x02\x00",
                            16)),  // four streams of one literal
  };
  for (const byte_vector& content : cases) {
    for (const bool comes_first : {true, false}) {
      byte_vector packed = vector_of(std::string("\x28\xB5\x2F\xFD\x00\x38", 6));
      if (!comes_first) packed = joined(packed, vector_of(std::string("\x2C\x00\x00\x18xyz\x00", 8)));
      packed = joined(packed, joined(block_header_of(content.size()), content));
      check_same_with_parts(make_one, make_parts, packed, {.divide = parts_of(1)}, std::size_t{1} << 18U);
    }
  }
}

TEST_CASE("zstd: the verdict on a frame does not depend on the frames that its decoder decoded before") {
  // four matches of 131,074 bytes: more than libzstd has room for, unless its buffer is of a larger window
  const byte_vector content = joined(vector_of(std::string("\x21"
                                                           "a\x04\x54\x01\x00\x34",
                                                           7)),
                                     joined(byte_vector(8, std::byte{0xFF}), vector_of("\x01")));
  const byte_vector packed =
      joined(vector_of(std::string("\x28\xB5\x2F\xFD\x00\x38", 6)), joined(block_header_of(content.size()), content));
  const auto decoded_by = [](gpuhist::io::decoder& decoder, const byte_vector& all) {
    return decode_with_parts(decoder, {}, {}, all, always(60'000), std::size_t{1} << 22U);
  };
  const auto used = make_one();
  const byte_vector text = sample_text(3'000'000);
  CHECK((decoded_by(*used, frame_of(text, {.window_log = 21})).plain == text));
  const decoding after = decoded_by(*used, packed);
  const decoding alone = decoded_by(*make_one(), packed);
  CHECK(alone.failed);
  CHECK(after.error == alone.error);
  CHECK((after.plain == alone.plain));
}

TEST_CASE("zstd parts: libzstd decodes a frame that begins with stored blocks") {
  const byte_vector stored = noise(300'000, 1);
  const byte_vector packed = frame_of(joined(stored, sample_text(300'000)), {.window_log = 20});
  const auto places = parts_of(1)(packed);  // the part at 1 has the first block
  part_list parts = decode_parts(make_parts, packed, places, {});
  CHECK(parts.at(1) == nullptr);
  CHECK(decode_with_parts(make_one, std::move(parts), places, packed, always(everything), 700'000).took_no_parts);
  check_same_with_parts(make_one, make_parts, packed, {.divide = parts_of(1)}, 600'000);
}

TEST_CASE("zstd parts: the table of formats divides zstd where its splitter reports parts, in long frames only") {
  const gpuhist::io::format* const zstd = gpuhist::io::format_named("zstd");
  REQUIRE(zstd != nullptr);
  CHECK(zstd->parts.splitter_divides);
  const byte_vector text = sample_text(gpuhist::io::zstd_least_text);
  const auto begins = [](const byte_vector& packed) {
    const auto places = reported_parts(gpuhist::io::make_zstd_splitter, packed, always(everything));
    return std::ranges::count_if(places, &part_place::begins_frame);
  };
  CHECK(begins(frame_of(text, {.content_size = true})) > 2);
  CHECK(begins(frame_of(std::span(text).first(text.size() - 1), {.content_size = true})) == 0);
}
