// The deflate decoder of devices, on the host: what it accepts, zlib accepts, with the same text; no member changes its
// neighbours, and no access is outside the buffers. FUZZ_RUNS and FUZZ_SEED: see tests/support/campaign.hpp.
#include "gpu/cuda/deflate/checksum.hpp"
#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/kernels_on_host.hpp"
#include "gpu/cuda/zstd/part_segment.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/support/byte_vectors.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

using namespace gpuhist::test;
namespace deflate_phase = gpuhist::gpu::cuda::deflate;
namespace zstd = gpuhist::gpu::cuda::zstd;

namespace {

std::uint32_t crc32_of(const byte_vector& text) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

/// A deflate stream, and what its trailer states of its text.
struct member {
  byte_vector packed;
  std::size_t text_bytes = 0;
  std::uint32_t checksum = 0;
  std::uint32_t portions = 0;  ///< 0: as the program chooses
};

/// Without header and trailer.
member member_of(const byte_vector& text, gzip_settings settings = {}) {
  constexpr std::ptrdiff_t header = 10;
  constexpr std::ptrdiff_t trailer = 8;
  const byte_vector whole = gzip_member_of(text, std::move(settings));
  return {
      .packed = {whole.begin() + header, whole.end() - trailer}, .text_bytes = text.size(), .checksum = crc32_of(text)};
}

/// The oracle. Nothing: zlib rejects the stream, or it has another size.
std::optional<byte_vector> text_by_zlib(const member& of) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, -15) == Z_OK);
  byte_vector text(of.text_bytes + 1);
  stream.next_in = reinterpret_cast<const Bytef*>(of.packed.data());
  stream.avail_in = static_cast<uInt>(of.packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const bool is_whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0;
  text.resize(stream.total_out);
  inflateEnd(&stream);
  if (!is_whole || text.size() != of.text_bytes) return {};
  return text;
}

/// The members of a batch, in buffers of exactly the sizes that the decoder may use.
class member_batch {
 public:
  explicit member_batch(const std::vector<member>& members) {
    for (const member& each : members) add(each);
    const auto padded = (compressed_.size() + 15) / 16 * 16 + 16;
    words_.reset(new (std::align_val_t{16}) std::byte[padded]);
    std::memset(words_.get(), 0xFF, padded);
    std::ranges::copy(compressed_, words_.get());
    text_.assign(text_bytes_, untouched);
    std::vector<zstd::decoded_block> decoded(blocks_.size());
    std::vector<zstd::block_codes> codes(blocks_.size());
    literals_.assign(literal_bytes_ + 3, untouched);  // phase 6 reads whole words
    sequences_.assign(entries_, untouched_entry);
    results_.resize(frames_.size());
    portions_.resize(blocks_.size());
    std::vector<std::int32_t> symbols(zstd::part_segment::min_symbols);
    zstd::part_progress progress;
    std::array<std::uint64_t, 2> used{literal_bytes_, entries_};
    zstd::decode_on_host({.compressed = reinterpret_cast<const std::uint32_t*>(words_.get()),
                          .frames = frames_.data(),
                          .blocks = blocks_.data(),
                          .frame_count = static_cast<std::uint32_t>(frames_.size()),
                          .member_count = static_cast<std::uint32_t>(frames_.size()),
                          .text_room = static_cast<std::uint32_t>(text_bytes_),
                          .block_count = static_cast<std::uint32_t>(blocks_.size()),
                          .literal_room = static_cast<std::uint32_t>(literal_bytes_),
                          .sequence_room = static_cast<std::uint32_t>(sequences_.size()),
                          .codes = codes.data(),
                          .decoded = decoded.data(),
                          .literals = literals_.data(),
                          .sequences = sequences_.data(),
                          .text = text_.data(),
                          .results = results_.data(),
                          .used = used.data(),
                          .portions = portions_.data(),
                          .symbols = symbols.data(),
                          .symbol_room = static_cast<std::uint32_t>(symbols.size()),
                          .progress = &progress});
    CHECK(used == std::array<std::uint64_t, 2>{literal_bytes_, entries_});
  }

  [[nodiscard]] zstd::verdict verdict_of(std::size_t index) const { return results_[index].is; }
  [[nodiscard]] byte_vector text_of(std::size_t index) const {
    const auto text = std::as_bytes(std::span(text_).subspan(frames_[index].text_at, results_[index].text_bytes));
    return {text.begin(), text.end()};
  }

  [[nodiscard]] bool has_stated_checksum(std::size_t index) const {
    return deflate_phase::has_stated_crc32(frames_[index], results_[index]);
  }

