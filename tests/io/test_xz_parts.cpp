// The contract of decoding ahead for xz (tests/contract/part_contract.hpp): blocks without sizes in their headers, by
// the indexes at the end of a file; and indexes that are damaged, missing, or lie.
#include "io/xz/xz_decoder.hpp"
#include "io/xz/xz_listed_blocks.hpp"
#include "io/xz/xz_parts.hpp"
#include "tests/contract/part_contract.hpp"
#include "tests/io/packed_samples.hpp"
#include "tests/io/zstd_samples.hpp"

#include <doctest/doctest.h>

#include <memory>

using namespace gpuhist::test;
using gpuhist::io::xz_listed_block;

namespace {

using block_list = std::vector<xz_listed_block>;

const decoder_maker make = [] { return gpuhist::io::make_xz_decoder({}); };

/// A file in memory.
class memory_file final : public gpuhist::io::byte_reader {
 public:
  explicit memory_file(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t read(std::span<std::byte> out) override {
    const std::size_t size = std::min(out.size(), bytes_.size() - at_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), size, out.begin());
    at_ += size;
    total_read_ += size;
    return size;
  }
  [[nodiscard]] std::optional<std::uint64_t> seekable_bytes() const override { return bytes_.size(); }
  void seek(std::uint64_t offset) override { at_ = std::min<std::uint64_t>(offset, bytes_.size()); }

  [[nodiscard]] std::size_t total_read() const { return total_read_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t total_read_ = 0;
  std::size_t at_ = 0;
};

block_list listed(std::span<const std::byte> packed) {
  memory_file file(packed);
  return gpuhist::io::list_xz_blocks(file);
}

part_decoder_maker parts_by(block_list blocks) {
  return [kept = std::make_shared<const block_list>(std::move(blocks))] {
    return gpuhist::io::make_xz_part_decoder(kept);
  };
}

/// As for a file with this content.
part_decoder_maker parts_of(std::span<const std::byte> packed) { return parts_by(listed(packed)); }

/// How many blocks are decoded ahead if `packed` is one part.
std::size_t blocks_ahead(std::span<const std::byte> packed, const block_list& blocks,
                         std::size_t max_bytes = std::size_t{1} << 26U) {
  const std::vector<std::span<const std::byte>> pieces{packed};
  const auto decoded = parts_by(blocks)()->decode(
      {.offset = 0, .size = packed.size(), .pieces = pieces, .ends_input = true, .max_bytes = max_bytes});
  const auto* const part = dynamic_cast<const gpuhist::io::xz_part*>(decoded.get());
  if (part == nullptr) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(blocks, [part](const xz_listed_block& each) { return part->find(each.begin) != nullptr; }));
}

xz_settings unsized(std::size_t block_bytes, lzma_check check = LZMA_CHECK_CRC32) {
  return {.check = check, .block_bytes = block_bytes, .dictionary = 4096};
}

/// Streams of several blocks, of one and of none, with and without padding, of each kind of check.
decoder_sample streams() {
  packed_sample_builder builder("streams");
  for (const lzma_check check : {LZMA_CHECK_NONE, LZMA_CHECK_CRC32, LZMA_CHECK_CRC64, LZMA_CHECK_SHA256}) {
    builder.xz(sample_text(9000, check), unsized(2000, check)).padding_in_fours(check == LZMA_CHECK_CRC64 ? 8 : 0);
    if (check == LZMA_CHECK_CRC32) builder.xz({}, unsized(60));
    builder.xz(noise(500), unsized(0, check));
  }
  return builder.xz(sample_text(3000), {.block_bytes = 700, .dictionary = 4096, .states_sizes = true}).build();
}

decoder_sample small() {
  return packed_sample_builder("small")
      .xz(sample_text(300), unsized(100))
      .padding_in_fours(4)
      .xz(noise(20), unsized(10, LZMA_CHECK_CRC64))
      .build();
}

/// `packed` with the index and footer of `other`, a stream that has another one.
byte_vector with_index_of(const byte_vector& packed, const byte_vector& other) {
  const auto index_begin = [](const byte_vector& stream) {
    return stream.size() - 12 - 4 * (1 + std::to_integer<std::size_t>(stream[stream.size() - 8]));
  };
  byte_vector mixed(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(index_begin(packed)));
  mixed.insert(mixed.end(), other.begin() + static_cast<std::ptrdiff_t>(index_begin(other)), other.end());
  return mixed;
}

}  // namespace

TEST_CASE("xz parts: the end of a file lists all blocks of all streams, where the decoder finds their ends") {
  for (const decoder_sample& sample : {streams(), small()}) {
    const block_list blocks = listed(sample.packed);
    REQUIRE(blocks.size() == sample.ends.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      CHECK(blocks[i].begin + blocks[i].bytes == sample.ends[i].packed);
      CHECK(blocks[i].text == sample.ends[i].plain - (i == 0 ? 0 : sample.ends[i - 1].plain));
    }
    CHECK(blocks_ahead(sample.packed, blocks) == blocks.size());
  }
}

