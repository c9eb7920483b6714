// Mutations of zstd frames by their parts.
#include "tests/gpu/zstd_mutator.hpp"

#include "gpu/cuda/zstd/descriptions.hpp"
#include "tests/support/zstd_batch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuhist::test {
namespace {

namespace zstd = gpu::cuda::zstd;

constexpr std::size_t block_header_bytes = 3;
constexpr std::size_t jump_table_bytes = 6;

byte_vector slice(const byte_vector& from, std::size_t begin, std::size_t end) {
  return {from.begin() + static_cast<std::ptrdiff_t>(begin), from.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::uint64_t number_at(const byte_vector& bytes, std::size_t at, std::size_t count) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < count; ++i) number |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  return number;
}

void put_number(byte_vector& bytes, std::size_t at, std::size_t count, std::uint64_t number) {
  for (std::size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<std::byte>(number >> (8 * i) & 0xFFU);
}

// Adds `more` to the size in a block header.
void grow_block(byte_vector& bytes, std::size_t header, std::int64_t more) {
  const std::uint64_t old = number_at(bytes, header, block_header_bytes);
  const std::uint64_t size = (old >> 3U) + static_cast<std::uint64_t>(more);
  put_number(bytes, header, block_header_bytes, (old & 7U) | size << 3U);
}

// Adds `more` to the encoded size in the header of Huffman literals.
void grow_literals(byte_vector& bytes, std::size_t header, std::int64_t more) {
  const std::uint64_t format = number_at(bytes, header, 1) >> 2U & 3U;
  const std::size_t length = format < 2 ? 3 : format + 2;
  const unsigned width = format < 2 ? 10 : format == 2 ? 14 : 18;
  const std::uint64_t old = number_at(bytes, header, length);
  const std::uint64_t mask = ((std::uint64_t{1} << width) - 1) << (4 + width);
  const std::uint64_t size = (old >> (4 + width)) + static_cast<std::uint64_t>(more);
  put_number(bytes, header, length, (old & ~mask) | (size << (4 + width) & mask));
}

struct part_list {
  std::vector<std::pair<zstd_part, std::size_t>> ends;  // in the order of their bytes

  void add(zstd_part part, std::size_t end) { ends.emplace_back(part, end); }
};

// The parts of a compressed block, which is valid. Offsets are those of the batch.
part_list parts_of(const zstd_batch& batch, std::uint32_t index) {
  const zstd::encoded_block& block = batch.blocks()[index];
  const zstd::decoded_block& described = batch.decoded(index);
  const auto first = std::to_integer<std::uint32_t>(batch.compressed()[block.at]);
  const std::uint32_t format = first >> 2U & 3U;
  const bool plain = (first & 3U) < 2;
  const std::uint32_t header = plain ? (format % 2 == 0 ? 1 : format == 1 ? 2 : 3) : (format < 2 ? 3 : format + 2);
  part_list parts;
  parts.add(zstd_part::literals_header, block.at + header);
  std::size_t end = 0;
  if (described.literals == zstd::literals_type::huffman) {
    end = std::size_t{described.streams_at} + described.streams_bytes;
    parts.add(zstd_part::tree, described.streams_at);
    if (described.streams == 4) parts.add(zstd_part::jump_table, described.streams_at + jump_table_bytes);
    parts.add(zstd_part::huffman_streams, end);
  } else {
    const bool is_raw = described.literals == zstd::literals_type::raw;
    end = block.at + header + (is_raw ? described.literal_bytes : 1);
    parts.add(zstd_part::plain_literals, end);
  }
  if (described.sequence_count == 0) {
    parts.add(zstd_part::sequences_header, block.at + block.bytes);
    return parts;
  }
  const std::uint32_t count_bytes = described.sequence_count < 128 ? 1 : described.sequence_count < 0x7f00 ? 2 : 3;
  parts.add(zstd_part::sequences_header, end + count_bytes + 1);
  parts.add(zstd_part::codes, described.bits_at);
  parts.add(zstd_part::sequence_bits, block.at + block.bytes);
  return parts;
}

std::byte some_byte(std::mt19937& random) {
  static constexpr unsigned special[] = {0, 1, 0x7F, 0x80, 0xFF, 0x40, 0x03};
  return static_cast<std::byte>(random() % 2 == 0 ? special[random() % std::size(special)] : random() & 0xFFU);
}

}  // namespace

zstd_mutator::zstd_mutator(const std::vector<byte_vector>& seeds) {
  zstd_batch batch;
  std::vector<zstd_batch::sample> samples;
  for (const byte_vector& each : seeds) {
    samples.push_back(batch.add(each));
    REQUIRE(samples.back().is_listed);
    REQUIRE(samples.back().end == samples.back().begin + 1);
  }
  batch.describe();
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    const std::size_t base = samples[i].at;
    const zstd::encoded_frame& frame = batch.frames()[samples[i].begin];
    seed made{.bytes = seeds[i], .blocks = {}, .regions = {}};
    std::size_t at = 0;
    const auto add = [&](zstd_part part, std::size_t end, std::size_t block) {
      if (end > at) made.regions.push_back({.part = part, .begin = at, .end = end, .block = block});
      at = end;
    };
    for (std::uint32_t k = 0; k < frame.block_count; ++k) {
      const std::uint32_t index = frame.first_block + k;
      const zstd::encoded_block& block = batch.blocks()[index];
      made.blocks.push_back(block.at - base - block_header_bytes);
      add(zstd_part::frame_header, made.blocks.back(), none);  // only before the first block
      add(zstd_part::block_header, block.at - base, none);
      if (block.type == zstd::block_type::compressed) {
        for (const auto& [part, end] : parts_of(batch, index).ends) add(part, end - base, k);
      } else {
        add(zstd_part::plain_block, at + (block.type == zstd::block_type::run ? 1 : block.bytes), none);
      }
    }
    add(zstd_part::checksum, made.bytes.size(), none);
    for (const region& each : made.regions) {
      parts_[static_cast<unsigned>(each.part)].push_back(slice(made.bytes, each.begin, each.end));
    }
    seeds_.push_back(std::move(made));
  }
}

