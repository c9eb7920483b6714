// Samples for the tests of zstd.
#include "tests/io/zstd_samples.hpp"

#include <zdict.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace gpuhist::test {

byte_vector zstd_frame_of(std::span<const std::byte> plain, const zstd_settings& settings) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, settings.level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, settings.checksum ? 1 : 0);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, settings.content_size ? 1 : 0);
  if (settings.window_log != 0) ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, settings.window_log);
  if (!settings.dictionary.empty()) {
    ZSTD_CCtx_loadDictionary(context.get(), settings.dictionary.data(), settings.dictionary.size());
  }
  if (settings.content_size) ZSTD_CCtx_setPledgedSrcSize(context.get(), plain.size());
  byte_vector packed(ZSTD_compressBound(plain.size()) + 64);
  ZSTD_inBuffer in{plain.data(), plain.size(), 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  if (!settings.content_size) {  // the first call does not end the frame, so that zstd cannot know the size
    REQUIRE_FALSE(ZSTD_isError(ZSTD_compressStream2(context.get(), &out, &in, ZSTD_e_continue)));
  }
  REQUIRE(ZSTD_compressStream2(context.get(), &out, &in, ZSTD_e_end) == 0);
  packed.resize(out.pos);
  return packed;
}

const byte_vector& trained_dictionary() {
  static const byte_vector made = [] {
    constexpr std::size_t number = 200;
    constexpr std::size_t bytes = 1000;
    const byte_vector samples = sample_text(number * bytes);
    const std::vector<std::size_t> sizes(number, bytes);
    byte_vector dictionary(8000);
    const std::size_t size = ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), samples.data(), sizes.data(),
                                                   static_cast<unsigned>(sizes.size()));
    REQUIRE_FALSE(ZDICT_isError(size));
    dictionary.resize(size);
    return dictionary;
  }();
  return made;
}

byte_vector skippable_frame(std::size_t length, unsigned kind) {
  byte_vector frame{std::byte(0x50 + kind), std::byte{0x2A}, std::byte{0x4D}, std::byte{0x18}};
  for (unsigned shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<std::byte>((length >> shift) & 0xFFU));
  frame.resize(frame.size() + length,
               std::byte{0x28});  // the first byte of the magic number of zstd, to provoke a false match
  return frame;
}

byte_vector noise(std::size_t length, std::uint32_t seed) {
  std::mt19937 random(seed);
  byte_vector bytes(length);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xFFU);
  return bytes;
}

byte_vector sample_text(std::size_t length, std::uint32_t seed) {
  static constexpr std::string_view words[] = {"GET /index.html ", "200 ", "error: ", "connection reset\n",
                                               "12:34:56 "};
  std::mt19937 random(seed);
  byte_vector text;
  const auto add = [&](char letter) { text.push_back(static_cast<std::byte>(letter)); };
  while (text.size() < length) {
    if (random() % 16 == 0) {
      for (auto i = random() % 20; i-- > 0;) add(static_cast<char>(random() & 0xFFU));
    } else if (random() % 16 == 0) {
      for (auto i = random() % 60; i-- > 0;) add('=');
    } else {
      for (const char letter : words[random() % std::size(words)]) add(letter);
    }
  }
  text.resize(length);
  return text;
}

zstd_sample_builder& zstd_sample_builder::frame(const byte_vector& plain, const zstd_settings& settings) {
  sample_.add_frame(plain, zstd_frame_of(plain, settings));
  return *this;
}

zstd_sample_builder& zstd_sample_builder::first_frame(const byte_vector& dictionary) {
  constexpr unsigned kind = 13;
  byte_vector frame = skippable_frame(dictionary.size(), kind);
  std::ranges::copy(dictionary, frame.end() - static_cast<std::ptrdiff_t>(dictionary.size()));
  sample_.add_skippable(frame);
  return *this;
}

zstd_sample_builder& zstd_sample_builder::skippable(std::size_t length, unsigned kind) {
  sample_.add_skippable(skippable_frame(length, kind));
  return *this;
}

}  // namespace gpuhist::test
