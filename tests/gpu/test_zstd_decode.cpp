// The zstd decoder of devices, on the host: whole frames of libzstd, and buffers that are too small. The checksum,
// against libxxhash.
#include "gpu/cuda/kernels_on_host.hpp"
#include "gpu/cuda/zstd/checksum_of_few.hpp"
#include "gpu/cuda/zstd/checksum_of_many.hpp"
#include "gpu/cuda/zstd/descriptions.hpp"
#include "gpu/cuda/zstd/frames.hpp"
#include "gpu/cuda/zstd/team.hpp"

#include "tests/gpu/zstd_corpus.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/campaign.hpp"
#include "tests/support/zstd_batch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace gpuhist::test;
namespace zstd = gpuhist::gpu::cuda::zstd;
using zstd::verdict;
using zstd::xxh64;

namespace {

void on_host(const zstd::batch_buffers& batch, const batch_bytes&) { zstd::decode_on_host(batch); }

// How often the blocks of a corpus have what the decoder distinguishes.
struct corpus_features {
  std::size_t blocks[3] = {};    // by block_type
  std::size_t literals[3] = {};  // by literals_type
  std::size_t streams[5] = {};   // 1 and 4
  std::size_t treeless = 0;
  std::size_t modes[3][4] = {};       // by code_kind and code_mode
  std::size_t count_bytes[4] = {};    // 1 and 2: length of the number of sequences
  std::size_t inherited_offsets = 0;  // blocks that end with a repeated offset of their begin

  void add(const zstd_batch& batch) {
    for (std::uint32_t i = 0; i < batch.blocks().size(); ++i) {
      const zstd::decoded_block& block = batch.decoded(i);
      ++blocks[static_cast<unsigned>(batch.blocks()[i].type)];
      for (const auto& code : batch.codes(i).codes) CHECK(code.mode <= zstd::code_mode::repeated);  // it is written
      if (batch.blocks()[i].type != zstd::block_type::compressed) continue;
      ++literals[static_cast<unsigned>(block.literals)];
      if (block.literals == zstd::literals_type::huffman) ++streams[block.streams];
      treeless += block.reuses_tree;
      if (block.sequence_count == 0) continue;
      ++count_bytes[block.sequence_count < 128 ? 1 : 2];
      for (unsigned kind = 0; kind < 3; ++kind) {
        ++modes[kind][static_cast<unsigned>(batch.codes(i).codes[kind].mode)];
      }
      const auto is_inherited = [](std::uint32_t offset) {
        return (offset & zstd::encoded_offset::inherited_flag) != 0;
      };
      if (std::ranges::any_of(block.after.at, is_inherited)) ++inherited_offsets;
    }
  }

  void check_all_occur() const {
    for (const std::size_t each : blocks) CHECK(each > 0);
    for (const std::size_t each : literals) CHECK(each > 0);
    CHECK(streams[1] > 0);
    CHECK(streams[4] > 0);
    CHECK(treeless > 0);
    for (const auto& kind : modes) {
      for (const std::size_t each : kind) CHECK(each > 0);
    }
    CHECK(count_bytes[1] > 0);
    CHECK(count_bytes[2] > 0);
    CHECK(inherited_offsets > 0);
  }
};

}  // namespace

TEST_CASE("every frame of libzstd is decoded to its text") {
  corpus_features found;
  std::size_t frames = 0;
  for (const named_text& text : corpus_texts()) {
    CAPTURE(text.name);
    const bool all = campaign_size() == campaign::all && text.bytes.size() < 30'000;
    const std::vector<frame_settings> settings = corpus_settings(text.bytes.size(), all);
    constexpr std::size_t batch_frames = 32;
    for (std::size_t begin = 0; begin < settings.size(); begin += batch_frames) {
      const std::size_t end = std::min(settings.size(), begin + batch_frames);
      zstd_batch batch;
      for (std::size_t i = begin; i < end; ++i) {
        const auto added = batch.add(encoded_frame_of(text.bytes, settings[i]));
        REQUIRE(added.is_listed);
      }
      for (const bool in_parts : {false, true}) {
        CAPTURE(in_parts);
        if (in_parts) batch.divide_all();
        batch.decode(on_host);
        CHECK(batch.kept_bounds());
        for (std::uint32_t i = 0; i < batch.size(); ++i) {
          CAPTURE(describe(settings[begin + i]));
          REQUIRE(std::string(name_of(batch.verdict_of(i))) == "decoded");
          CHECK(std::ranges::equal(batch.text_of(i), text.bytes));
        }
      }
      found.add(batch);
      frames += batch.size();
    }
  }
  std::printf("%zu frames, %zu compressed blocks\n", frames, found.blocks[2]);
  found.check_all_occur();
}

