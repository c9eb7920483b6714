// Samples for the tests of gzip.
#include "tests/io/gzip_samples.hpp"

#include <string_view>

namespace gpuhist::test {
namespace {

gz_header header_of(gzip_settings& settings) {
  const auto text_of = [](std::string& field) {
    return field.empty() ? nullptr : reinterpret_cast<Bytef*>(field.data());
  };
  gz_header header{};
  header.os = 3;
  header.name = text_of(settings.name);
  header.comment = text_of(settings.comment);
  header.extra = text_of(settings.extra);
  header.extra_len = static_cast<uInt>(settings.extra.size());
  header.hcrc = settings.header_checksum ? 1 : 0;
  return header;
}

}  // namespace

byte_vector gzip_member_of(std::span<const std::byte> plain, gzip_settings settings) {
  constexpr int gzip_wrapper = 16;
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, settings.level, Z_DEFLATED, settings.window_bits + gzip_wrapper, settings.mem_level,
                       settings.strategy) == Z_OK);
  gz_header header = header_of(settings);
  REQUIRE(deflateSetHeader(&stream, &header) == Z_OK);
  const std::size_t flushes = settings.flush_bytes == 0 ? 0 : plain.size() / settings.flush_bytes;
  byte_vector packed(2 * plain.size() + 1000 + 32 * flushes + settings.name.size() + settings.comment.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  std::size_t begin = 0;
  const auto give = [&](std::size_t bytes) {
    stream.next_in = reinterpret_cast<const Bytef*>(plain.data()) + begin;
    stream.avail_in = static_cast<uInt>(bytes);
    begin += bytes;
  };
  for (std::size_t i = 0; i < flushes; ++i) {
    give(settings.flush_bytes);
    REQUIRE(deflate(&stream, settings.flush) == Z_OK);
  }
  give(plain.size() - begin);
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

byte_vector bgzf_block_of(std::span<const std::byte> plain, const std::string& fields_before) {
  using namespace std::string_literals;
  byte_vector block = gzip_member_of(plain, {.extra = fields_before + "BC\x02\x00\x00\x00"s});
  constexpr std::size_t extra_begin = 12;
  const std::size_t size_at = extra_begin + fields_before.size() + 4;
  const std::size_t last = block.size() - 1;
  REQUIRE(last <= 0xFFFF);
  block[size_at] = static_cast<std::byte>(last & 0xFFU);
  block[size_at + 1] = static_cast<std::byte>(last >> 8U);
  return block;
}

byte_vector bgzf_end() {
  constexpr std::string_view block("\x1F\x8B\x08\x04\0\0\0\0\0\xFF\x06\0\x42\x43\x02\0\x1B\0\x03\0\0\0\0\0\0\0\0\0",
                                   28);
  const auto bytes = std::as_bytes(std::span(block));
  return {bytes.begin(), bytes.end()};
}

gzip_sample_builder& gzip_sample_builder::member(const byte_vector& plain, const gzip_settings& settings) {
  return add(plain, gzip_member_of(plain, settings));
}

gzip_sample_builder& gzip_sample_builder::block(const byte_vector& plain, const std::string& fields_before) {
  return add(plain, plain.empty() && fields_before.empty() ? bgzf_end() : bgzf_block_of(plain, fields_before));
}

gzip_sample_builder& gzip_sample_builder::padding(std::size_t length) {
  for (std::size_t i = 0; i < length; ++i) {
    sample_.packed.push_back(std::byte{0});
    sample_.clean_stops.push_back(sample_.packed.size());
  }
  return *this;
}

gzip_sample_builder& gzip_sample_builder::add(const byte_vector& plain, const byte_vector& packed) {
  sample_.add_frame(plain, packed);
  return *this;
}

}  // namespace gpuhist::test
