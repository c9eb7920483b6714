// Which entries of a manifest have another name now: files that were renamed, and logs that were rotated.
#pragma once

#include "batch/manifest.hpp"
#include "io/decoder.hpp"
#include "io/format.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace gpuhist::batch {

/// How files are opened, and what is known of an entry that has not changed.
struct moving_rules {
  const io::format* forced_format = nullptr;
  io::decoder_limits limits{};
  bool trusts_names = false;
};

struct known_logs {
  /// For each file that is found now: the entry whose log it has, under the same name or another one. The file has at
  /// least the text that the entry had. Nothing: it is new, or it has replaced the content of its name. Each entry has
  /// at most one file.
  std::vector<std::optional<std::size_t>> log_of;
  /// For each entry: a rotation has given its name to another log, and its own log disappeared.
  std::vector<bool> is_rotated_out;
};

/// Compares the entries of `old` with the files `found`. A file is that of an entry if one of these holds, in this
/// order:
///  - it has the same name, and size, time of modification and fingerprint have not changed;
///  - it is the same inode, with the same time of birth, and continues the log (io::log_file::continues);
///  - it has the same size, time of modification, fingerprint and ends;
///  - its name is that of the entry after a rotation, and it continues the log;
///  - it has the same name, which no rotation has given to another log, and continues the log;
///  - it continues a log of 4 KiB or more that no other file continues;
///  - it is the same inode, with the same time of birth, and has not fewer bytes; no file has the name of the entry.
/// Opens the files that have changed or are new, and candidates of entries that were not found. Files that cannot be
/// read have no entry.
known_logs find_logs(const manifest& old, const std::vector<manifest_entry>& found, const moving_rules& rules);

}  // namespace gpuhist::batch
