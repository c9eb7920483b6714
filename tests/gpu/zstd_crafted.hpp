// Zstd frames that no encoder writes, bit by bit, for the tests of the zstd decoder of devices (RFC 8878).
#pragma once

#include "gpu/cuda/zstd/encoded.hpp"
#include "tests/support/byte_vectors.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::test {

/// Bits and their number.
struct bit_field {
  std::uint32_t value = 0;
  unsigned width = 0;
};

/// A stream that is decoded from its last bit to its first; `fields` in the order of decoding.
byte_vector backward_stream(const std::vector<bit_field>& fields);

/// Bits from the first to the last, padded with zeros.
byte_vector forward_stream(const std::vector<bit_field>& fields);

/// A number of `bytes` bytes, little endian.
byte_vector little_endian_bytes(std::uint64_t number, std::size_t bytes);

enum class literal_kind : std::uint32_t { raw, run, huffman, treeless };

/// The header of a literals section. `streams`: 1 or 4, of Huffman literals.
byte_vector literals_header_of(literal_kind kind, std::uint32_t decoded, std::uint32_t encoded = 0,
                               unsigned streams = 1);
byte_vector raw_literals(std::string_view text);
byte_vector run_literals(char letter, std::uint32_t count);

/// A sequences section whose three codes are runs, so that its bits are extra bits only.
struct run_coded {
  std::uint8_t literals_code = 0;
  std::uint8_t offset_code = 0;
  std::uint8_t match_code = 0;
  std::uint32_t count = 1;
  std::vector<bit_field> bits{};  ///< of each sequence: offset, match length, literals length
};
byte_vector sequence_count_bytes(std::uint32_t count);
byte_vector run_sequences(const run_coded& sequences);
inline byte_vector no_sequences() { return byte_vector(1); }

/// Frames from blocks. The header of the last block is marked as such.
class frame_writer {
 public:
  /// A frame with its window and no content size.
  static frame_writer with_window(unsigned window_log);
  /// A frame whose window is its content.
  static frame_writer with_size(std::uint8_t content_bytes);

  frame_writer& raw(std::string_view text);
  frame_writer& run(char letter, std::uint32_t count);
  frame_writer& compressed(const byte_vector& literals, const byte_vector& sequences);
  frame_writer& block(unsigned type, std::uint32_t size, const byte_vector& content);
  /// Appends this checksum.
  frame_writer& checksum(std::uint32_t sum);
  [[nodiscard]] byte_vector bytes() const;

 private:
  byte_vector header_;
  std::vector<byte_vector> blocks_;
  std::optional<std::uint32_t> checksum_;
};

struct crafted {
  std::string name;
  byte_vector frame;
  gpu::cuda::zstd::verdict expected;
};

/// Decodes all in one batch on the host, where each is judged as if it were alone: verdicts as expected, texts as of
/// libzstd.
void check_all(const std::vector<crafted>& all);

}  // namespace gpuhist::test
