// Texts and settings for frames of libzstd.
#include "tests/gpu/zstd_corpus.hpp"

#include "tests/io/zstd_samples.hpp"
#include "tests/support/texts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace gpuhist::test {
namespace {

constexpr std::size_t kib = 1024;

byte_vector letters(std::size_t length, std::size_t alphabet, std::uint32_t seed) {
  static constexpr std::string_view all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::mt19937 random(seed);
  byte_vector text(length);
  for (std::byte& each : text) each = static_cast<std::byte>(all[random() % alphabet]);
  return text;
}

// Copies of a block with a few changed bytes: long matches, and repeated offsets.
byte_vector ramps(std::size_t length, std::size_t period, std::uint32_t seed) {
  std::mt19937 random(seed);
  byte_vector block = noise(period, seed);
  byte_vector text;
  while (text.size() < length) {
    text.insert(text.end(), block.begin(), block.end());
    block[random() % block.size()] ^= std::byte{1};
  }
  text.resize(length);
  return text;
}

byte_vector mixture(std::size_t length, std::uint32_t seed) {
  std::mt19937 random(seed);
  byte_vector text;
  while (text.size() < length) {
    const std::size_t size = 1 + random() % std::max<std::size_t>(length / 4, 2);
    const auto part_seed = static_cast<std::uint32_t>(random());
    switch (random() % 6) {
      case 0:
        text = joined(std::move(text), noise(size, part_seed));
        break;
      case 1:
        text.resize(text.size() + size, std::byte{'='});
        break;
      case 2:
        text = joined(std::move(text), letters(size, 4 + random() % 61, part_seed));
        break;
      case 3:
        text = joined(std::move(text), ramps(size, 1 + random() % 300, part_seed));
        break;
      case 4:
        text = joined(std::move(text), vector_of(numbered(size)));
        break;
      default:
        text = joined(std::move(text), sample_text(size, part_seed));
    }
  }
  text.resize(length);
  return text;
}

byte_vector small_text(std::mt19937& random) {
  const std::size_t most = random() % 4 == 0 ? 2400 : 500;
  const std::size_t size = 1 + random() % most;
  const auto seed = static_cast<std::uint32_t>(random());
  switch (random() % 5) {
    case 0:
      return letters(size, 2 + random() % 62, seed);
    case 1:
      return ramps(size, 1 + random() % 60, seed);
    case 2:
      return sample_text(size, seed);
    default:
      return mixture(size, seed);
  }
}

}  // namespace

std::string describe(const frame_settings& settings) {
  return "level " + std::to_string(settings.level) + ", strategy " + std::to_string(settings.strategy) +
         ", window log " + std::to_string(settings.window_log) + (settings.checksum ? ", checksum" : "") +
         (settings.content_size ? ", content size" : "") + ", flush " + std::to_string(settings.flush_bytes);
}

byte_vector encoded_frame_of(std::span<const std::byte> plain, const frame_settings& settings) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> owner(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  ZSTD_CCtx* const context = owner.get();
  const auto set = [context](ZSTD_cParameter which, int value) {
    REQUIRE_FALSE(ZSTD_isError(ZSTD_CCtx_setParameter(context, which, value)));
  };
  set(ZSTD_c_compressionLevel, settings.level);
  if (settings.strategy != 0) set(ZSTD_c_strategy, settings.strategy);
  if (settings.window_log != 0) set(ZSTD_c_windowLog, settings.window_log);
  set(ZSTD_c_checksumFlag, settings.checksum ? 1 : 0);
  set(ZSTD_c_contentSizeFlag, settings.content_size ? 1 : 0);
  if (settings.content_size) {
    ZSTD_CCtx_setPledgedSrcSize(context, plain.size());
  } else {  // tables for texts of unknown size are as large as the level permits, and slow to clear
    set(ZSTD_c_hashLog, 14);
    set(ZSTD_c_chainLog, 14);
  }
  const std::size_t step = settings.flush_bytes == 0 ? plain.size() : settings.flush_bytes;
  const std::size_t flushes = step == 0 ? 0 : plain.size() / step;
  byte_vector packed(ZSTD_compressBound(plain.size()) + 64 + 16 * flushes);
  ZSTD_inBuffer in{plain.data(), 0, 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  while (in.size < plain.size()) {
    in.size = std::min(plain.size(), in.size + step);
    const auto directive = settings.flush_bytes == 0 ? ZSTD_e_continue : ZSTD_e_flush;
    REQUIRE_FALSE(ZSTD_isError(ZSTD_compressStream2(context, &out, &in, directive)));
  }
  REQUIRE(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) == 0);
  packed.resize(out.pos);
  return packed;
}

