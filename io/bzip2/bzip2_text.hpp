// From the bytes of a bzip2 block to its text: runs of equal bytes, and the checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

/// CRC-32 as bzip2 uses it: most significant bit first, polynomial 0x04C11DB7. `crc`: of the bytes before, 0 at first.
std::uint32_t bzip2_crc(std::uint32_t crc, std::span<const std::byte> bytes);

/// The checksum of a stream after a further block.
constexpr std::uint32_t bzip2_combined_crc(std::uint32_t combined, std::uint32_t block) {
  return (combined << 1U | combined >> 31U) ^ block;
}

/// Expands the runs of a block: after four equal bytes, the next one is the number of further ones.
class bzip2_run_expander {
 public:
  /// `block` must remain until its end.
  void start(std::span<const std::uint8_t> block);

  /// Writes as much text as fits into `out`; returns its length. Less than the size of `out`: the block ended.
  std::size_t expand(std::span<std::byte> out);

  [[nodiscard]] bool ended() const { return at_ == end_ && left_ == 0; }

  /// Whether the number after four equal bytes is missing at the end of the block. Such a block is invalid.
  [[nodiscard]] bool is_cut() const { return number_is_next_; }

 private:
  std::size_t copy_until_run(std::span<std::byte> out);

  const std::uint8_t* begin_ = nullptr;  // of the bytes that may be part of the next run
  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  bool number_is_next_ = false;
  std::size_t left_ = 0;  // of a run, to be written
};

}  // namespace gpuhist::io
