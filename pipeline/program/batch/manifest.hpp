// The manifest of a batch job: every input with its size, time of modification and fingerprint, fixed before anything
// is counted.
#pragma once

#include "pipeline/counts/input_failure.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// An input of a manifest.
struct manifest_entry {
  std::string name;           ///< raw bytes
  std::uint64_t size = 0;     ///< bytes
  std::int64_t modified = 0;  ///< nanoseconds since 1970
  std::string fingerprint{};  ///< of the first and the last 64 KiB; empty: the file has at most 1 MiB
  bool follow_links = true;   ///< as listed_input
  input_failure error{};      ///< why it cannot be read
};

struct manifest {
  std::vector<manifest_entry> entries;  ///< each name once, in the order of the job
  std::string identity;                 ///< a hash of its text, in hexadecimal digits

  [[nodiscard]] std::uint64_t bytes() const;
};

/// The text: a line for the manifest, then one for each entry. The same entries have the same text.
std::string text_of_manifest(const std::vector<manifest_entry>& entries);

/// manifest::identity of that text.
std::string identity_of_text(const std::string& text);

/// Reads a manifest. Throws std::runtime_error that names the line, or the cause why the file cannot be read.
manifest read_manifest(const std::string& path);

/// What is compared with the manifest after a file was read.
struct file_facts {
  std::uint64_t size = 0;
  std::int64_t modified = 0;
  std::string fingerprint{};
};

/// Nothing if it cannot be read; errno is set then.
std::optional<file_facts> facts_of(const std::string& path);

/// Why the file is not the one of the manifest; empty if it is.
std::string difference(const manifest_entry& planned, const file_facts& now, bool trusts_names);

}  // namespace gpuhist::pipeline
