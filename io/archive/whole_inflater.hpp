// Decodes deflate data that lies in memory as a whole, and whose length of text is known: a member of a zip archive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

struct inflate_state;

namespace gpuhist::io {

/// Used by one thread at a time. Keeps its memory, some 100 KiB, from call to call.
class whole_inflater {
 public:
  static constexpr std::size_t max_bytes = std::size_t{1} << 30U;  ///< of packed bytes and of text
  static constexpr std::size_t padding = 16;                       ///< readable zeros that follow the packed bytes

  /// Throws std::bad_alloc.
  whole_inflater();
  whole_inflater(const whole_inflater&) = delete;
  whole_inflater& operator=(const whole_inflater&) = delete;
  ~whole_inflater();

  /// Decodes `packed`, which does not include its padding, to `text`, and returns the CRC-32 of the text. Nothing if
  /// the data does not end exactly where both spans end, or if zlib would refuse it: so a caller that gets a result
  /// need not ask another decoder. Some unusual data that zlib accepts has no result either. Then the content of `text`
  /// is unspecified.
  std::optional<std::uint32_t> inflate(std::span<const std::byte> packed, std::span<std::byte> text);

 private:
  const std::unique_ptr<inflate_state> state_;
};

}  // namespace gpuhist::io
