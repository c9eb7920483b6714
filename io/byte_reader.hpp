// Bytes that are pulled, one after the other: what archives are read from, whatever lies below them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gpuhist::io {

/// Used by one thread at a time; may block it.
class byte_reader {
 public:
  byte_reader() = default;
  byte_reader(const byte_reader&) = delete;
  byte_reader& operator=(const byte_reader&) = delete;
  virtual ~byte_reader() = default;

  /// Fills the front of `out`, which is not empty; 0 only at the end. Throws input_error, and then again at every call.
  virtual std::size_t read(std::span<std::byte> out) = 0;

  /// How many bytes there are where seek() works, else nothing.
  [[nodiscard]] virtual std::optional<std::uint64_t> seekable_bytes() const { return std::nullopt; }

  /// What is read next begins at this offset. Precondition: seekable_bytes() has a value.
  virtual void seek(std::uint64_t /*offset*/) {}

  /// How people are told of an offset: "offset 512".
  [[nodiscard]] virtual std::string place_of(std::uint64_t offset) const { return "offset " + std::to_string(offset); }
};

}  // namespace gpuhist::io
