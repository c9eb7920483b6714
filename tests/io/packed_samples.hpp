// Compressed samples made by liblzma and libbz2, and the text in them.
#pragma once

#include "tests/contract/decoder_contract.hpp"

#include <lzma.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace gpuhist::test {

struct xz_settings {
  std::uint32_t preset = 0;
  lzma_check check = LZMA_CHECK_CRC32;
  std::size_t block_bytes = 0;   ///< text size of a block; 0: one block
  std::uint32_t dictionary = 0;  ///< 0: the default of the preset
  bool x86_filter = false;
  bool states_sizes = false;  ///< the headers of blocks state their sizes, as those of the encoder with threads do
};

byte_vector xz_stream_of(std::span<const std::byte> plain, const xz_settings& settings = {});

/// A stream of two blocks; the second one has the larger dictionary. No encoder of liblzma writes such streams.
byte_vector xz_stream_of_two_dictionaries(std::span<const std::byte> plain, std::uint32_t first, std::uint32_t second);

/// `dictionary_code`: the dictionary byte of the header, 12 to 29 for 2^12 to 2^29 bytes.
byte_vector lzip_member_of(std::span<const std::byte> plain, unsigned dictionary_code = 16);

/// A .lzma stream. With `states_size` the header states the length of the text, and there is no end marker.
byte_vector lzma_stream_of(std::span<const std::byte> plain, bool states_size);

byte_vector bzip2_stream_of(std::span<const std::byte> plain, int level = 9);

/// What libbz2 makes of the stream at the front of some bytes.
struct bzip2_verdict {
  bool is_valid = false;
  byte_vector text;  ///< at most `most_text` bytes; of an invalid stream what precedes the error
  std::size_t packed_bytes = 0;
};
bzip2_verdict ask_libbz2(std::span<const std::byte> packed, std::size_t most_text);

/// Joins frames, with optional bytes between them.
class packed_sample_builder {
 public:
  explicit packed_sample_builder(std::string name) { sample_.name = std::move(name); }
  packed_sample_builder& frame(const byte_vector& plain, const byte_vector& packed);
  /// Each block of the stream is a frame. The input may stop after the stream.
  packed_sample_builder& xz(const byte_vector& plain, const xz_settings& settings = {});
  packed_sample_builder& lzip(const byte_vector& plain, unsigned dictionary_code = 16);
  packed_sample_builder& bzip2(const byte_vector& plain, int level = 9);
  /// Appends zero bytes; the input may end after every four of them.
  packed_sample_builder& padding_in_fours(std::size_t length);
  decoder_sample build() { return std::move(sample_); }

 private:
  decoder_sample sample_;
};

}  // namespace gpuhist::test
