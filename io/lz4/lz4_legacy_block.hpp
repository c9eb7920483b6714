// One block of a legacy lz4 frame: its compressed bytes are gathered completely, decoded at once, and delivered piece
// by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuhist::io {

/// One block; the caller has read its size. Used by one thread at a time.
class lz4_legacy_block {
 public:
  /// The maximum compressed size of a block.
  static std::uint32_t max_packed_bytes();

  /// The memory for a block with `packed_bytes` compressed bytes.
  static std::uint64_t memory_for(std::uint32_t packed_bytes);

  /// Begins a block of `packed_bytes`.
  void begin(std::uint32_t packed_bytes);

  /// Takes missing bytes from the front of `in`; returns how many.
  std::size_t gather(std::span<const std::byte> in);
  [[nodiscard]] bool is_whole() const { return packed_size_ == packed_.size(); }

  /// Decodes a complete block; false if it is damaged.
  bool decode();

  /// Writes text to the front of `out`; returns how many bytes.
  std::size_t deliver(std::span<std::byte> out);
  [[nodiscard]] bool is_delivered() const { return delivered_ == text_size_; }

  void free_memory() noexcept;

 private:
  std::vector<std::byte> packed_;
  std::size_t packed_size_ = 0;  // bytes gathered
  std::vector<std::byte> text_;
  std::size_t text_size_ = 0;
  std::size_t delivered_ = 0;
};

}  // namespace gpuhist::io
