// One block of a legacy lz4 frame: gathered as a whole, decoded as a whole, handed out piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuhist::io {

/// One block, whose size was read by somebody else. One thread at a time.
class lz4_legacy_block {
 public:
  /// No block is compressed to more.
  static std::uint32_t max_packed_bytes();

  /// What is allocated for a block that is compressed to `packed_bytes`.
  static std::uint64_t memory_for(std::uint32_t packed_bytes);

  /// Before a block of `packed_bytes`.
  void begin(std::uint32_t packed_bytes);

  /// Takes from the front of `in` what it lacks; returns how many bytes.
  std::size_t gather(std::span<const std::byte> in);
  [[nodiscard]] bool is_whole() const { return packed_size_ == packed_.size(); }

  /// Of a whole block; false where it is damaged.
  bool decode();

  /// Writes text to the front of `out`; returns how many bytes.
  std::size_t hand_out(std::span<std::byte> out);
  [[nodiscard]] bool is_handed_out() const { return reserved_ == text_size_; }

  void free_memory() noexcept;

 private:
  std::vector<std::byte> packed_;
  std::size_t packed_size_ = 0;  // bytes gathered
  std::vector<std::byte> text_;
  std::size_t text_size_ = 0;
  std::size_t reserved_ = 0;
};

}  // namespace gpuhist::io