TEST_CASE("xz parts: a file without a complete end lists no blocks") {
  const byte_vector packed = small().packed;
  CHECK(listed({}).empty());
  CHECK(listed(noise(5000)).empty());
  CHECK(listed(joined(packed, vector_of("text"))).empty());
  CHECK(listed(std::span(packed).first(packed.size() - 4)).empty());
  CHECK(listed(joined(noise(40), packed)).empty());
}

TEST_CASE("xz parts: a file with fewer than two blocks is not decoded in parts; one with more is") {
  const auto has_parts = [](const byte_vector& packed) {
    memory_file file(packed);
    return static_cast<bool>(gpuhist::io::read_xz_parts(file).make);
  };
  CHECK_FALSE(has_parts(xz_stream_of({})));
  CHECK_FALSE(has_parts(xz_stream_of(sample_text(5000))));
  CHECK_FALSE(has_parts({}));
  CHECK(has_parts(xz_stream_of(sample_text(5000), unsized(3000))));
  CHECK(has_parts(joined(xz_stream_of(sample_text(5000)), xz_stream_of(sample_text(10)))));
}

TEST_CASE("xz parts: no file lists more than 65,536 blocks") {
  constexpr std::size_t most = gpuhist::io::xz_most_listed_blocks;
  CHECK(listed(xz_stream_of(byte_vector(most), unsized(1))).size() == most);
  CHECK(listed(xz_stream_of(byte_vector(most + 1), unsized(1))).empty());
}

TEST_CASE("xz parts: no more than 4 MiB of a file are read for the list") {
  const auto read_for = [](const byte_vector& packed) {
    memory_file file(packed);
    const bool found = !gpuhist::io::list_xz_blocks(file).empty();
    return std::pair(found, file.total_read());
  };
  const byte_vector stream = xz_stream_of(noise(9'000), unsized(5'000));
  byte_vector packed;
  for (int i = 0; i < 300; ++i) packed.insert(packed.end(), stream.begin(), stream.end());
  CHECK(read_for(packed).first);
  for (int i = 0; i < 700; ++i) packed.insert(packed.end(), stream.begin(), stream.end());
  const auto [found, bytes] = read_for(packed);
  CHECK_FALSE(found);
  CHECK(bytes <= std::size_t{4} << 20U);
}

TEST_CASE("xz parts: the text of blocks that were decoded ahead is taken over, and their bytes are not read") {
  const decoder_sample sample = packed_sample_builder("two streams")
                                    .xz(sample_text(30'000), unsized(2'000))
                                    .xz(noise(20'000), unsized(3'000, LZMA_CHECK_SHA256))
                                    .build();
  const block_list blocks = listed(sample.packed);
  byte_vector erased = sample.packed;
  for (const xz_listed_block& each : blocks) {  // except the first byte, which is zero in an index
    std::ranges::fill(std::span(erased).subspan(each.begin + 1, each.bytes - 1), std::byte{0});
  }
  for (const std::size_t part_bytes : {std::size_t{700}, sample.packed.size() / 3, sample.packed.size()}) {
    const part_shape shape{.part_bytes = part_bytes, .look_ahead = sample.packed.size()};
    const std::vector<part_place> places = part_places(sample.packed, shape);
    check_taken_over(make, decode_parts(parts_by(blocks), sample.packed, places, shape), places, sample.packed, erased,
                     sample.plain.size());
  }
}