namespace {

// Threads that exchange values as those of a warp do.
struct exchanging_team {
  static constexpr unsigned size = 4;
  struct shared {
    std::barrier<> all{size};
    std::array<std::uint32_t, size> values{};
  };

  shared& with;
  unsigned own;

  [[nodiscard]] unsigned rank() const { return own; }
  [[nodiscard]] std::uint32_t value_of(std::uint32_t value, unsigned rank) const {
    with.values[own] = value;
    with.all.arrive_and_wait();
    const std::uint32_t found = with.values[rank % size];
    with.all.arrive_and_wait();
    return found;
  }
  [[nodiscard]] std::uint32_t from_lower(std::uint32_t value, unsigned distance) const {
    return value_of(value, own + size - distance);
  }
  [[nodiscard]] unsigned first(bool is) const {
    unsigned found = size;
    for (unsigned i = size; i-- > 0;) found = value_of(is ? 1 : 0, i) != 0 ? i : found;
    return found;
  }
};

void link_again(const zstd::batch_buffers& batch) {
  exchanging_team::shared with;
  std::vector<std::jthread> threads;
  for (unsigned own = 0; own < exchanging_team::size; ++own) {
    threads.emplace_back([&, own] {
      const exchanging_team team{with, own};
      for (std::uint32_t i = 0; i < batch.frame_count; ++i) zstd::resolve_references(team, batch, i);
      for (std::uint32_t i = 0; i < batch.frame_count; ++i) zstd::link_frame(team, batch, i);
    });
  }
}

}  // namespace

TEST_CASE("threads that have a block each find the same trees, codes, places and offsets as one thread") {
  std::size_t linked = 0;
  for (const named_text& text : corpus_texts()) {
    zstd_batch batch;
    for (const frame_settings& each : corpus_settings(text.bytes.size(), false)) {
      batch.add(encoded_frame_of(text.bytes, each));
    }
    batch.decode([&](const zstd::batch_buffers& buffers, const batch_bytes&) {
      zstd::decode_on_host(buffers);
      const std::vector<zstd::decoded_block> expected(buffers.decoded, buffers.decoded + buffers.block_count);
      for (std::uint32_t i = 0; i < buffers.block_count; ++i) {
        zstd::decoded_block& block = buffers.decoded[i];
        block.tree_block = block.code_block[0] = block.code_block[1] = block.code_block[2] = 0;
        block.frame_offset = 0;
        block.before = {};
      }
      link_again(buffers);
      for (std::uint32_t i = 0; i < buffers.block_count; ++i) {
        const zstd::decoded_block& found = buffers.decoded[i];
        CHECK(found.tree_block == expected[i].tree_block);
        CHECK(std::ranges::equal(found.code_block, expected[i].code_block));
        CHECK(found.frame_offset == expected[i].frame_offset);
        CHECK(std::ranges::equal(found.before.at, expected[i].before.at));
        ++linked;
      }
    });
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
      CHECK(batch.verdict_of(i) == verdict::decoded);
      CHECK(batch.text_of(i).size() == text.bytes.size());
    }
  }
  CHECK(linked > 1000);
}

TEST_CASE("many small frames of one batch, with skippable ones between, are decoded to their texts") {
  std::mt19937 random(fuzz_seed(3));
  const std::vector<byte_vector> frames = small_frames(random, 3000);
  byte_vector packed;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i % 7 == 0) packed = joined(std::move(packed), skippable_frame(random() % 40, static_cast<unsigned>(i % 16)));
    packed = joined(std::move(packed), frames[i]);
  }
  zstd_batch batch;
  const auto all = batch.add(packed);
  REQUIRE(all.is_listed);
  REQUIRE(all.end == frames.size());
  batch.decode(on_host);
  CHECK(batch.kept_bounds());
  frame_oracle oracle;
  for (std::uint32_t i = 0; i < frames.size(); ++i) {
    CAPTURE(i);
    REQUIRE(batch.verdict_of(i) == verdict::decoded);
    const auto text = oracle.decode(frames[i], std::size_t{1} << 20U);
    REQUIRE(text);
    CHECK(std::ranges::equal(*text, batch.text_of(i)));
  }
}