byte_vector zstd_mutator::next(std::mt19937& random) {
  const seed& from = seeds_[random() % seeds_.size()];
  switch (random() % 16) {
    case 0: {
      byte_vector bytes = from.bytes;
      for (auto i = random() % 3; i-- > 0 && !bytes.empty();) damage(bytes, random, 6);
      return bytes;
    }
    case 1:
      return mutate_blocks(from, random);
    default:
      return mutate_part(from, random);
  }
}

// What a part becomes.
byte_vector zstd_mutator::replacement(const seed& from, const region& at, std::mt19937& random) const {
  byte_vector bytes = slice(from.bytes, at.begin, at.end);
  const auto position = [&] { return bytes.begin() + static_cast<std::ptrdiff_t>(random() % bytes.size()); };
  switch (random() % 8) {
    case 0: {
      const auto& others = parts_[static_cast<unsigned>(at.part)];
      return others[random() % others.size()];
    }
    case 1: {
      const std::byte inserted = some_byte(random);
      bytes.insert(position(), inserted);
      break;
    }
    case 2:
      bytes.erase(position());
      break;
    case 3:
      *position() = some_byte(random);
      break;
    case 4:
      bytes.back() = some_byte(random);  // streams end with a mark in their last byte
      break;
    default:
      for (auto i = 1 + random() % 3; i > 0; --i) *position() ^= static_cast<std::byte>(1U << (random() % 8));
  }
  return bytes;
}

byte_vector zstd_mutator::mutate_part(const seed& from, std::mt19937& random) {
  // a kind first: most regions of a frame with many blocks are headers
  const auto kind = static_cast<zstd_part>(random() % zstd_part_kinds);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < from.regions.size(); ++i) {
    if (from.regions[i].part == kind) found.push_back(i);
  }
  const region& at = from.regions[found.empty() ? random() % from.regions.size() : found[random() % found.size()]];
  const byte_vector part = replacement(from, at, random);
  byte_vector bytes = slice(from.bytes, 0, at.begin);
  bytes.insert(bytes.end(), part.begin(), part.end());
  bytes.insert(bytes.end(), from.bytes.begin() + static_cast<std::ptrdiff_t>(at.end), from.bytes.end());
  const auto more = static_cast<std::int64_t>(part.size()) - static_cast<std::int64_t>(at.end - at.begin);
  if (more == 0 || at.block == none || random() % 16 == 0) return bytes;
  const std::size_t header = from.blocks[at.block];
  grow_block(bytes, header, more);
  const bool in_literals =
      at.part == zstd_part::tree || at.part == zstd_part::jump_table || at.part == zstd_part::huffman_streams;
  if (in_literals && random() % 8 != 0) grow_literals(bytes, header + block_header_bytes, more);
  return bytes;
}

// Removes a block, repeats one, or exchanges two; the last one of the result ends the frame.
byte_vector zstd_mutator::mutate_blocks(const seed& from, std::mt19937& random) {
  const std::size_t begin = from.blocks.front();
  const std::size_t end = from.regions.back().part == zstd_part::checksum ? from.bytes.size() - 4 : from.bytes.size();
  std::vector<byte_vector> blocks;
  for (std::size_t i = 0; i < from.blocks.size(); ++i) {
    blocks.push_back(slice(from.bytes, from.blocks[i], i + 1 < from.blocks.size() ? from.blocks[i + 1] : end));
    blocks.back()[0] &= std::byte{0xFE};
  }
  const std::size_t which = random() % blocks.size();
  const std::size_t other = random() % blocks.size();
  if (random() % 3 == 0 && blocks.size() > 1) {
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(which));
  } else if (random() % 2 == 0) {
    blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(other), byte_vector(blocks[which]));
  } else {
    std::swap(blocks[which], blocks[other]);
  }
  blocks.back()[0] |= std::byte{1};
  byte_vector bytes = slice(from.bytes, 0, begin);
  for (const byte_vector& each : blocks) bytes = joined(std::move(bytes), each);
  return joined(std::move(bytes), slice(from.bytes, end, from.bytes.size()));
}

}  // namespace gpuhist::test
