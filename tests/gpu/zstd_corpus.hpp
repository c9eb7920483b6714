// Frames of libzstd for the tests of our zstd decoders, and what libzstd decodes from any bytes.
#pragma once

#include "tests/support/byte_vectors.hpp"

#include <zstd.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::test {

struct frame_settings {
  int level = 3;
  int strategy = 0;    ///< 0: that of the level
  int window_log = 0;  ///< 0: chosen by libzstd
  bool checksum = true;
  bool content_size = true;
  std::size_t flush_bytes = 0;  ///< text after which a block ends; 0: never
};

std::string describe(const frame_settings& settings);

/// One frame that holds `plain`.
byte_vector encoded_frame_of(std::span<const std::byte> plain, const frame_settings& settings);

/// The content of a file.
byte_vector text_of_file(const std::filesystem::path& path);

/// What ZSTD_decompress() does. Keeps its context and its text.
class frame_oracle {
 public:
  frame_oracle();
  /// The text, valid until the next call. Nothing: it is rejected, or longer than `max_bytes`.
  std::optional<std::span<const std::byte>> decode(std::span<const std::byte> packed, std::size_t max_bytes);

 private:
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
  byte_vector text_;
};

struct named_text {
  std::string name;
  byte_vector bytes;
};

/// Texts of many kinds, and of sizes around those of blocks.
std::vector<named_text> corpus_texts();

/// The settings for a text of this size: every level, every strategy, windows of many sizes. `all`: all combinations.
std::vector<frame_settings> corpus_settings(std::size_t text_bytes, bool all);

/// Frames of 20 to 2,500 bytes, most of them without a checksum, of any kind of text and settings.
std::vector<byte_vector> small_frames(std::mt19937& random, std::size_t count);

}  // namespace gpuhist::test