TEST_CASE("without enough room for literals or sequences, frames without room are rejected and the others decoded") {
  std::mt19937 random(fuzz_seed(4));
  const std::vector<byte_vector> frames = small_frames(random, 200);
  zstd_batch batch;
  for (const byte_vector& each : frames) REQUIRE(batch.add(each).is_listed);
  const batch_rooms needed = batch.describe();
  frame_oracle oracle;
  const auto check_rejected = [&](const batch_rooms& rooms) {
    CAPTURE(rooms.literal_bytes);
    CAPTURE(rooms.sequence_entries);
    batch.decode(on_host, rooms);
    CHECK(batch.kept_bounds());
    std::size_t rejected = 0;
    for (std::uint32_t i = 0; i < frames.size(); ++i) {
      if (batch.verdict_of(i) == verdict::no_room) {
        ++rejected;
        continue;
      }
      REQUIRE(batch.verdict_of(i) == verdict::decoded);
      CHECK(std::ranges::equal(*oracle.decode(frames[i], std::size_t{1} << 20U), batch.text_of(i)));
    }
    return rejected;
  };
  CHECK(check_rejected(needed) == 0);
  for (const std::uint32_t part : {0U, 1U, 2U, 3U}) {
    CHECK(check_rejected({needed.literal_bytes / 4 * part, needed.sequence_entries}) > 0);
    CHECK(check_rejected({needed.literal_bytes, needed.sequence_entries / 4 * part}) > 0);
  }
  CHECK(check_rejected({needed.literal_bytes - 1, needed.sequence_entries}) == 1);
  CHECK(check_rejected({needed.literal_bytes, needed.sequence_entries - 1}) == 1);
}

TEST_CASE("a frame whose text has too little room is rejected, and writes nothing outside it") {
  const byte_vector text = sample_text(5000);
  for (const std::size_t flush : {std::size_t{0}, std::size_t{300}}) {
    const byte_vector frame = encoded_frame_of(text, {.window_log = 10, .content_size = false, .flush_bytes = flush});
    zstd_batch batch;
    const std::size_t rooms[] = {0, 1, 299, 300, 1023, 1024, 4096, 4999, 5000, 5001};
    for (std::uint32_t i = 0; i < std::size(rooms); ++i) {
      REQUIRE(batch.add(frame).is_listed);
      batch.limit_text(i, rooms[i]);
    }
    batch.decode(on_host);
    CHECK(batch.kept_bounds());
    for (std::uint32_t i = 0; i < std::size(rooms); ++i) {
      CAPTURE(rooms[i]);
      CHECK(batch.verdict_of(i) == (rooms[i] < text.size() ? verdict::no_room : verdict::decoded));
      if (rooms[i] >= text.size()) CHECK(std::ranges::equal(batch.text_of(i), text));
    }
  }
}

TEST_CASE("zstd files of other projects are decoded as by libzstd, or rejected") {
  const std::string folder(environment("GPUHIST_TEST_DATA"));
  if (folder.empty()) {
    std::printf("skipped: no GPUHIST_TEST_DATA, the folder of the test files of other projects\n");
    return;
  }
  frame_oracle oracle;
  std::size_t decoded = 0;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".zst") continue;
    CAPTURE(entry.path().string());
    ++files;
    const byte_vector packed = text_of_file(entry.path());
    zstd_batch batch;
    const auto added = batch.add(packed);
    if (!added.is_listed) continue;
    batch.decode(on_host);
    CHECK(batch.kept_bounds());
    if (!batch.is_decoded(added)) continue;
    ++decoded;
    const auto text = oracle.decode(packed, std::size_t{64} << 20U);
    REQUIRE(text);
    CHECK(std::ranges::equal(*text, batch.text_of(added)));
  }
  std::printf("%zu of %zu files decoded\n", decoded, files);
  CHECK(decoded > 3);
}

#define XXH_INLINE_ALL

namespace zstd = gpuhist::gpu::cuda::zstd;

namespace {

struct word_copy {
  std::uint64_t* to;
  const std::uint8_t* from;
};

// Copies as late as wait() allows: a place that is read before, or written while it is still to be read, gives a wrong
// hash.
class late_copies {
 public:
  void copy(std::uint64_t* to, const std::uint8_t* from) { open_.push_back({to, from}); }
  void end_group() {
    groups_.push_back(open_);
    open_.clear();
  }
  template <unsigned Left>
  void wait() {
    for (; groups_.size() > Left; groups_.pop_front()) {
      for (const word_copy& each : groups_.front()) std::memcpy(each.to, each.from, sizeof(*each.to));
    }
  }

