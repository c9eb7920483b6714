// A few strings, of which each word of a text may be one.
#pragma once

#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report::texts {

/// Immutable.
class string_set {
 public:
  /// Strings that are not empty.
  explicit string_set(std::vector<std::string> strings) : strings_(std::move(strings)) {
    for (const std::string& each : strings_) begins_[index_of(each)] = true;
  }

  /// The index of an equal string. Most words differ from all by their length and first byte.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view word) const {
    if (word.empty() || !begins_[index_of(word)]) return std::nullopt;
    for (std::size_t i = 0; i < strings_.size(); ++i) {
      if (strings_[i] == word) return i;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t lengths = 16;

  static std::size_t index_of(std::string_view word) {
    return static_cast<unsigned char>(word.front()) * lengths + word.size() % lengths;
  }

  std::vector<std::string> strings_;
  std::bitset<256 * lengths> begins_;
};

}  // namespace gpuhist::report::texts
