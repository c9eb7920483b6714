// Looks for what every frame of a format begins with, in bytes that go by in pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

class frame_search {
 public:
  /// `before`: bytes that went by right before the first piece; the magic number may begin in them.
  frame_search(std::string_view magic, std::span<const std::byte> before);

  struct hit {
    std::size_t before = 0;  ///< so many bytes of the magic number are in pieces before this one
    std::size_t at = 0;      ///< where the rest of it is in this one
  };

  /// The first magic number that ends in this piece. None is found of a format without one.
  std::optional<hit> find(std::span<const std::byte> piece);

  [[nodiscard]] std::string_view magic() const { return magic_; }

 private:
  void remember(std::string_view piece);

  std::string_view magic_;
  std::string before_;  // the last bytes gone by, fewer than the magic number has
};

}  // namespace gpuhist::pipeline
