// The names of the volumes of a split archive: x.7z.001, x.zip.002, x.z01, x.part1.rar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::io {

struct archive_volume {
  std::uint64_t number = 0;  ///< from 1
  std::string remedy;        ///< how its text is counted: a command for a shell

  /// "is volume 1 of a split archive"
  [[nodiscard]] std::string cause() const { return "is volume " + std::to_string(number) + " of a split archive"; }
};

/// The command that joins the volumes of a split zip archive. The last one has this name.
std::string join_split_zip(std::string_view last);

/// The volume that a path promises, if it promises one.
std::optional<archive_volume> volume_named(std::string_view name);

}  // namespace gpuhist::io
