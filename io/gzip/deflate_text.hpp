// The text of a part of deflate data, while it is decoded and until it is taken over. Before the text ahead of the part
// is known, a symbol of the text is a byte, or a mark: "byte i of the 32 KiB before this part" (Kerbiriou and Chikhi,
// "Parallel decompression of gzip-compressed files and random access to DNA sequences", 2019).
#pragma once

#include "io/part_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gpuhist::io {

/// The farthest distance of deflate.
inline constexpr std::size_t deflate_window = std::size_t{1} << 15U;

/// Symbols of text with marks: a byte, or `first_mark` + the index in the window of 32 KiB.
inline constexpr std::uint16_t first_mark = 1U << 15U;

/// A text in chunks. Each chunk has the window before it in front of its text, so that copies never cross chunks:
///
///     | window: deflate_window symbols | text: `size` symbols | room |
class deflate_text {
 public:
  /// Symbols that may be written after the room of a chunk: the rest of the longest match, and what is copied in
  /// excess.
  static constexpr std::size_t slack = 320;

  struct chunk {
    part_memory::block memory;
    std::size_t memory_bytes = 0;
    std::size_t size = 0;
    std::size_t room = 0;  ///< symbols
    bool is_marked = false;

    [[nodiscard]] std::byte* bytes() const { return memory.get() + deflate_window; }
    [[nodiscard]] std::uint16_t* symbols() const {
      return reinterpret_cast<std::uint16_t*>(memory.get()) + deflate_window;
    }
    /// The bytes of a marked chunk, once they have replaced its symbols.
    [[nodiscard]] std::byte* resolved() const { return reinterpret_cast<std::byte*>(symbols()); }
  };

  /// An end of the text, to which it can be truncated.
  struct position {
    std::size_t chunks = 0;
    std::size_t size = 0;    ///< of the last chunk
    std::ptrdiff_t low = 0;  ///< low() there
  };

  /// Takes its memory from `pool`, at most `max_bytes`.
  deflate_text(std::size_t max_bytes, std::shared_ptr<part_memory> pool)
      : memory_left_(max_bytes), pool_(std::move(pool)) {}

  /// The memory for a chunk with the usual room.
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 19U;

  /// Begins a text with unknown window. False if there is no memory for it.
  bool begin_marked();

  /// Continues with bytes, after this window (at most 32 KiB).
  bool begin_bytes(std::span<const std::byte> window);

  /// Adds a chunk after the last one, which is full.
  bool grow();

  /// Continues with bytes if the last 32 KiB are bytes.
  bool leave_marks();

  /// Forgets the window: a new member begins.
  bool forget_window();

  /// Accounts for memory outside the text.
  bool charge(std::size_t bytes);
  [[nodiscard]] std::size_t memory_left() const { return memory_left_; }
  [[nodiscard]] const std::shared_ptr<part_memory>& pool() const { return pool_; }

  [[nodiscard]] chunk& last() { return chunks_.back(); }
  [[nodiscard]] const std::vector<chunk>& chunks() const { return chunks_; }

  /// The first symbol that may be copied, relative to the text of the last chunk: not before the text of the member.
  [[nodiscard]] std::ptrdiff_t low() const { return low_; }

  [[nodiscard]] position end() const;
  void truncate(const position& at);

  /// Moves the chunks of `head` before those of this text.
  void prepend(deflate_text& head);

  /// The last bytes of the text, at most 32 KiB. `window`: what its marks refer to, the last bytes before the text; not
  /// used if there are no marks.
  [[nodiscard]] std::vector<std::byte> last_window(std::span<const std::byte> window) const;

  /// Whether a mark refers to a byte before the last `known` bytes of the window.
  [[nodiscard]] bool reaches_before(std::size_t known) const;

 private:
  bool add(bool marked);

  std::vector<chunk> chunks_;
  std::size_t memory_left_;
  std::shared_ptr<part_memory> pool_;
  std::ptrdiff_t low_ = 0;
};

/// Replaces marks by bytes of a window. Make one for each window.
class mark_table {
 public:
  explicit mark_table(std::span<const std::byte> window);

  /// Writes the bytes of `symbols` to `out`, which may be the same memory.
  void resolve(const std::uint16_t* symbols, std::size_t size, std::byte* out) const;

 private:
  std::vector<std::byte> bytes_;  // by symbol
};

}  // namespace gpuhist::io
