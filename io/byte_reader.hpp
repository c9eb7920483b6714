// A sequential reader: archives are read through it, whatever the source below.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::io {

/// Used by one thread at a time. A call may block.
class byte_reader {
 public:
  byte_reader() = default;
  byte_reader(const byte_reader&) = delete;
  byte_reader& operator=(const byte_reader&) = delete;
  virtual ~byte_reader() = default;

  /// Fills the front of `out`, which is not empty, and returns the number of bytes; 0 only at the end. Throws
  /// input_error; every later call throws it again.
  virtual std::size_t read(std::span<std::byte> out) = 0;

  /// Whether the next read() may wait for bytes that have not arrived yet.
  [[nodiscard]] virtual bool may_wait() { return false; }

  /// The size of the input if seek() works, otherwise nothing.
  [[nodiscard]] virtual std::optional<std::uint64_t> seekable_bytes() const { return std::nullopt; }

  /// The next read() begins at this offset. Precondition: seekable_bytes() has a value.
  virtual void seek(std::uint64_t /*offset*/) {}

  /// After read() has returned 0: whether a checksum covers all bytes as a whole, so that none is missing at the end.
  [[nodiscard]] virtual bool end_is_verified() const { return false; }

  /// An offset as messages name it: "offset 512".
  [[nodiscard]] virtual std::string place_of(std::uint64_t offset) const { return "offset " + std::to_string(offset); }
};

/// Bytes that were read ahead of their use, followed by the unread bytes of a reader, which is borrowed.
class rest_of_input final : public byte_reader {
 public:
  rest_of_input(std::vector<std::byte> first, byte_reader& input) : first_(std::move(first)), input_(input) {}

  std::size_t read(std::span<std::byte> out) override {
    const std::span<const std::byte> ahead = first();
    if (ahead.empty()) return input_.read(out);
    const std::size_t size = std::min(ahead.size(), out.size());
    std::copy_n(ahead.begin(), size, out.begin());
    taken_ += size;
    return size;
  }

  [[nodiscard]] bool may_wait() override { return first().empty() && input_.may_wait(); }
  [[nodiscard]] std::string place_of(std::uint64_t offset) const override { return input_.place_of(offset); }

  /// Those that were read ahead, and are unread.
  [[nodiscard]] std::span<const std::byte> first() const { return std::span(first_).subspan(taken_); }

 private:
  std::vector<std::byte> first_;
  std::size_t taken_ = 0;
  byte_reader& input_;
};

/// Fills `out` from `offset` on, in a reader that can seek. Returns the number of bytes, fewer only at the end.
inline std::size_t read_at(byte_reader& file, std::uint64_t offset, std::span<std::byte> out) {
  file.seek(offset);
  std::size_t filled = 0;
  while (filled < out.size()) {
    const std::size_t read = file.read(out.subspan(filled));
    if (read == 0) break;
    filled += read;
  }
  return filled;
}

}  // namespace gpuhist::io
