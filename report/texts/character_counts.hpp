// How often each character occurs in texts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::texts {

/// One thread at a time. Memory: 2 KiB for each 256 code points of which one occurs, and 35 KiB.
class character_counts {
 public:
  character_counts();

  /// The next part of a text, of any size: sequences may be cut anywhere.
  void add(std::string_view part);

  /// The text has ended: an incomplete sequence at its end is malformed.
  void end();

  /// Malformed sequences: maximal subparts, as gpu::host::utf8_counts has them.
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  /// Their bytes, by value from 0x80.
  [[nodiscard]] const std::array<std::uint64_t, 128>& malformed_bytes() const { return malformed_bytes_; }

  /// Calls `take(character, number)` for each character that occurs, in no order: its bytes in UTF-8, valid in the
  /// call.
  template <class Take>
  void for_each(const Take& take) const {
    for (const std::uint32_t at : used_) {
      for (std::size_t i = 0; i < page_size; ++i) {
        const std::uint64_t number = pages_[at]->numbers[i];
        if (number == 0) continue;
        std::array<char, 4> room{};
        take(encoded(static_cast<char32_t>(at * page_size + i), room), number);
      }
    }
  }

  /// Forgets all, also an incomplete sequence.
  void clear();

  [[nodiscard]] bool is_empty() const { return is_empty_; }

 private:
  static constexpr std::size_t page_size = 256;
  static constexpr std::size_t pages = 0x110000 / page_size;
  struct page {
    std::array<std::uint64_t, page_size> numbers{};
    bool is_used = false;  // in used_
  };

  static std::string_view encoded(char32_t code_point, std::array<char, 4>& room);
  std::size_t add_sequence(std::string_view text);
  page& page_of(char32_t code_point);

  std::vector<std::unique_ptr<page>> pages_;  // null: none of it has occurred
  std::vector<std::uint32_t> used_;           // those in which one may occur
  std::uint64_t malformed_ = 0;
  std::array<std::uint64_t, 128> malformed_bytes_{};
  std::string open_;  // an incomplete sequence at the end of the last part
  bool is_empty_ = true;
};

}  // namespace gpuhist::report::texts
