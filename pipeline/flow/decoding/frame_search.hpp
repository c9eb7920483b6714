// Searches for the magic number of a format in a sequence of pieces. A magic number may span several pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

class frame_search {
 public:
  /// `before`: the bytes directly before the first piece. The magic number may begin in them.
  frame_search(std::string_view magic, std::span<const std::byte> before);

  struct hit {
    std::size_t before = 0;  ///< bytes of the magic number in earlier pieces
    std::size_t at = 0;      ///< offset of the remaining bytes of the magic number in this piece
  };

  /// The first magic number that ends in this piece. Always nothing for a format without a magic number.
  std::optional<hit> find(std::span<const std::byte> piece);

  /// Passes over a piece. A magic number that ends in it is not found, one that begins in it may be.
  void pass(std::span<const std::byte> piece);

  [[nodiscard]] std::string_view magic() const { return magic_; }

 private:
  std::string_view magic_;
  std::string before_;  // the last bytes of earlier pieces, fewer than the magic number has
};

}  // namespace gpuhist::pipeline
