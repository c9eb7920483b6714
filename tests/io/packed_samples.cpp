#include "tests/io/packed_samples.hpp"

#include <bzlib.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

namespace gpuhist::test {
namespace {

const std::uint8_t* data_of(std::span<const std::byte> bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

/// Runs an encoder over one part of the text until `action` is finished.
void encode(lzma_stream& coder, std::span<const std::byte> plain, lzma_action action, byte_vector& packed) {
  coder.next_in = data_of(plain);
  coder.avail_in = plain.size();
  lzma_ret code = LZMA_OK;
  while (code == LZMA_OK) {
    std::array<std::byte, 4096> out;  // NOLINT(cppcoreguidelines-pro-type-member-init): the encoder writes it
    coder.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    coder.avail_out = out.size();
    code = lzma_code(&coder, action);
    packed.insert(packed.end(), out.begin(), out.end() - static_cast<std::ptrdiff_t>(coder.avail_out));
  }
  REQUIRE(code == LZMA_STREAM_END);
}

void add_little_endian(byte_vector& to, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

lzma_options_lzma options_of(std::uint32_t preset, std::uint32_t dictionary) {
  lzma_options_lzma options{};
  REQUIRE(!lzma_lzma_preset(&options, preset));
  if (dictionary != 0) options.dict_size = dictionary;
  return options;
}

/// Writes one block after its header, and appends its entry to `index`.
void add_block(byte_vector& to, std::span<const std::byte> plain, std::uint32_t dictionary, lzma_index& index) {
  lzma_options_lzma options = options_of(0, dictionary);
  std::array<lzma_filter, 2> filters{
      {{.id = LZMA_FILTER_LZMA2, .options = &options}, {.id = LZMA_VLI_UNKNOWN, .options = nullptr}}};
  lzma_block block{};
  block.check = LZMA_CHECK_CRC32;
  block.filters = filters.data();
  byte_vector out(lzma_block_buffer_bound(plain.size()));
  std::size_t size = 0;
  REQUIRE(lzma_block_buffer_encode(&block, nullptr, data_of(plain), plain.size(),
                                   reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) == LZMA_OK);
  REQUIRE(lzma_index_append(&index, nullptr, lzma_block_unpadded_size(&block), block.uncompressed_size) == LZMA_OK);
  to.insert(to.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(size));
}

/// The encoder that writes the sizes of a block into its header.
void begin_sized_stream(lzma_stream& coder, std::span<const lzma_filter> filters, const xz_settings& settings,
                        std::size_t plain_bytes) {
  lzma_mt options{};
  options.threads = 1;
  options.block_size = settings.block_bytes != 0 ? settings.block_bytes : std::max<std::size_t>(plain_bytes, 1);
  options.filters = filters.data();
  options.check = settings.check;
  REQUIRE(lzma_stream_encoder_mt(&coder, &options) == LZMA_OK);
}

/// The ends of the blocks of a stream, from its start, as its index lists them.
std::vector<frame_end> block_ends_of(std::span<const std::byte> stream) {
  lzma_stream_flags footer{};
  const auto* const end = data_of(stream) + stream.size();
  REQUIRE(lzma_stream_footer_decode(&footer, end - LZMA_STREAM_HEADER_SIZE) == LZMA_OK);
  lzma_index* index = nullptr;
  std::uint64_t memory = UINT64_MAX;
  std::size_t at = 0;
  REQUIRE(lzma_index_buffer_decode(&index, &memory, nullptr, end - LZMA_STREAM_HEADER_SIZE - footer.backward_size, &at,
                                   footer.backward_size) == LZMA_OK);
  lzma_index_iter each{};
  lzma_index_iter_init(&each, index);
  std::vector<frame_end> ends;
  while (!lzma_index_iter_next(&each, LZMA_INDEX_ITER_BLOCK)) {
    ends.push_back({.packed = each.block.compressed_stream_offset + each.block.total_size,
                    .plain = each.block.uncompressed_stream_offset + each.block.uncompressed_size,
                    .input_may_stop = false});
  }
  lzma_index_end(index, nullptr);
  return ends;
}

}  // namespace

byte_vector xz_stream_of(std::span<const std::byte> plain, const xz_settings& settings) {
  lzma_options_lzma options = options_of(settings.preset, settings.dictionary);
  const lzma_filter lzma2{.id = LZMA_FILTER_LZMA2, .options = &options};
  const lzma_filter end{.id = LZMA_VLI_UNKNOWN, .options = nullptr};
  std::array<lzma_filter, 3> filters{lzma2, end, end};
  if (settings.x86_filter) filters = {lzma_filter{.id = LZMA_FILTER_X86, .options = nullptr}, lzma2, end};

  lzma_stream coder = LZMA_STREAM_INIT;
  byte_vector packed;
  if (settings.states_sizes) {
    begin_sized_stream(coder, filters, settings, plain.size());
  } else {
    REQUIRE(lzma_stream_encoder(&coder, filters.data(), settings.check) == LZMA_OK);
  }
  while (!settings.states_sizes && settings.block_bytes != 0 && plain.size() > settings.block_bytes) {
    encode(coder, plain.first(settings.block_bytes), LZMA_FULL_FLUSH, packed);
    plain = plain.subspan(settings.block_bytes);
  }
  encode(coder, plain, LZMA_FINISH, packed);
  lzma_end(&coder);
  return packed;
}

byte_vector xz_stream_of_two_dictionaries(std::span<const std::byte> plain, std::uint32_t first, std::uint32_t second) {
  lzma_stream_flags flags{};
  flags.check = LZMA_CHECK_CRC32;
  byte_vector packed(LZMA_STREAM_HEADER_SIZE);
  REQUIRE(lzma_stream_header_encode(&flags, reinterpret_cast<std::uint8_t*>(packed.data())) == LZMA_OK);
  lzma_index* const index = lzma_index_init(nullptr);
  REQUIRE(index != nullptr);
  add_block(packed, plain.first(plain.size() / 2), first, *index);
  add_block(packed, plain.subspan(plain.size() / 2), second, *index);
  byte_vector end(lzma_index_size(index) + LZMA_STREAM_HEADER_SIZE);
  std::size_t size = 0;
  auto* const out = reinterpret_cast<std::uint8_t*>(end.data());
  REQUIRE(lzma_index_buffer_encode(index, out, &size, end.size()) == LZMA_OK);
  flags.backward_size = size;
  REQUIRE(lzma_stream_footer_encode(&flags, out + size) == LZMA_OK);
  lzma_index_end(index, nullptr);
  packed.insert(packed.end(), end.begin(), end.end());
  return packed;
}

byte_vector lzip_member_of(std::span<const std::byte> plain, unsigned dictionary_code) {
  byte_vector member;
  for (const char each : {'L', 'Z', 'I', 'P', '\1'}) member.push_back(static_cast<std::byte>(each));
  member.push_back(static_cast<std::byte>(dictionary_code));
  lzma_options_lzma options = options_of(0, 1U << 16U);  // fits any dictionary size that the tests state
  const std::array<lzma_filter, 2> filters{
      {{.id = LZMA_FILTER_LZMA1, .options = &options}, {.id = LZMA_VLI_UNKNOWN, .options = nullptr}}};
  lzma_stream coder = LZMA_STREAM_INIT;
  REQUIRE(lzma_raw_encoder(&coder, filters.data()) == LZMA_OK);
  encode(coder, plain, LZMA_FINISH, member);
  lzma_end(&coder);
  add_little_endian(member, lzma_crc32(data_of(plain), plain.size(), 0), 4);
  add_little_endian(member, plain.size(), 8);
  add_little_endian(member, member.size() + 8, 8);
  return member;
}

byte_vector lzma_stream_of(std::span<const std::byte> plain, bool states_size) {
  const lzma_options_lzma options = options_of(0, 0);
  lzma_stream coder = LZMA_STREAM_INIT;
  byte_vector packed;
  if (!states_size) {
    REQUIRE(lzma_alone_encoder(&coder, &options) == LZMA_OK);
    encode(coder, plain, LZMA_FINISH, packed);
  } else {
    lzma_options_lzma sized = options;
    sized.ext_flags = 0;
    sized.ext_size_low = static_cast<std::uint32_t>(plain.size());
    sized.ext_size_high = 0;
    const std::array<lzma_filter, 2> filters{
        {{.id = LZMA_FILTER_LZMA1EXT, .options = &sized}, {.id = LZMA_VLI_UNKNOWN, .options = nullptr}}};
    packed.push_back(static_cast<std::byte>((options.pb * 5 + options.lp) * 9 + options.lc));
    add_little_endian(packed, options.dict_size, 4);
    add_little_endian(packed, plain.size(), 8);
    REQUIRE(lzma_raw_encoder(&coder, filters.data()) == LZMA_OK);
    encode(coder, plain, LZMA_FINISH, packed);
  }
  lzma_end(&coder);
  return packed;
}

byte_vector bzip2_stream_of(std::span<const std::byte> plain, int level) {
  byte_vector packed(plain.size() + plain.size() / 100 + 700);
  auto size = static_cast<unsigned>(packed.size());
  // libbz2 takes a pointer to non-const input, but does not write to it
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  char* const in = reinterpret_cast<char*>(const_cast<std::byte*>(plain.data()));
  char none = 0;
  REQUIRE(BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(packed.data()), &size, plain.empty() ? &none : in,
                                   static_cast<unsigned>(plain.size()), level, 0, 0) == BZ_OK);
  packed.resize(size);
  return packed;
}

bzip2_verdict ask_libbz2(std::span<const std::byte> packed, std::size_t most_text) {
  bzip2_verdict result;
  result.text.resize(most_text);
  byte_vector in(packed.begin(), packed.end());
  bz_stream stream{};
  REQUIRE(BZ2_bzDecompressInit(&stream, 0, 0) == BZ_OK);
  stream.next_in = reinterpret_cast<char*>(in.data());
  stream.avail_in = static_cast<unsigned>(in.size());
  stream.next_out = reinterpret_cast<char*>(result.text.data());
  stream.avail_out = static_cast<unsigned>(result.text.size());
  result.is_valid = BZ2_bzDecompress(&stream) == BZ_STREAM_END;
  result.packed_bytes = in.size() - stream.avail_in;
  result.text.resize(result.text.size() - stream.avail_out);
  BZ2_bzDecompressEnd(&stream);
  return result;
}

packed_sample_builder& packed_sample_builder::frame(const byte_vector& plain, const byte_vector& packed) {
  sample_.add_frame(plain, packed);
  return *this;
}

packed_sample_builder& packed_sample_builder::xz(const byte_vector& plain, const xz_settings& settings) {
  const byte_vector stream = xz_stream_of(plain, settings);
  for (frame_end end : block_ends_of(stream)) {
    end.packed += sample_.packed.size();
    end.plain += sample_.plain.size();
    sample_.ends.push_back(end);
  }
  sample_.plain.insert(sample_.plain.end(), plain.begin(), plain.end());
  sample_.add_skippable(stream);
  return *this;
}

packed_sample_builder& packed_sample_builder::lzip(const byte_vector& plain, unsigned dictionary_code) {
  return frame(plain, lzip_member_of(plain, dictionary_code));
}

packed_sample_builder& packed_sample_builder::bzip2(const byte_vector& plain, int level) {
  return frame(plain, bzip2_stream_of(plain, level));
}

packed_sample_builder& packed_sample_builder::padding_in_fours(std::size_t length) {
  for (std::size_t i = 1; i <= length; ++i) {
    sample_.packed.push_back(std::byte{0});
    if (i % 4 == 0) sample_.clean_stops.push_back(sample_.packed.size());
  }
  return *this;
}

}  // namespace gpuhist::test
