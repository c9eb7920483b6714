// How a manifest is extended by what is new or has grown since it was made (--new-only).
#pragma once

#include "batch/job_planning.hpp"
#include "batch/manifest.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::batch {

/// What the state of a job has of an entry of its manifest.
enum class entry_progress : std::uint8_t { open, complete, failed };

/// An entry of the extended manifest and where it is from.
struct extended_entry {
  manifest_entry entry;
  std::optional<std::size_t> kept_from{};  ///< the entry of the old manifest whose results it keeps; nothing: none
  std::string change{};                    ///< why it is an error that it keeps them; empty: it is none
};

struct manifest_extension {
  std::vector<extended_entry> entries;  ///< in the order of a new plan; those that disappeared follow their neighbours
  std::size_t added = 0;                ///< new inputs
  std::size_t grown = 0;                ///< counted again, because they have more bytes
  std::size_t renamed = 0;              ///< that have another name now and keep their counts
  std::size_t retried = 0;              ///< read again, because they failed or were not finished, and have changed
  std::size_t missing = 0;              ///< that disappeared and keep their counts
  std::size_t dropped = 0;              ///< that disappeared and are removed
};

struct extension_rules {
  bool trusts_names = false;
  bool drops_missing = false;
};

/// The extended manifest, with its identity.
manifest manifest_after(const manifest_extension& changes, config::fingerprint_kind kind);

/// What is known of its entries. `before`: of those of the old manifest.
std::vector<entry_progress> progress_after(const manifest_extension& changes,
                                           const std::vector<entry_progress>& before);

/// Compares a manifest with the inputs that are found now. `progress_of`: of an entry of `old`. An entry that was
/// counted keeps its results if its size, time of modification and fingerprint are the same (with fingerprints of the
/// whole content: its size and fingerprint). With more bytes, or the same size and the same ends, it is counted again;
/// otherwise it keeps the results of its earlier content, as an error. An entry whose log has another name now
/// (planned_entries::logs) gets this name; it keeps its results if the whole content is known to be the same, or if it
/// is the same inode with the same time of birth and of modification. If its log disappeared and its name is that of
/// another log, it is retired: kept as "NAME.~1~", or with another number. A file that is too young keeps what was
/// counted of its log, and is left out otherwise.
manifest_extension extend(const manifest& old, const std::function<entry_progress(std::size_t)>& progress_of,
                          planned_entries found, const extension_rules& rules);

}  // namespace gpuhist::batch
