// Compressed samples made by libzstd, and the text in them.
#pragma once

#include "tests/contract/decoder_contract.hpp"

#include <zstd.h>

#include <memory>

namespace gpuhist::test {

struct zstd_settings {
  int level = 3;
  bool checksum = true;
  bool content_size = true;
  int window_log = 0;  ///< 0: chosen by zstd
  std::span<const std::byte> dictionary{};
};

/// As `zstd --train` makes it from sample_text().
const byte_vector& trained_dictionary();

/// One frame that holds `plain`.
byte_vector zstd_frame_of(std::span<const std::byte> plain, const zstd_settings& settings = {});

/// A skippable frame with `length` bytes after its header; `kind` is the last digit of its magic number.
byte_vector skippable_frame(std::size_t length, unsigned kind = 0);

/// Text like a log, with parts of noise and of one repeated letter; reproducible from a seed.
byte_vector sample_text(std::size_t length, std::uint32_t seed = 1);

byte_vector noise(std::size_t length, std::uint32_t seed = 1);

/// Joins frames.
class zstd_sample_builder {
 public:
  explicit zstd_sample_builder(std::string name) { sample_.name = std::move(name); }
  zstd_sample_builder& frame(const byte_vector& plain, const zstd_settings& settings = {});
  zstd_sample_builder& skippable(std::size_t length, unsigned kind = 0);

  /// The first frame of a .warc.zst file: a dictionary as it is, or compressed.
  zstd_sample_builder& first_frame(const byte_vector& dictionary);
  decoder_sample build() { return std::move(sample_); }

 private:
  decoder_sample sample_;
};

}  // namespace gpuhist::test
