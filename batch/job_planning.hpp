// The inputs of a batch job: patterns, directories and lists become the entries of its manifest.
#pragma once

#include "batch/manifest.hpp"
#include "batch/moved_logs.hpp"
#include "config/options.hpp"
#include "library/counting_plan.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::batch {

/// A tally of no text, for the counts of the plan.
gpu::tally no_text_of(const library::counting_plan& planned);

struct planned_entries {
  std::vector<manifest_entry> entries;  ///< each name once
  std::size_t too_young = 0;            ///< files that --min-age leaves out
  std::vector<bool> is_too_young{};     ///< for each entry; only with an earlier manifest, whose logs they may have
  known_logs logs{};                    ///< with an earlier manifest: where its logs are now
};

/// How the inputs of a manifest are looked up.
struct planning {
  std::optional<std::chrono::milliseconds> min_age{};
  config::fingerprint_kind fingerprint = config::fingerprint_kind::ends;
  std::optional<std::uint64_t> split_bytes{};  ///< finds where larger files can be divided; nothing: does not
  const manifest* earlier = nullptr;  ///< files of the same size and time have its fingerprints; null: there is none
  bool knows_logs = false;            ///< entries say how their logs are known again; small files are opened, too
  bool trusts_names = false;          ///< with `earlier`: times are not compared
};

/// Looks up the inputs. Reads files for their fingerprints, several at once. Throws std::system_error if a thread
/// cannot be started.
planned_entries plan_entries(const library::counting_plan& planned, const planning& how);

/// The names of the inputs that a run reads, as the entries `chosen` of the manifest. `no_text`: a tally of no text.
pipeline::looked_up_inputs inputs_of(const manifest& from, const std::vector<std::size_t>& chosen,
                                     const gpu::tally& no_text);

}  // namespace gpuhist::batch
