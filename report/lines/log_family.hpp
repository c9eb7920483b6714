// The logs of one program: files that differ only in what rotation and compression have added to their names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhist::report::lines {

/// A name of a log, in its parts.
struct log_name {
  std::string family;  ///< the name without date, number and compression: "logs/app.log"
  std::string date{};  ///< digits from the year on, of the name; empty: it has none, and is newer than those that have
  std::uint32_t number{};  ///< of "app.log.3"; lower is newer

  /// Whether it is the older one of two names of a family.
  [[nodiscard]] bool is_older_than(const log_name& other) const;
};

/// `name`: of a file, or of a member of an archive; any bytes.
///
///     app.log, app.log.1, app.log.2.gz, app.log-20261123.zst, app-2026-11-23.log, app.2026-11-23T04.log.xz,
///     app.log.old
///
/// are all "app.log". A number belongs to the name unless it follows a dot ("worker-1.log" is a log of its own).
/// Folders belong to the name.
log_name parse_log_name(std::string_view name);

}  // namespace gpuhist::report::lines
