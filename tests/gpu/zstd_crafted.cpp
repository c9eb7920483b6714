// Writes zstd frames bit by bit.
#include "tests/gpu/zstd_crafted.hpp"

#include "gpu/cuda/kernels_on_host.hpp"
#include "tests/gpu/zstd_corpus.hpp"
#include "tests/support/zstd_batch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

namespace gpuhist::test {
namespace {

namespace zstd = gpu::cuda::zstd;

constexpr std::byte checksum_flag{4};
constexpr std::size_t most_text = std::size_t{1} << 20U;

byte_vector bytes_of_bits(const std::vector<bool>& bits) {
  byte_vector bytes((bits.size() + 7) / 8);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (bits[i]) bytes[i / 8] |= static_cast<std::byte>(1U << (i % 8));
  }
  return bytes;
}

void append_bits(std::vector<bool>& bits, const bit_field& field) {
  for (unsigned i = 0; i < field.width; ++i) bits.push_back((field.value >> i & 1U) != 0);
}

}  // namespace

byte_vector backward_stream(const std::vector<bit_field>& fields) {
  std::vector<bool> bits;
  for (auto field = fields.rbegin(); field != fields.rend(); ++field) append_bits(bits, *field);
  bits.push_back(true);
  return bytes_of_bits(bits);
}

byte_vector forward_stream(const std::vector<bit_field>& fields) {
  std::vector<bool> bits;
  for (const bit_field& field : fields) append_bits(bits, field);
  return bytes_of_bits(bits);
}

byte_vector little_endian_bytes(std::uint64_t number, std::size_t bytes) {
  byte_vector all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::byte>(number >> (8 * i) & 0xFFU);
  return all;
}

byte_vector literals_header_of(literal_kind kind, std::uint32_t decoded, std::uint32_t encoded, unsigned streams) {
  const auto type = static_cast<std::uint64_t>(kind);
  if (kind == literal_kind::raw || kind == literal_kind::run) {
    return little_endian_bytes(type | 3U << 2U | std::uint64_t{decoded} << 4U, 3);
  }
  if (streams == 1) {
    return little_endian_bytes(type | std::uint64_t{decoded} << 4U | std::uint64_t{encoded} << 14U, 3);
  }
  return little_endian_bytes(type | 3U << 2U | std::uint64_t{decoded} << 4U | std::uint64_t{encoded} << 22U, 5);
}

byte_vector raw_literals(std::string_view text) {
  return joined(literals_header_of(literal_kind::raw, static_cast<std::uint32_t>(text.size())), vector_of(text));
}

byte_vector run_literals(char letter, std::uint32_t count) {
  return joined(literals_header_of(literal_kind::run, count), {static_cast<std::byte>(letter)});
}

byte_vector sequence_count_bytes(std::uint32_t count) {
  if (count < 128) return little_endian_bytes(count, 1);
  if (count < 0x7f00) return {static_cast<std::byte>(count / 256 + 128), static_cast<std::byte>(count % 256)};
  return joined({std::byte{255}}, little_endian_bytes(count - 0x7f00, 2));
}

byte_vector run_sequences(const run_coded& sequences) {
  constexpr std::byte three_runs{0x54};
  byte_vector bytes = sequence_count_bytes(sequences.count);
  bytes.push_back(three_runs);
  for (const std::uint8_t code : {sequences.literals_code, sequences.offset_code, sequences.match_code}) {
    bytes.push_back(std::byte{code});
  }
  return joined(std::move(bytes), backward_stream(sequences.bits));
}

frame_writer frame_writer::with_window(unsigned window_log) {
  frame_writer frame;
  frame.header_ =
      joined(little_endian_bytes(0xFD2FB528U, 4), {std::byte{0}, static_cast<std::byte>((window_log - 10) << 3U)});
  return frame;
}

frame_writer frame_writer::with_size(std::uint8_t content_bytes) {
  frame_writer frame;
  frame.header_ = joined(little_endian_bytes(0xFD2FB528U, 4), {std::byte{0x20}, std::byte{content_bytes}});
  return frame;
}

frame_writer& frame_writer::raw(std::string_view text) {
  return block(0, static_cast<std::uint32_t>(text.size()), vector_of(text));
}

frame_writer& frame_writer::run(char letter, std::uint32_t count) {
  return block(1, count, {static_cast<std::byte>(letter)});
}

frame_writer& frame_writer::compressed(const byte_vector& literals, const byte_vector& sequences) {
  const byte_vector content = joined(literals, sequences);
  return block(2, static_cast<std::uint32_t>(content.size()), content);
}

frame_writer& frame_writer::block(unsigned type, std::uint32_t size, const byte_vector& content) {
  blocks_.push_back(joined(little_endian_bytes(std::uint64_t{type} << 1U | std::uint64_t{size} << 3U, 3), content));
  return *this;
}

frame_writer& frame_writer::checksum(std::uint32_t sum) {
  checksum_ = sum;
  header_[4] |= checksum_flag;
  return *this;
}

byte_vector frame_writer::bytes() const {
  byte_vector all = header_;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    byte_vector block = blocks_[i];
    if (i + 1 == blocks_.size()) block[0] |= std::byte{1};
    all = joined(std::move(all), block);
  }
  return checksum_ ? joined(std::move(all), little_endian_bytes(*checksum_, 4)) : all;
}

void check_all(const std::vector<crafted>& all) {
  zstd_batch batch;
  std::vector<zstd_batch::sample> samples;
  for (const crafted& each : all) samples.push_back(batch.add(each.frame));
  batch.decode([](const zstd::batch_buffers& buffers, const batch_bytes&) { zstd::decode_on_host(buffers); });
  CHECK(batch.kept_bounds());
  frame_oracle oracle;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].name);
    REQUIRE(samples[i].is_listed);
    const zstd::verdict found = batch.verdict_of(samples[i].begin);
    CHECK(std::string(name_of(found)) == name_of(all[i].expected));
    if (found != zstd::verdict::decoded) continue;
    const auto text = oracle.decode(all[i].frame, most_text);
    REQUIRE(text);
    CHECK(std::ranges::equal(*text, batch.text_of(samples[i])));
  }
}

}  // namespace gpuhist::test
