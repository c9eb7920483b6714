// Members of gzip for the decoder of devices: a batch in host memory, and zlib, with which its text is compared.
#pragma once

#include "gpu/cuda/deflate/checksum.hpp"
#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/zstd/part_segment.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/support/byte_vectors.hpp"
#include "tests/support/zstd_batch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace gpuhist::test {

namespace deflate_phase = gpu::cuda::deflate;
namespace zstd = gpu::cuda::zstd;

inline std::uint32_t crc32_of(const byte_vector& text) {
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
inline member member_of(const byte_vector& text, gzip_settings settings = {}) {
  constexpr std::ptrdiff_t header = 10;
  constexpr std::ptrdiff_t trailer = 8;
  const byte_vector whole = gzip_member_of(text, std::move(settings));
  return {
      .packed = {whole.begin() + header, whole.end() - trailer}, .text_bytes = text.size(), .checksum = crc32_of(text)};
}

/// The oracle. Nothing: zlib rejects the stream, or it has another size.
inline std::optional<byte_vector> text_by_zlib(const member& of) {
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
  member_batch(const std::vector<member>& members, const batch_decoder& decoder) {
    for (const member& each : members) add(each);
    const auto padded = (compressed_.size() + 15) / 16 * 16 + 16;
    words_.reset(new (std::align_val_t{16}) std::byte[padded]);
    std::memset(words_.get(), 0xFF, padded);
    std::ranges::copy(compressed_, words_.get());
    text_.assign(text_bytes_, untouched);
    const batch_bytes bytes{.compressed = padded, .text = text_bytes_};
    std::vector<zstd::decoded_block> decoded(blocks_.size());
    std::vector<zstd::block_codes> codes(blocks_.size());
    literals_.assign(literal_bytes_ + 3, untouched);  // phase 6 reads whole words
    sequences_.assign(entries_, untouched_entry);
    results_.resize(frames_.size());
    portions_.resize(blocks_.size());
    std::vector<std::int32_t> symbols(zstd::part_segment::min_symbols);
    zstd::part_progress progress;
    std::array<std::uint64_t, 2> used{literal_bytes_, entries_};
    const zstd::batch_buffers batch{.compressed = reinterpret_cast<const std::uint32_t*>(words_.get()),
                                    .frames = frames_.data(),
                                    .blocks = blocks_.data(),
                                    .frame_count = static_cast<std::uint32_t>(frames_.size()),
                                    .member_count = static_cast<std::uint32_t>(frames_.size()),
                                    .portion_count = portion_count_,
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
                                    .progress = &progress};
    decoder(batch, bytes);
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
    portion_count_ += portions;
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
  std::uint32_t portion_count_ = 0;
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
inline byte_vector random_text(std::mt19937& random, std::size_t size) {
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

inline byte_vector random_bytes(std::mt19937& random, std::size_t size) {
  byte_vector bytes(size);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

inline gzip_settings random_settings(std::mt19937& random) {
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

/// Decodes the members and compares them with zlib.
inline void compare(const batch_decoder& decoder, const std::vector<member>& members, tally& to) {
  const member_batch batch(members, decoder);
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

/// Some have several blocks of the batch, or are divided into portions. One of eight is intact.
inline std::vector<member> damaged_members(std::mt19937& random, std::size_t count) {
  std::vector<member> members;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t most = random() % 512 == 9 ? 300'000 : 3'000;
    member next = member_of(random_text(random, random() % most), random_settings(random));
    if (i % 8 != 0) damage(next.packed, random, 8);
    if (i % 4 == 0) next.portions = static_cast<std::uint32_t>(1 + random() % 4);
    if (!next.packed.empty()) members.push_back(std::move(next));
  }
  return members;
}

}  // namespace gpuhist::test