  /// In how many places at the same time its text was begun.
  [[nodiscard]] std::size_t begins_of(std::size_t index) const {
    const auto all = std::span(portions_).subspan(frames_[index].first_block, frames_[index].portions);
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [](const auto& each) { return each.begin != deflate_phase::portion_block::no_begin; }));
  }

  /// Whether nothing between members was changed: text, literals, sequences.
  [[nodiscard]] bool kept_bounds() const {
    const auto is_untouched = [](std::uint8_t each) { return each == untouched; };
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const zstd::encoded_frame& frame = frames_[i];
      const bool is_last = i + 1 == frames_.size();
      const std::uint64_t text_end = frame.text_at + frame.text_room;
      const std::uint64_t next_text = is_last ? text_bytes_ : frames_[i + 1].text_at;
      const std::uint64_t next_literals = is_last ? literal_bytes_ : frames_[i + 1].literals_at;
      const std::uint64_t next_entry = is_last ? entries_ : frames_[i + 1].entries_at;
      if (!std::ranges::all_of(std::span(text_).subspan(text_end, next_text - text_end), is_untouched) ||
          literals_[next_literals - 1] != untouched || sequences_[next_entry - 1].bits != untouched_entry.bits) {
        return false;
      }
    }
    return true;
  }

 private:
  struct aligned_delete {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{16}); }
  };

  static constexpr std::uint8_t untouched = 0xA5;
  static constexpr zstd::sequence_entry untouched_entry{0xA5A5'A5A5'A5A5'A5A5};
  static constexpr std::size_t alignment = 32;  // at least one byte is between two texts

  void add(const member& each) {
    const auto frame = static_cast<std::uint32_t>(frames_.size());
    const std::uint32_t portions = each.portions > 0
                                       ? each.portions
                                       : deflate_phase::member_room::portions_of(each.packed.size(), each.text_bytes);
    const auto room = deflate_phase::member_room::of(portions, each.text_bytes);
    frames_.push_back({.text_at = text_bytes_,
                       .text_room = each.text_bytes,
                       .window_bytes = deflate_phase::window_bytes,
                       .content_bytes = each.text_bytes,
                       .first_block = static_cast<std::uint32_t>(blocks_.size()),
                       .block_count = room.blocks,
                       .checksum = each.checksum,
                       .is_in_parts = portions > 1 ? 1U : 0U,
                       .portions = portions,
                       .literals_at = static_cast<std::uint32_t>(literal_bytes_),
                       .literal_room = static_cast<std::uint32_t>(room.literals),
                       .entries_at = static_cast<std::uint32_t>(entries_),
                       .entry_room = static_cast<std::uint32_t>(room.entries)});
    literal_bytes_ += room.literals + 1;  // one is between those of two members
    entries_ += room.entries + 1;
    const zstd::encoded_block stream{.at = static_cast<std::uint32_t>(compressed_.size()),
                                     .bytes = static_cast<std::uint32_t>(each.packed.size()),
                                     .type = zstd::block_type::member,
                                     .frame = frame};
    blocks_.insert(blocks_.end(), frames_.back().block_count, stream);
    compressed_.insert(compressed_.end(), each.packed.begin(), each.packed.end());
    text_bytes_ = (text_bytes_ + each.text_bytes) / alignment * alignment + alignment;
  }

  std::vector<zstd::encoded_frame> frames_;
  std::vector<zstd::encoded_block> blocks_;
  byte_vector compressed_;
  std::unique_ptr<std::byte[], aligned_delete> words_;
  std::uint64_t text_bytes_ = 0;
  std::uint64_t literal_bytes_ = 0;
  std::uint64_t entries_ = 0;
  std::vector<std::uint8_t> literals_;
  std::vector<zstd::sequence_entry> sequences_;
  std::vector<std::uint8_t> text_;
  std::vector<zstd::decoded_frame> results_;
  std::vector<deflate_phase::portion_block> portions_;
};

