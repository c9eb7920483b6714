// The manifest of a batch job: every input with its size, time of modification and fingerprint, fixed before anything
// is counted.
#pragma once

#include "config/options.hpp"
#include "io/file_state.hpp"
#include "io/log_identity.hpp"
#include "io/zstd/zstd_seek_table.hpp"
#include "pipeline/counts/input_report.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::batch {

/// A part of an input that is counted alone.
struct input_piece {
  io::split_point begin{};
  std::optional<std::uint64_t> end{};  ///< bytes of the file as it is stored; nothing: its end
};

/// An input of a manifest.
struct manifest_entry {
  std::string name;           ///< raw bytes
  std::uint64_t size = 0;     ///< bytes
  std::int64_t modified = 0;  ///< nanoseconds since 1970
  std::string fingerprint{};  ///< as fingerprint_kind says; empty: nothing is compared
  bool follow_links = true;   ///< as listed_input
  bool has_changed = false;   ///< it was counted, and its content was replaced by another one that has not more bytes
  bool is_retired = false;    ///< its name is none of a file: its log disappeared, and another log has its name
  std::optional<io::log_identity> log{};  ///< how it is known again under another name; nothing: it is not
  pipeline::input_failure error{};        ///< why it cannot be read
  std::vector<io::split_point> splits{};  ///< where it can be divided
  std::string split_format{};             ///< with `splits`: the format of the file
  std::optional<input_piece> piece{};     ///< only this part is counted; nothing: all of it

  /// Bytes to be read.
  [[nodiscard]] std::uint64_t stored_bytes() const {
    return piece ? piece->end.value_or(size) - piece->begin.stored_bytes : size;
  }
};

struct manifest {
  std::vector<manifest_entry> entries;  ///< each name once, in the order of the job
  std::string identity;                 ///< a hash of its text, in hexadecimal digits
  config::fingerprint_kind fingerprint = config::fingerprint_kind::ends;

  [[nodiscard]] std::uint64_t bytes() const;
};

/// The version of its format.
inline constexpr const char* manifest_schema = "gpuhist.manifest/1";

/// The name of a kind: "ends".
std::string_view name_of(config::fingerprint_kind kind);

/// The text: a line for the manifest, then one for each entry. The same entries have the same text.
std::string text_of_manifest(const std::vector<manifest_entry>& entries, config::fingerprint_kind kind);

/// manifest::identity of that text.
std::string identity_of_text(const std::string& text);

/// The text of a file. Throws std::runtime_error if it cannot be read.
std::string text_of_manifest_file(const std::string& path);

/// The manifest with this text. `path`: for messages. `remedy`: of a damaged one. Throws std::runtime_error that names
/// the line.
manifest manifest_from(const std::string& text, const std::string& path,
                       std::string_view remedy = "make it again with gpuhist batch plan");

/// Reads the manifest of a job from its folder. Throws as the two above.
manifest read_manifest(const std::string& path);

/// What the fingerprints of a kind cover.
io::fingerprinted fingerprinted_by(config::fingerprint_kind kind);

/// What is compared with the file after it was read.
io::file_state state_in(const manifest_entry& entry);

/// Why the file is not the one of the manifest; empty if it is.
std::string difference(const manifest_entry& planned, const io::file_state& now, bool trusts_names);

}  // namespace gpuhist::batch