TEST_CASE("xz parts: within a long block a decoder keeps no parts before its position") {
  const byte_vector packed = xz_stream_of(noise(300'000), unsized(0));
  check_parts_are_released(make, packed, 1'000, [](std::size_t offset) {
    std::vector<gpuhist::io::xz_ready_block> blocks;
    blocks.push_back({.begin = offset});
    return std::make_shared<gpuhist::io::xz_part>(std::move(blocks));
  });
}

TEST_CASE("xz parts: inputs have the same text, ends and verdict with parts as without") {
  const decoder_sample many = streams();
  check_parts(make, parts_of(many.packed), many);
  const decoder_sample larger =
      packed_sample_builder("larger").xz(joined(sample_text(400'000), noise(200'000)), unsized(50'000)).build();
  check_parts(make, parts_of(larger.packed), larger);
  const decoder_sample tiny = packed_sample_builder("blocks of a byte").xz(sample_text(2000), unsized(1)).build();
  check_parts(make, parts_of(tiny.packed), tiny);
  const decoder_sample filtered =
      packed_sample_builder("filters").xz(sample_text(20'000), {.block_bytes = 3000, .x86_filter = true}).build();
  check_parts(make, parts_of(filtered.packed), filtered);
}

TEST_CASE("xz parts: every cut and every flipped bit of a small input gives the same with parts as without") {
  const decoder_sample sample = small();
  check_parts_of_damaged(make, parts_of(sample.packed), sample);  // the index was read before the damage
  const part_shape shape{.part_bytes = sample.packed.size() / 3 + 1, .look_ahead = sample.packed.size()};
  for (std::size_t bit = 0; bit < 8 * sample.packed.size(); ++bit) {
    CAPTURE(bit);
    byte_vector damaged = sample.packed;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    check_same_with_parts(make, parts_of(damaged), damaged, shape, sample.plain.size() + 4096);
  }
  for (std::size_t length = 0; length < sample.packed.size(); ++length) {
    const std::span<const std::byte> cut = std::span(sample.packed).first(length);
    check_same_with_parts(make, parts_of(cut), cut, shape, sample.plain.size());
  }
}

TEST_CASE("xz parts: an index that lists other blocks than there are changes nothing but the time") {
  const byte_vector text = sample_text(2000);
  const byte_vector packed = xz_stream_of(text, unsized(500));
  for (const byte_vector& other :
       {xz_stream_of(text, unsized(400)), xz_stream_of(sample_text(2000, 7), unsized(500)), xz_stream_of(text),
        xz_stream_of(text, unsized(500, LZMA_CHECK_SHA256)), xz_stream_of(noise(5000), unsized(100))}) {
    const byte_vector mixed = with_index_of(packed, other);
    for (const part_shape& shape : part_shapes(mixed.size())) {
      check_same_with_parts(make, parts_of(mixed), mixed, shape, 8192);
      check_same_with_parts(make, parts_of(other), packed, shape, 8192);
    }
  }
}

TEST_CASE("xz parts: a stream inside the data of a block is never taken for blocks of the input") {
  const byte_vector inner = xz_stream_of(sample_text(500), unsized(100));
  const byte_vector text = joined(noise(3000), joined(inner, noise(3000, 5)));
  const byte_vector packed = xz_stream_of(text, unsized(5000));
  const auto at = std::ranges::search(packed, inner).begin();
  REQUIRE(at != packed.end());  // noise is stored as it is
  block_list lie = listed(inner);
  for (xz_listed_block& each : lie) each.begin += static_cast<std::uint64_t>(at - packed.begin());
  CHECK(blocks_ahead(packed, lie) == lie.size());
  for (const part_shape& shape : part_shapes(packed.size())) {
    check_same_with_parts(make, parts_by(lie), packed, shape, text.size());
  }
}

TEST_CASE("xz parts: any list of blocks gives the text of the decoder alone") {
  const decoder_sample sample = small();
  const std::size_t size = sample.packed.size();
  std::mt19937 random(5);
  for (int turn = 0; turn < 300; ++turn) {
    block_list blocks = listed(sample.packed);
    for (xz_listed_block& each : blocks) {
      if (random() % 2 == 0) each.begin = random() % (2 * size);
      if (random() % 3 == 0) each.bytes = random() % 4 == 0 ? ~std::uint64_t{0} : random() % size;
      if (random() % 3 == 0) each.text = random() % 4 == 0 ? ~std::uint64_t{0} : random() % 400;
      if (random() % 5 == 0) each.check = static_cast<lzma_check>(random() % 16);
    }
    std::ranges::sort(blocks, {}, &xz_listed_block::begin);
    check_same_with_parts(make, parts_by(blocks), sample.packed,
                          {.part_bytes = 1 + random() % size, .look_ahead = random() % size}, sample.plain.size());
  }
}

TEST_CASE("xz parts: a block that needs more memory than there is, text and dictionary, is left to the decoder") {
  constexpr std::size_t mebibyte = std::size_t{1} << 20U;
  const byte_vector packed = xz_stream_of(sample_text(5000), {.block_bytes = 2000, .dictionary = 4 * mebibyte});
  const block_list blocks = listed(packed);
  CHECK(blocks_ahead(packed, blocks, 5 * mebibyte) == 3);
  CHECK(blocks_ahead(packed, blocks, 4 * mebibyte) == 0);
  const byte_vector zeros = xz_stream_of(byte_vector(3 * mebibyte), unsized(mebibyte));
  CHECK(blocks_ahead(zeros, listed(zeros), 2 * mebibyte) == 1);
}

TEST_CASE("xz parts: a decoder that may not have the dictionary of a block refuses it, decoded ahead or not") {
  const decoder_maker limited = [] { return gpuhist::io::make_xz_decoder({.window_bytes = 8192}); };
  const decoder_sample sample =
      packed_sample_builder("large").xz(sample_text(9000), {.block_bytes = 2000, .dictionary = 1U << 20U}).build();
  CHECK(decode(limited, sample.packed, always(everything), always(everything), 9000).failed);
  check_parts(limited, parts_of(sample.packed), sample);
}
