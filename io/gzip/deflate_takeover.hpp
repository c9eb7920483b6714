// The side of the gzip decoder on which parts that were decoded ahead are taken over.
#pragma once

#include "io/gzip/deflate_part.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

/// The parts that a decoder was offered, and the stretch of one of them whose text it delivers.
class deflate_takeover {
 public:
  /// Keeps a part. Null, and parts of other formats, are ignored.
  void offer(const std::shared_ptr<const decoded_part>& part);

  void clear();

  /// The first byte, at or after `consumed`, up to which a decoder has to decode by itself before it can begin with a
  /// part: the block at which the part begins is complete before this byte. Releases parts that end at or before
  /// `consumed`.
  std::optional<std::uint64_t> next_begin(std::uint64_t consumed);

  /// The decoder did not begin with the part at this byte: next_begin() returns later ones.
  void pass(std::uint64_t byte) { passed_ = byte; }

  /// Takes over the stretch that begins at `position` (a bit), if there is one and its text follows `window`: the text
  /// of the member so far, at most the last 32 KiB.
  bool begin(std::uint64_t position, std::span<const std::byte> window);

  /// Writes the next bytes of the stretch to the front of `out`. Returns their number.
  std::size_t write(std::span<std::byte> out);

  [[nodiscard]] bool is_written() const { return written_ == stretch_.text_bytes; }

  /// The stretch that was begun, with its CRC once all is written.
  [[nodiscard]] const deflate_stretch& stretch() const { return stretch_; }

  /// The window after the stretch, which does not end its member. Ends the work with it.
  [[nodiscard]] std::vector<std::byte> end();

 private:
  bool begin(const std::shared_ptr<const deflate_part>& part, std::uint64_t position,
             std::span<const std::byte> window);
  void release(std::uint64_t consumed);

  std::deque<std::shared_ptr<const deflate_part>> parts_;
  std::optional<std::uint64_t> passed_;
  std::shared_ptr<const deflate_part> part_;  // of the stretch
  deflate_stretch stretch_;
  std::size_t written_ = 0;
  std::vector<std::byte> window_;    // before the stretch
  std::optional<mark_table> marks_;  // if the text still has marks
};

}  // namespace gpuhist::io
