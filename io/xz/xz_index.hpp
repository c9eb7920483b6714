// The index at the end of an xz stream, which lists the sizes of all blocks (xz-file-format.txt, 1.2, section 4).
#pragma once

#include <lzma.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

/// The sizes of the blocks of a stream so far, as a hash. It has a fixed size, so that it can be copied for each
/// decoder that begins within the stream, whatever the number of blocks.
class xz_block_record {
 public:
  /// `unpadded`: bytes of header, data and check. `text`: bytes of the text.
  void add(std::uint64_t unpadded, std::uint64_t text);

  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  bool operator==(const xz_block_record&) const = default;

 private:
  void mix(std::uint64_t value);

  std::uint64_t blocks_ = 0;
  std::uint64_t first_ = 0;  // two hashes of 64 bits
  std::uint64_t second_ = 0;
};

/// Reads an index and compares it with the blocks that were found.
class xz_index_reader {
 public:
  enum class verdict { needs_input, matches, wrong };

  struct progress {
    std::size_t taken = 0;
    verdict found = verdict::needs_input;
  };

  explicit xz_index_reader(const xz_block_record& blocks = {}) : expected_(blocks) {}

  /// Takes the next bytes: all of them, or up to the end of the index or an error.
  progress advance(std::span<const std::byte> bytes);

  /// Bytes of the index that were taken.
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  enum class part { indicator, number, unpadded, text, padding, checksum };

  bool take_part(std::span<const std::byte> bytes, std::size_t& at);
  bool take_number(std::span<const std::byte> bytes, std::size_t& at);
  bool leave_number();
  verdict take_checksum(std::span<const std::byte> bytes, std::size_t& at);

  xz_block_record expected_;
  xz_block_record listed_;
  part part_ = part::indicator;
  std::uint64_t size_ = 0;
  lzma_vli number_ = 0;  // that is being read
  std::size_t number_size_ = 0;
  lzma_vli unpadded_ = 0;  // of the record
  std::uint32_t crc_ = 0;
  unsigned crc_bits_ = 0;  // that were compared
};

}  // namespace gpuhist::io
