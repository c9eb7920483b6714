// The text of a zstd frame whose blocks are decoded without libzstd: block by block, ahead of time or here. All blocks
// that are decoded are valid by RFC 8878. Others are left to libzstd, which gets the state of the frame as a
// dictionary: so its verdict, its words and its text are the same as if it had decoded the whole frame.
#pragma once

#include "io/zstd/zstd_execution.hpp"
#include "io/zstd/zstd_frame.hpp"
#include "io/zstd/zstd_parts.hpp"
#include "io/zstd/zstd_sequences.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

/// Used by one thread at a time.
class zstd_frame_text {
 public:
  using verdict = zstd_block_decoder::verdict;

  zstd_frame_text();
  zstd_frame_text(const zstd_frame_text&) = delete;
  zstd_frame_text& operator=(const zstd_frame_text&) = delete;
  ~zstd_frame_text();

  /// Throws std::bad_alloc.
  void begin(const zstd_frame_header& frame);
  void free_memory() noexcept;

  /// Whether a block of `bytes` bytes of text fits into the size that the frame states.
  [[nodiscard]] bool fits(std::uint64_t bytes, bool is_last) const;

  /// The text of a compressed block, in text(). `content` has zstd_block_decoder::front_bytes readable bytes before it.
  /// `ready`: the block decoded ahead, or null.
  verdict decode(std::span<const std::byte> content, bool is_last, const zstd_ready_block* ready);
  void repeat(std::byte byte, std::uint32_t count);
  void copy(std::span<const std::byte> stored);

  /// Of the last block: valid until the next one.
  [[nodiscard]] std::span<const std::byte> text() const { return text_; }

  /// Whether resume() before this compressed block is exact, except for matches that are longer ago than the window.
  [[nodiscard]] bool may_resume(std::span<const std::byte> content) const;

  /// Whether the buffer of libzstd would have been full, so that its begin was used again.
  [[nodiscard]] bool has_turned() const { return turn_ != 0; }

  /// Of the text so far.
  [[nodiscard]] std::uint64_t bytes() const { return text_bytes_; }

  /// Text that libzstd has decoded after resume(). Only bytes() and checksum() are known from then on.
  void add_foreign(std::span<const std::byte> text);

  /// The low 32 bits of XXH64 of all text.
  [[nodiscard]] std::uint32_t checksum() const;

  /// What makes libzstd continue before the block that was not decoded: a dictionary, and a begin of a frame that uses
  /// it and has `text_bytes` bytes of text before the block.
  struct resumption {
    std::vector<std::byte> dictionary{};
    std::vector<std::byte> begin{};
    std::size_t text_bytes = 0;
  };

  /// Nothing: an offset is longer ago than the text. Throws std::bad_alloc.
  [[nodiscard]] std::optional<resumption> resume() const;

 private:
  void add(std::span<const std::byte> text);
  void add_checksum(std::span<const std::byte> text);
  [[nodiscard]] std::vector<std::byte> tables() const;
  void put_text(std::vector<std::byte>& to, std::size_t from, std::size_t count) const;

  zstd_frame_header frame_;
  zstd_window window_;
  zstd_offsets offsets_{};
  zstd_known_tables known_;
  std::uint64_t text_bytes_ = 0;
  std::size_t ring_bytes_ = 0;  // the buffer in which libzstd would decode; how much of a block fits is an error or not
  std::size_t ring_at_ = 0;
  std::size_t turn_ = 0;
  std::span<const std::byte> text_{};
  std::unique_ptr<zstd_block_decoder> decoder_;  // null: not used yet
  std::unique_ptr<std::byte[]> plan_;
  struct checksum_state;
  std::unique_ptr<checksum_state> checksum_;
};

}  // namespace gpuhist::io
