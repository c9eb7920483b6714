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

/// The text of a file. Throws std::runtime_error if it cannot be read.
std::string text_of_manifest_file(const std::string& path);

/// The manifest with this text. `path`: for messages. Throws std::runtime_error that names the line.
manifest manifest_from(const std::string& text, const std::string& path);

/// Reads a manifest. Throws as the two above.
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
