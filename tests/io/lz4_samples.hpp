// Compressed samples made by liblz4, and the text in them.
#pragma once

#include "tests/contract/decoder_contract.hpp"

#include <lz4frame.h>

namespace gpuhist::test {

struct lz4_settings {
  LZ4F_blockSizeID_t block_size = LZ4F_max64KB;
  bool linked_blocks = false;
  bool block_checksums = false;
  bool content_checksum = true;
  bool content_size = false;
  unsigned dictionary_id = 0;  ///< only written to the header
  int level = 1;
  std::size_t flush_bytes = 0;  ///< a block ends after so many bytes of text; 0: when it is full
};

/// One frame that holds `plain`.
byte_vector lz4_frame_of(std::span<const std::byte> plain, const lz4_settings& settings = {});

/// The magic number of a legacy frame.
byte_vector lz4_legacy_magic();

/// One block of a legacy frame, with its size before it; at most 8 MiB.
byte_vector lz4_legacy_block_of(std::span<const std::byte> plain);

/// Joins frames.
class lz4_sample_builder {
 public:
  explicit lz4_sample_builder(std::string name) { sample_.name = std::move(name); }
  lz4_sample_builder& frame(const byte_vector& plain, const lz4_settings& settings = {});
  lz4_sample_builder& skippable(std::size_t length, unsigned kind = 0);
  lz4_sample_builder& legacy_magic();
  lz4_sample_builder& legacy_block(const byte_vector& plain);
  decoder_sample build() { return std::move(sample_); }

 private:
  lz4_sample_builder& add(const byte_vector& plain, const byte_vector& packed);
  lz4_sample_builder& skip(const byte_vector& packed);

  decoder_sample sample_;
};

}  // namespace gpuhist::test
