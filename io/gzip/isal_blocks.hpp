// Inflate by ISA-L, from any position between two blocks, with exact positions after errors.
#pragma once

#include <isa-l/igzip_lib.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gpuhist::io {

/// Where the data of isal_blocks begins.
struct inflate_start {
  unsigned bits_before = 0;           ///< bits of `first` that belong to the block before
  std::byte first{};                  ///< with `bits_before`: the byte before the first input
  std::span<const std::byte> window;  ///< the text before, at most 32 KiB
  std::uint32_t crc = 0;              ///< of the text of the member before
};

/// The blocks of one member. Holds 90 KB of text and tables twice.
class isal_blocks {
 public:
  /// The progress of a call in its two spans, and ISA-L's return code: negative after an error.
  struct position {
    int code = 0;
    std::size_t in = 0;
    std::size_t out = 0;
  };

  isal_blocks();

  /// Begins at a block.
  void begin(const inflate_start& start);

  /// Decodes from `in` to `out`. After an error the position is that of the error, and not more is written.
  position decode(std::span<const std::byte> in, std::span<std::byte> out);

  /// Bytes of text that ISA-L holds and that were not yet written.
  [[nodiscard]] std::size_t held() const;

  /// Writes held text to the front of `out`. Returns the number of bytes.
  std::size_t flush(std::span<std::byte> out);

  /// Whether the last block of the member has ended.
  [[nodiscard]] bool is_finished() const { return state_.block_state == ISAL_BLOCK_FINISH; }

  /// How many bits of its input it has not decoded, if all input was consumed and the next block follows.
  [[nodiscard]] std::optional<unsigned> bits_before_block() const;

  /// The last `bytes` bytes of the text, at most 32 KiB, while nothing is held.
  [[nodiscard]] std::span<const std::byte> last_text(std::size_t bytes) const;

  /// Bits of the input that were consumed and not decoded, the next one being the lowest.
  [[nodiscard]] std::uint64_t unread() const { return state_.read_in; }
  [[nodiscard]] unsigned unread_bits() const;

  [[nodiscard]] std::uint32_t crc() const { return state_.crc; }

  /// The cause of an error.
  [[nodiscard]] static std::string_view cause_of(int code);

 private:
  position run(std::span<const std::byte> in, const position& begin, std::size_t bytes, std::span<std::byte> out);
  position find_error(std::span<const std::byte> in, std::size_t read, std::span<std::byte> out);

  inflate_state state_{};
  inflate_state before_{};
};

}  // namespace gpuhist::io
