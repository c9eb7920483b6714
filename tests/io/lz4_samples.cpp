#include "tests/io/lz4_samples.hpp"

#include "tests/io/zstd_samples.hpp"

#include <lz4.h>
#include <lz4hc.h>

#include <doctest/doctest.h>

#include <algorithm>

namespace gpuhist::test {

byte_vector lz4_frame_of(std::span<const std::byte> plain, const lz4_settings& settings) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = settings.block_size;
  preferences.frameInfo.blockMode = settings.linked_blocks ? LZ4F_blockLinked : LZ4F_blockIndependent;
  preferences.frameInfo.blockChecksumFlag = settings.block_checksums ? LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum;
  preferences.frameInfo.contentChecksumFlag =
      settings.content_checksum ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
  preferences.frameInfo.contentSize = settings.content_size ? plain.size() : 0;
  preferences.frameInfo.dictID = settings.dictionary_id;
  preferences.compressionLevel = settings.level;

  LZ4F_cctx* context = nullptr;
  REQUIRE(LZ4F_isError(LZ4F_createCompressionContext(&context, LZ4F_VERSION)) == 0);
  preferences.autoFlush = settings.flush_bytes != 0 ? 1 : 0;
  const std::size_t at_once = settings.flush_bytes != 0 ? settings.flush_bytes : std::max<std::size_t>(plain.size(), 1);
  byte_vector packed((plain.size() / at_once + 1) * LZ4F_compressBound(std::min(at_once, plain.size()), &preferences) +
                     LZ4F_HEADER_SIZE_MAX);
  std::size_t size = 0;
  const auto add = [&](std::size_t written) {
    REQUIRE(LZ4F_isError(written) == 0);
    size += written;
  };
  // LZ4F_compressFrame would choose smaller blocks and not mark them as linked
  add(LZ4F_compressBegin(context, packed.data(), packed.size(), &preferences));
  for (std::size_t at = 0; at < plain.size(); at += at_once) {
    const auto next = plain.subspan(at, std::min(at_once, plain.size() - at));
    add(LZ4F_compressUpdate(context, packed.data() + size, packed.size() - size, next.data(), next.size(), nullptr));
  }
  add(LZ4F_compressEnd(context, packed.data() + size, packed.size() - size, nullptr));
  LZ4F_freeCompressionContext(context);
  packed.resize(size);
  return packed;
}

byte_vector lz4_legacy_magic() { return {std::byte{0x02}, std::byte{0x21}, std::byte{0x4C}, std::byte{0x18}}; }

byte_vector lz4_legacy_block_of(std::span<const std::byte> plain) {
  constexpr std::size_t size_bytes = 4;
  byte_vector packed(size_bytes + static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(plain.size()))));
  const int bytes = LZ4_compress_HC(reinterpret_cast<const char*>(plain.data()),
                                    reinterpret_cast<char*>(packed.data() + size_bytes), static_cast<int>(plain.size()),
                                    static_cast<int>(packed.size() - size_bytes), LZ4HC_CLEVEL_DEFAULT);
  REQUIRE(bytes > 0);
  for (unsigned i = 0; i < size_bytes; ++i) packed[i] = static_cast<std::byte>(static_cast<unsigned>(bytes) >> (8 * i));
  packed.resize(size_bytes + static_cast<std::size_t>(bytes));
  return packed;
}

lz4_sample_builder& lz4_sample_builder::frame(const byte_vector& plain, const lz4_settings& settings) {
  return add(plain, lz4_frame_of(plain, settings));
}

lz4_sample_builder& lz4_sample_builder::skippable(std::size_t length, unsigned kind) {
  return skip(skippable_frame(length, kind));
}

lz4_sample_builder& lz4_sample_builder::legacy_magic() { return skip(lz4_legacy_magic()); }

lz4_sample_builder& lz4_sample_builder::legacy_block(const byte_vector& plain) {
  return add(plain, lz4_legacy_block_of(plain));
}

lz4_sample_builder& lz4_sample_builder::add(const byte_vector& plain, const byte_vector& packed) {
  sample_.add_frame(plain, packed);
  return *this;
}

lz4_sample_builder& lz4_sample_builder::skip(const byte_vector& packed) {
  sample_.add_skippable(packed);
  return *this;
}

}  // namespace gpuhist::test
