// The contract of splitters for gzip: BGZF blocks are found, other members are not.
#include "io/gzip/gzip_splitter.hpp"

#include "io/gzip/gzip_decoder.hpp"
#include "tests/contract/splitter_contract.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace gpuhist::test;
using gpuhist::io::make_gzip_decoder;
using gpuhist::io::make_gzip_splitter;

namespace {

const std::string other_field("xy\1\0Z", 5);  // name, length, content
const std::string empty_field("ab\0\0", 4);

constexpr std::size_t block_header_bytes = 18;  // the header confirms the end of the previous block

const decoder_maker make_decoder = [] { return make_gzip_decoder({}); };

std::vector<decoder_sample> samples() {
  std::vector<decoder_sample> result;
  result.push_back(gzip_sample_builder("one block").block(sample_text(700)).build());
  result.push_back(gzip_sample_builder("the empty block alone").block({}).build());
  result.push_back(gzip_sample_builder("blocks, other fields in some, padding at the end")
                       .block(sample_text(300))
                       .block(noise(40), other_field)
                       .block({})
                       .block(sample_text(65'280))
                       .block(noise(200), empty_field)
                       .block({})
                       .padding(9)
                       .build());
  return result;
}

/// The results of one decoder per frame that the splitter finds, joined, as in the pipeline.
decoding decode_split(const byte_vector& packed) {
  std::vector<std::size_t> ends = split(make_gzip_splitter, packed, always(everything));
  if (ends.empty() || ends.back() != packed.size()) ends.push_back(packed.size());
  decoding all;
  std::size_t begin = 0;
  const auto decoder = make_decoder();
  for (std::size_t frame = 0; frame < ends.size() && all.accepted(); begin = ends[frame++]) {
    decoder->restart({.frames = frame, .compressed_bytes = begin});
    byte_vector out(1U << 17U);
    for (std::size_t at = begin;;) {
      const auto got = decoder->fill(std::span(packed).subspan(at, ends[frame] - at), out);
      at += got.consumed;
      all.plain.insert(all.plain.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(got.produced));
      all.failed = got.status == gpuhist::io::fill_status::failed;
      if (all.failed || got.status == gpuhist::io::fill_status::needs_input) break;
    }
    all.missing = decoder->missing_at_end(0);
  }
  return all;
}

}  // namespace

TEST_CASE("gzip: a splitter finds the same BGZF blocks as the decoder, for any cuts") {
  for (const decoder_sample& sample : samples()) check_splits(make_gzip_splitter, sample, block_header_bytes);
}

TEST_CASE("gzip: a splitter finds all blocks before any damaged byte") {
  check_damaged_splits(make_gzip_splitter, samples().front(), block_header_bytes);
  check_damaged_splits(make_gzip_splitter,
                       gzip_sample_builder("small blocks").block(noise(30)).block({}).block(noise(5)).build(),
                       block_header_bytes);
}

TEST_CASE("gzip: members without a size are one frame without an end, and the manner states the cause") {
  const byte_vector member = gzip_member_of(sample_text(500), {.name = "x", .extra = "BC"});
  const byte_vector two = joined(member, member);
  CHECK(split(make_gzip_splitter, two, always(7)).empty());
  CHECK(manner_of(make_gzip_splitter, two) == "members cannot be found without decoding them");
  const byte_vector block = bgzf_block_of(sample_text(500));
  CHECK(manner_of(make_gzip_splitter, joined(block, block)) == "BGZF blocks found by their sizes");
  const byte_vector both = joined(joined(block, block), two);
  CHECK(split(make_gzip_splitter, both, always(7)) == std::vector<std::size_t>{block.size()});
  CHECK(manner_of(make_gzip_splitter, both) == "BGZF blocks found by their sizes, up to a member without a size");
}

TEST_CASE("gzip: a block whose size is smaller than its header has no end") {
  byte_vector block = bgzf_block_of(sample_text(500));
  block[16] = std::byte{17};  // 18 bytes: only the header
  block[17] = std::byte{0};
  CHECK(split(make_gzip_splitter, block, always(everything)).empty());
}

TEST_CASE("gzip: a block with a wrong size never makes other text accepted") {
  const byte_vector text = sample_text(300);
  const byte_vector packed = joined(joined(bgzf_block_of(text), bgzf_block_of(noise(50))), bgzf_end());
  const byte_vector plain = joined(text, noise(50));
  CHECK(decode_split(packed).plain == plain);
  std::size_t accepted = 0;
  for (std::size_t size = 0; size < packed.size() + 10; ++size) {
    CAPTURE(size);
    byte_vector lying = packed;
    lying[16] = static_cast<std::byte>(size & 0xFFU);
    lying[17] = static_cast<std::byte>(size >> 8U);
    const decoding got = decode_split(lying);
    if (!got.accepted()) continue;
    CHECK(got.plain == plain);
    ++accepted;
  }
  CHECK(accepted == packed.size() + 10);  // as by decoders that ignore the size
}

TEST_CASE("gzip: a size that points into text that looks like a block never gives other text") {
  const byte_vector inner = joined(bgzf_block_of(noise(4000)), bgzf_end());
  byte_vector packed = joined(joined(bgzf_block_of(inner), bgzf_block_of(noise(50))), bgzf_end());
  const auto found = std::ranges::search(std::span(packed).subspan(1), std::span(inner).first(block_header_bytes));
  REQUIRE(!found.empty());  // noise is in stored blocks
  const auto size = static_cast<std::size_t>(found.begin() - std::span(packed).begin()) - 1;
  packed[16] = static_cast<std::byte>(size & 0xFFU);
  packed[17] = static_cast<std::byte>(size >> 8U);
  CHECK_FALSE(decode_split(packed).accepted());
}

TEST_CASE("gzip: at most one block is held back, for names of any length") {
  byte_vector packed = bgzf_block_of(sample_text(100));
  const byte_vector named = gzip_member_of(sample_text(10), {.name = std::string(1'000'000, 'x')});
  packed.insert(packed.end(), named.begin(), named.end());
  const auto splitter = make_gzip_splitter();
  std::size_t most = 0;
  for (std::size_t at = 0; at < packed.size(); at += 1000) {
    splitter->advance(std::span(packed).subspan(at, std::min<std::size_t>(1000, packed.size() - at)));
    most = std::max(most, splitter->held_back());
  }
  CHECK(most > 60'000);
  CHECK(most < 65'536);
  CHECK(splitter->is_lost());
}
