// A part of gzip data that was decoded ahead (io/part_decoder.hpp).
#pragma once

#include "io/gzip/deflate_run.hpp"
#include "io/part_decoder.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::io {

/// The text of one run. If it begins within a member, the 32 KiB of text before it are unknown, and its text has marks
/// instead of the bytes copied from there. link() takes the window from the part before if that part ends where this
/// one begins. finish() then replaces the marks. Without link(), the decoder that takes the text over replaces them.
class deflate_part final : public decoded_part {
 public:
  /// `ahead`: the compressed bytes of the part before its first block, and `offset`, that of their first byte in the
  /// compressed input. Empty if the run does not begin at a guessed block.
  deflate_part(deflate_run&& run, bool is_guessed, std::vector<std::byte> ahead, std::uint64_t offset);

  void link(const decoded_part* before) override;
  [[nodiscard]] bool is_linked() const override { return knows_end_ || !run_.is_in_member(); }
  void finish() override;

  [[nodiscard]] const deflate_text& text() const { return run_.text(); }
  [[nodiscard]] const std::vector<deflate_stretch>& stretches() const { return run_.stretches(); }
  [[nodiscard]] std::uint64_t end() const { return run_.position(); }

  /// Whether the first stretch begins within a member. All others begin with the text of a member.
  [[nodiscard]] bool is_guessed() const { return is_guessed_; }

  /// With is_guessed(): the window before the first stretch, if link() found it. Otherwise the text has marks, and the
  /// first stretch has no CRC.
  [[nodiscard]] const std::optional<std::vector<std::byte>>& window() const { return window_; }

  /// The window after the last stretch, if that does not end its member. `window`: the one before the first stretch.
  [[nodiscard]] std::vector<std::byte> end_window(std::span<const std::byte> window) const;

  /// The decoder, which begins to take the part over, has the window that link() did not find. Then the parts after
  /// this one can be linked.
  void note_window(std::span<const std::byte> window) const;

 private:
  [[nodiscard]] std::optional<deflate_run> decode_gap(std::uint64_t from, std::span<const std::byte> window) const;
  void prepend(deflate_run& gap);
  [[nodiscard]] bool is_resolved() const { return !is_guessed_ || window_; }

  deflate_run run_;
  bool is_guessed_;
  std::vector<std::byte> ahead_;  // with deflate_bits::padding
  std::uint64_t offset_;
  std::optional<std::vector<std::byte>> window_;
  std::vector<std::byte> mark_window_;  // what marks refer to, with `window_`
  // If knows_end_, which is written after it and read before it. The decoder may have it after finish().
  mutable std::vector<std::byte> end_window_;
  mutable std::atomic<bool> knows_end_ = false;  // and the last stretch does not end its member
};

/// The bytes of `text` from `begin` on, by chunks: calls use(chunk, offset in the chunk, bytes).
template <class Use>
void for_each_extent(const deflate_text& text, std::size_t begin, std::size_t size, const Use& use) {
  for (const deflate_text::chunk& chunk : text.chunks()) {
    if (size == 0) return;
    if (begin >= chunk.size) {
      begin -= chunk.size;
      continue;
    }
    const std::size_t some = size < chunk.size - begin ? size : chunk.size - begin;
    use(chunk, begin, some);
    begin = 0;
    size -= some;
  }
}

}  // namespace gpuhist::io
