// Which archive bytes are: found by content, held against what the name promises.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace gpuhist::io {

/// What holds members.
enum class archive_kind { none, tar, zip, seven_zip, cpio };

/// How many leading bytes detect_archive() wants to see; fewer only where there are no more.
inline constexpr std::size_t archive_head_bytes = 512;

/// "tar", "zip", "7z", "cpio"; "raw" for none.
std::string_view name_of(archive_kind kind);

/// By content: what is certain without a name. Text with a control character in its first line is no tar.
archive_kind detect_archive(std::span<const std::byte> head);

/// Whether more bytes behind `head` could change what detect_archive() says: a line of text decides.
bool is_undecided_archive(std::span<const std::byte> head);

/// A suffix that promises an archive, in whatever it may be compressed (".tar.gz", ".tgz", ".zip").
struct archive_promise {
  archive_kind kind = archive_kind::none;
  std::string_view suffix{};  ///< as it is known: ".tar"
};
archive_promise promised_archive(std::string_view name);

/// Settles which archive decompressed content is: by its head, held against the name, which also lets in what content
/// alone is not certain of (a tar older than "ustar", or without members). Throws input_error for a broken promise.
archive_kind settle_archive(std::string_view name, std::span<const std::byte> head);

}  // namespace gpuhist::io
