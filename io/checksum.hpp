// Checksums: XXH3 of text and of the content of files, by libxxhash, and the CRC-32 of two texts in sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace gpuhist::io {

/// Of 64 bits. `seed`: equal bytes with another seed have another checksum.
std::uint64_t checksum_of(std::string_view bytes, std::uint64_t seed = 0);

/// Of 128 bits, as 32 hexadecimal digits.
std::string hash_text(std::string_view bytes);

/// hash_text() of bytes that arrive in pieces. One thread.
class running_hash {
 public:
  running_hash();
  running_hash(const running_hash&) = delete;
  running_hash& operator=(const running_hash&) = delete;
  ~running_hash();

  void add(std::string_view bytes);

  /// Of all bytes so far.
  [[nodiscard]] std::string text() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// The CRC-32 of gzip (RFC 1952) of a text with CRC `first`, followed by `second_bytes` bytes with CRC `second`. In
/// polynomials modulo that of the CRC: first * x^(8 * second_bytes) + second.
std::uint32_t combine_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

}  // namespace gpuhist::io
