// One compressed block of an lz4 frame: its compressed bytes are gathered completely, decoded at once, and delivered
// piece by piece.
//
//   text of linked blocks   | history, up to 64 KiB | block | block | free ...
//                           after the last block that fits, the history moves to the front
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gpuhist::io {

/// The blocks of one frame, one after the other. Used by one thread at a time.
class lz4_block {
 public:
  /// How far linked blocks refer back.
  static constexpr std::size_t history_bytes = std::size_t{64} << 10U;

  /// The maximum compressed size of a block of a legacy frame.
  static std::uint32_t max_legacy_packed_bytes();

  /// The memory for blocks of at most these sizes.
  static std::uint64_t memory_for(std::uint64_t packed_bytes, std::uint64_t text_bytes, bool linked);

  /// Begins a frame with blocks of at most these sizes. Throws std::bad_alloc.
  void begin_frame(std::size_t packed_bytes, std::size_t text_bytes, bool linked);

  /// Begins a block of `bytes` compressed bytes, at most the `packed_bytes` of the frame.
  void begin(std::size_t bytes);

  /// Takes missing bytes from the front of `in`; returns how many.
  std::size_t gather(std::span<const std::byte> in);
  [[nodiscard]] bool is_empty() const { return gathered_ == 0; }
  [[nodiscard]] bool is_whole() const { return gathered_ == wanted_; }
  [[nodiscard]] std::span<const std::byte> gathered() const { return {packed_.get(), gathered_}; }

  /// Decodes a block; false if it is damaged.
  bool decode(std::span<const std::byte> packed);

  /// The decoded text that is not delivered.
  [[nodiscard]] std::span<const std::byte> text() const { return {text_.get() + delivered_, end_ - delivered_}; }
  void drop(std::size_t bytes) { delivered_ += bytes; }

  /// Adds text of a stored block, to which later blocks may refer.
  void remember(std::span<const std::byte> text);

  void free_memory() noexcept;

 private:
  void make_room(std::size_t bytes);

  std::unique_ptr<std::byte[]> packed_;
  std::size_t packed_room_ = 0;
  std::size_t wanted_ = 0;
  std::size_t gathered_ = 0;
  std::unique_ptr<std::byte[]> text_;
  std::size_t text_room_ = 0;   // allocated
  std::size_t text_limit_ = 0;  // of this frame
  std::size_t block_text_ = 0;  // most text of one block of this frame
  std::size_t end_ = 0;         // of the text so far
  std::size_t delivered_ = 0;
  bool linked_ = false;
};

}  // namespace gpuhist::io