 private:
  std::vector<word_copy> open_;
  std::deque<std::vector<word_copy>> groups_;
};

// Copies at once.
struct early_copies {
  void copy(std::uint64_t* to, const std::uint8_t* from) { std::memcpy(to, from, sizeof(*to)); }
  void end_group() {}
  template <unsigned Left>
  void wait() {}
};

using bytes = std::vector<std::uint8_t>;

// A text that is written only as far as wait_for() demands.
class late_text {
 public:
  explicit late_text(const bytes& text) : text_(text), written_(text.size()) {}

  [[nodiscard]] const bytes& written() const { return written_; }
  void wait_for(std::uint32_t end) {
    for (; end_ < end; ++end_) written_[end_] = text_[end_];
  }

 private:
  const bytes& text_;
  bytes written_;
  std::uint32_t end_ = 0;
};

std::uint64_t hash_of_few(const bytes& text) {
  const zstd::lone_thread team;
  const auto memory = std::make_unique<zstd::hash_memory>();
  late_text written(text);
  zstd::text_accumulators all(team, *memory, written, written.written().data(), xxh64::stripes_in(text.size()));
  all.add_stripes();
  std::uint64_t sums[xxh64::accumulators];
  for (unsigned i = 0; i < xxh64::accumulators; ++i) sums[all.accumulator(i)] = all.sum(i);
  return xxh64::finish(sums, text.data() + text.size() / xxh64::stripe_bytes * xxh64::stripe_bytes, text.size());
}

template <class Copies>
std::uint64_t hash_of_many(const bytes& text) {
  using words = zstd::staged_words<xxh64::accumulators, Copies>;
  const auto memory = std::make_unique<typename words::memory>();
  const std::uint32_t stripes = xxh64::stripes_in(text.size());
  std::uint64_t sums[xxh64::accumulators];
  for (unsigned i = 0; i < xxh64::accumulators; ++i) {
    words own(*memory, i, Copies{}, text.data(), stripes, i);
    sums[i] = zstd::accumulate(own, stripes, i);
  }
  return xxh64::finish(sums, text.data() + text.size() / xxh64::stripe_bytes * xxh64::stripe_bytes, text.size());
}

std::uint64_t hash_of_pieces(const bytes& text, bool of_products) {
  constexpr std::size_t piece = 3 * xxh64::stripe_bytes;
  bytes products = text;
  const std::size_t whole = of_products ? text.size() / xxh64::stripe_bytes * xxh64::stripe_bytes : 0;
  for (std::size_t at = 0; at < whole; at += sizeof(std::uint64_t)) {
    const std::uint64_t product = xxh64::load<std::uint64_t>(&text[at]) * xxh64::prime2;
    std::memcpy(&products[at], &product, sizeof(product));
  }
  zstd::piecewise_xxh64 hash(of_products);
  for (std::size_t at = 0; at < text.size(); at += piece) hash.add(&products[at], std::min(piece, text.size() - at));
  return hash.finish();
}

bytes noise_of(std::size_t size) {
  bytes all;
  for (const std::byte each : gpuhist::test::noise(size, 5)) all.push_back(std::to_integer<std::uint8_t>(each));
  return all;
}

}  // namespace

TEST_CASE("the checksum is that of libxxhash for every length, however late the text is written or its words copied") {
  constexpr std::size_t batch_bytes = xxh64::stripe_bytes * zstd::hash_memory::batch;
  for (std::size_t size = 0; size < 6 * batch_bytes; size = size < 200 ? size + 1 : size + 31) {
    CAPTURE(size);
    const bytes text = noise_of(size);
    const std::uint64_t expected = XXH64(text.data(), text.size(), 0);
    CHECK(hash_of_few(text) == expected);
    CHECK(hash_of_pieces(text, false) == expected);
    CHECK(hash_of_pieces(text, true) == expected);
    CHECK(hash_of_many<late_copies>(text) == expected);
    CHECK(hash_of_many<early_copies>(text) == expected);
  }
}

TEST_CASE("the inverse of a prime of the checksum") {
  CHECK(xxh64::inverse(xxh64::prime1) * xxh64::prime1 == 1);
  CHECK(xxh64::inverse(1) == 1);
}
