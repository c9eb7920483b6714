// Checksums of text and of the content of files: XXH3, by libxxhash.
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

}  // namespace gpuhist::io
