// The files that the list of members of a 7z archive names, in its order.
#pragma once

#include "io/archive/seven_zip_fields.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gpuhist::io {

/// Refers to the bytes of the list. Throws unknown_seven_zip_list if readers of the format may disagree about it: if a
/// property occurs twice, does not have the size of its content, or is not known.
class seven_zip_files {
 public:
  struct file {
    std::optional<std::string> name;  ///< in UTF-8; nothing if it cannot be converted
    bool is_regular = true;           ///< not a link, device or the like
  };

  /// Takes the files from the list.
  explicit seven_zip_files(seven_zip_fields& list);

  /// The next file with a text. Nothing after the last one.
  std::optional<file> next_with_text();

 private:
  void read_property(seven_zip_mark type, seven_zip_fields& content);
  [[nodiscard]] std::size_t set_bits(std::span<const std::byte> bits) const;
  std::span<const std::byte> take_name();

  std::size_t files_ = 0;
  std::size_t at_ = 0;
  std::optional<std::span<const std::byte>> empty_{};       // a bit for each file
  std::optional<std::span<const std::byte>> names_{};       // UTF-16, little-endian, each with a zero
  std::optional<std::span<const std::byte>> attributes_{};  // 4 bytes for each file
};

}  // namespace gpuhist::io