byte_vector text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return vector_of(text);
}

frame_oracle::frame_oracle() : context_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {}

std::optional<std::span<const std::byte>> frame_oracle::decode(std::span<const std::byte> packed,
                                                               std::size_t max_bytes) {
  if (text_.size() < max_bytes) text_.resize(max_bytes);
  const std::size_t size = ZSTD_decompressDCtx(context_.get(), text_.data(), max_bytes, packed.data(), packed.size());
  if (ZSTD_isError(size) != 0) return std::nullopt;
  return std::span(text_).first(size);
}

std::vector<named_text> corpus_texts() {
  std::vector<named_text> texts{
      {"no text", {}},
      {"one byte", vector_of("x")},
      {"few bytes", vector_of("an error, an error, an error")},
      {"log, 300 KiB", sample_text(300 * kib)},
      {"noise, 200 KiB", noise(200 * kib)},
      {"one letter, 300 KiB", byte_vector(300 * kib, std::byte{'e'})},
      {"base64, 200 KiB", letters(200 * kib, 64, 3)},
      {"four letters, 140 KiB", letters(140 * kib, 4, 4)},
      {"ramps, 300 KiB", ramps(300 * kib, 4000, 5)},
      {"short ramps, 100 KiB", ramps(100 * kib, 37, 6)},
      {"numbers, 300 KiB", vector_of(numbered(300 * kib))},
      {"mixture, 300 KiB", mixture(300 * kib, 7)},
      {"mixture, 20 KiB", mixture(20 * kib, 8)},
  };
  for (std::size_t size = 127; size <= 129; ++size) {
    for (const std::size_t bytes : {size * kib - 1, size * kib, size * kib + 1}) {
      texts.push_back({std::to_string(bytes) + " bytes", mixture(bytes, static_cast<std::uint32_t>(bytes))});
    }
  }
  texts.push_back({"mixture, 3 MiB", mixture(3 * kib * kib, 9)});
  return texts;
}

std::vector<frame_settings> corpus_settings(std::size_t text_bytes, bool all) {
  static constexpr int levels[] = {-5, 1, 3, 6, 9, 13, 16, 19, 22};
  static constexpr int windows[] = {0, 10, 17, 22, 27};
  static constexpr std::size_t flushes[] = {0, 20'000, 700, 5000, 60'000};
  std::vector<frame_settings> chosen;
  unsigned i = static_cast<unsigned>(text_bytes);  // varies what is combined
  const auto add = [&](int level, int strategy) {
    ++i;
    chosen.push_back({.level = level,
                      .strategy = strategy,
                      .window_log = windows[i % 5],
                      .checksum = i % 3 != 0,
                      .content_size = i / 5 % 2 == 0,
                      .flush_bytes = flushes[i / 2 % 5]});
  };
  if (all) {
    for (const int level : levels) {
      for (int strategy = 0; strategy <= 9; ++strategy) {
        for (unsigned k = 0; k < 50; ++k) add(level, strategy);
      }
    }
    return chosen;
  }
  const bool is_long = text_bytes > 400 * kib;
  for (const int level : levels) {
    if (!is_long || level % 3 == 0) add(level, 0);
  }
  for (int strategy = 1; strategy <= 9 && !is_long; ++strategy) add(3, strategy);
  return chosen;
}

std::vector<byte_vector> small_frames(std::mt19937& random, std::size_t count) {
  std::vector<byte_vector> frames;
  while (frames.size() < count) {
    const frame_settings settings{.level = static_cast<int>(random() % 23) - 3,
                                  .strategy = static_cast<int>(random() % 10),
                                  .window_log = random() % 8 == 0 ? 17 : 10,
                                  .checksum = random() % 8 == 0,
                                  .content_size = random() % 2 == 0,
                                  .flush_bytes = random() % 2 == 0 ? 0 : 60 + random() % 700};
    byte_vector frame = encoded_frame_of(small_text(random), settings);
    if (frame.size() >= 20 && frame.size() <= 2500) frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace gpuhist::test
