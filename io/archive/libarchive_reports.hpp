// What libarchive reports: the fields of an entry (path, kind, link target, map of a sparse file), and messages as
// clauses in the words of gpuhist.
#pragma once

#include "io/failure.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct archive_entry;

namespace gpuhist::io {

/// The stored path, as bytes; empty if there is none.
std::string path_of(archive_entry* entry);

/// "directory": the kind in words, in the singular, of an entry that is not a file. `type`: AE_IFDIR, ...
std::string_view kind_name(unsigned type);

/// The kind of such an entry.
skipped_kind kind_of(unsigned type);

/// The length of the target of a symbolic link; 0 for other entries.
std::uint64_t target_bytes(archive_entry* link);

/// Whether `size` bytes can be the target of this link. Linux limits the target of a link: no zeros, at most 4096
/// bytes. A longer text, or one with zeros, belongs to a file whose kind was damaged.
bool could_be_target(archive_entry* link, std::uint64_t size);

/// The end of the last extent with data that the map of a sparse file lists; nothing for other entries.
std::optional<std::uint64_t> sparse_data_end(archive_entry* entry);

// Messages of libarchive as clauses in the words of gpuhist.

/// "ZIP decompression failed (-3)" -> "its data does not decode". Other messages lose their numeric codes and line
/// ends. An empty message is possible. `input_ended`: libarchive has asked for bytes after the end of the input.
std::string clause_of(std::string_view message, bool input_ended);

/// What a message means for an input.
struct message_meaning {
  failure_kind kind = failure_kind::damaged;  ///< refused: something is not supported
  std::string_view remedy{};                  ///< a clause; empty: none is known
};
message_meaning meaning_of(std::string_view message);

/// Whether the message states that more bytes are needed.
bool is_short(std::string_view message);

}  // namespace gpuhist::io