/// Words, with copies of what came before at distances of up to 32 KiB, or bytes that do not compress.
byte_vector random_text(std::mt19937& random, std::size_t size) {
  byte_vector text;
  const unsigned kind = random() % 4;
  while (text.size() < size) {
    if (kind == 0) text.push_back(static_cast<std::byte>(random()));
    if (kind == 1) text.push_back(std::byte{'x'});
    if (kind > 1 && (text.size() < 100 || random() % 3 == 0)) {
      for (unsigned i = 0; i < 12; ++i) text.push_back(static_cast<std::byte>('a' + random() % (kind == 2 ? 26 : 4)));
    } else if (kind > 1) {
      const std::size_t distance = 1 + random() % std::min<std::size_t>(text.size(), 40'000);
      for (std::size_t i = 0, end = 8 + random() % 300; i < end; ++i) text.push_back(text[text.size() - distance]);
    }
  }
  text.resize(size);
  return text;
}

byte_vector random_bytes(std::mt19937& random, std::size_t size) {
  byte_vector bytes(size);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

gzip_settings random_settings(std::mt19937& random) {
  return {.level = static_cast<int>(random() % 10),
          .strategy = static_cast<int>(random() % (Z_FIXED + 1)),
          .mem_level = 1 + static_cast<int>(random() % 9),
          .flush_bytes = random() % 3 == 0 ? 1 + random() % 3000 : 0,
          .flush = random() % 2 == 0 ? Z_FULL_FLUSH : Z_BLOCK};
}

struct tally {
  std::size_t accepted = 0;
  std::size_t rejected = 0;        // by both
  std::size_t without_room = 0;    // not by zlib
  std::size_t rejected_by_us = 0;  // for other reasons
};

void compare(const std::vector<member>& members, tally& to) {
  const member_batch batch(members);
  CHECK(batch.kept_bounds());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto expected = text_by_zlib(members[i]);
    const zstd::verdict is = batch.verdict_of(i);
    if (is != zstd::verdict::decoded) {
      ++(!expected ? to.rejected : is == zstd::verdict::no_room ? to.without_room : to.rejected_by_us);
    } else {
      REQUIRE(expected);
      REQUIRE(batch.text_of(i) == *expected);
      REQUIRE(batch.has_stated_checksum(i) == (crc32_of(*expected) == members[i].checksum));
      ++to.accepted;
    }
  }
}

TEST_CASE("members of every level, strategy and block size of zlib are decoded to their text") {
  std::mt19937 random(fuzz_seed(71));
  tally all;
  for (std::size_t run = 0, runs = unless_sampled(300, 60); run < runs; ++run) {
    std::vector<member> members;
    for (unsigned i = 0; i < 5; ++i) {
      members.push_back(member_of(random_text(random, random() % (i == 0 ? 500'000 : 6'000)), random_settings(random)));
    }
    compare(members, all);
  }
  CHECK(all.rejected == 0);
  CHECK(all.rejected_by_us == 0);
  CHECK(all.without_room == 0);
  CHECK(all.accepted > 0);
}

TEST_CASE("a member that is cut at any byte, or followed by another one, is rejected") {
  std::mt19937 random(3);
  for (const int strategy : {Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY}) {
    const member whole = member_of(random_text(random, 700), {.strategy = strategy});
    std::vector<member> members{whole};
    for (std::size_t size = 1; size < whole.packed.size(); ++size) {
      members.push_back({.packed = {whole.packed.begin(), whole.packed.begin() + static_cast<std::ptrdiff_t>(size)},
                         .text_bytes = whole.text_bytes});
    }
    members.push_back({.packed = joined(whole.packed, vector_of("x")), .text_bytes = whole.text_bytes});
    members.push_back({.packed = whole.packed, .text_bytes = whole.text_bytes + 1});
    members.push_back({.packed = whole.packed, .text_bytes = whole.text_bytes - 1});
    tally all;
    compare(members, all);
    CHECK(all.accepted == 1);
    CHECK(all.rejected == members.size() - 1);
  }
}

TEST_CASE("text that is divided into blocks of the batch is the same at every boundary") {
  std::mt19937 random(4);
  constexpr std::size_t block = zstd::max_block_bytes;
  std::vector<member> members;
  for (const std::size_t size : {block - 259, block - 258, block - 1, block, block + 1, 2 * block, 2 * block + 1}) {
    for (const int level : {0, 1, 6}) {
      byte_vector text = random_text(random, size);
      members.push_back(member_of(text, {.level = level}));
      members.push_back(member_of(byte_vector(size, std::byte{'y'}), {.level = level}));
    }
  }
  tally all;
  compare(members, all);
  CHECK(all.rejected_by_us + all.rejected == 0);
  CHECK(all.accepted == members.size());
}

TEST_CASE("the checksum of a text of any length is found, at any place in the batch") {
  std::mt19937 random(5);
  tally all;
  std::vector<member> members;
  for (std::size_t size = 0; size < 600; ++size) members.push_back(member_of(random_bytes(random, size)));
  for (std::size_t i = 0; i < 60; ++i) members.push_back(member_of(random_bytes(random, 64 * 1024 - 8 + i)));
  members.push_back(member_of(random_text(random, 1'000'003)));
  compare(members, all);
  CHECK(all.accepted == members.size());
  for (member& each : members) each.checksum ^= std::uint32_t{1} << random() % 32;
  compare(members, all);
}

TEST_CASE("a member that is divided into portions has the same text, wherever its blocks begin") {
  std::mt19937 random(fuzz_seed(73));
  tally all;
  for (std::size_t run = 0, runs = unless_sampled(300, 60); run < runs; ++run) {
    std::vector<member> members;
    for (unsigned i = 0; i < 4; ++i) {
      members.push_back(member_of(random_text(random, random() % 200'000), random_settings(random)));
      members.back().portions = static_cast<std::uint32_t>(2 + random() % 12);
    }
    compare(members, all);
  }
  CHECK(all.rejected == 0);
  CHECK(all.rejected_by_us == 0);
  CHECK(all.without_room < all.accepted / 20);  // more portions than the program makes
}

TEST_CASE("a long member is divided where its blocks begin") {
  constexpr std::size_t size = 3'000'000;
  std::mt19937 random(6);
  const auto text_of = [&](auto word) {
    std::string text;
    while (text.size() < size) text += word();
    return vector_of(text);
  };
  const auto letters = [&] { return std::string(1, static_cast<char>('A' + random() % 64)); };  // are not compressed
  const auto bases = [&] { return std::string(1, "acgt"[random() % 4]); };                      // matches are short
  const auto numbers = [&] { return std::to_string(random() % 100'000) + ", "; };
  const auto lines = [&] { return "host" + std::to_string(random() % 100) + " GET /index.html 200\n"; };
  for (const byte_vector& text : {text_of(letters), text_of(bases), text_of(numbers), text_of(lines)}) {
    for (const int level : {6, 9}) {
      CAPTURE(level);
      CAPTURE(static_cast<char>(text.front()));
      const member_batch batch({member_of(text, {.level = level})});
      CHECK(batch.verdict_of(0) == zstd::verdict::decoded);
      CHECK((batch.text_of(0) == text));
      CHECK(batch.has_stated_checksum(0));
      CHECK(batch.begins_of(0) > 3);
    }
  }
}

TEST_CASE("a stream of blocks without text is left to the host, as a thread would need long for it") {
  // 10 bits each, with fixed codes: no last block, type 1, the end of the block. Then a last one.
  byte_vector packed;
  std::uint64_t bits = 0;
  unsigned count = 0;
  const std::size_t blocks = deflate_phase::most_bytes_of_portion;
  for (std::size_t i = 0; i <= blocks; ++i) {
    bits |= std::uint64_t{i < blocks ? 2U : 3U} << count;
    for (count += 10; count >= 8; count -= 8, bits >>= 8U) packed.push_back(static_cast<std::byte>(bits));
  }
  packed.push_back(static_cast<std::byte>(bits));  // two bits
  tally all;
  compare({member{.packed = packed}, member_of(vector_of("neighbour"))}, all);
  CHECK(all.accepted == 1);
  CHECK(all.rejected_by_us == 1);
}

TEST_CASE("blocks of a stream within the text of a member are no begins of its own blocks") {
  std::mt19937 random(7);
  tally all;
  for (const int level : {0, 1, 6}) {
    byte_vector text;
    while (text.size() < 300'000) {
      const byte_vector inner = gzip_member_of(random_text(random, 40'000), {.level = 9, .flush_bytes = 2000});
      text = joined(std::move(text), inner);
    }
    std::vector<member> members{member_of(text, {.level = level})};
    members.back().portions = 8;
    const member_batch batch(members);
    CHECK(batch.begins_of(0) > 1);
    compare(members, all);
  }
  CHECK(all.rejected + all.rejected_by_us == 0);
}

TEST_CASE("deflate fuzz: a damaged member is rejected or decoded as by zlib, and its neighbours are intact") {
  const std::uint32_t seed = fuzz_seed(72);
  std::mt19937 random(seed);
  tally all;
  for (std::size_t run = 0, runs = fuzz_runs(20'000); run < runs;) {
    std::vector<member> members;
    for (unsigned i = 0; i < 64; ++i, ++run) {
      const std::size_t most = run % 512 == 9 ? 300'000 : 3'000;  // some have several blocks of the batch
      member next = member_of(random_text(random, random() % most), random_settings(random));
      if (i % 8 != 0) damage(next.packed, random, 8);
      if (i % 4 == 0) next.portions = static_cast<std::uint32_t>(1 + random() % 4);
      if (!next.packed.empty()) members.push_back(std::move(next));
    }
    CAPTURE(seed);
    CAPTURE(run);
    compare(members, all);
  }
  std::printf("deflate fuzz, seed %u: %zu accepted, %zu rejected, %zu without room\n", seed, all.accepted, all.rejected,
              all.without_room);
  CHECK(all.accepted > all.rejected / 10);
  CHECK(all.rejected > 0);
  CHECK(all.rejected_by_us < all.accepted / 20);
}

}  // namespace
