// Detects archives by content, and compares them with the archive that the name promises.
#pragma once

#include "io/notice.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::io {

/// The kinds of archives.
enum class archive_kind { none, tar, zip, seven_zip, cpio, ar, rpm };

/// detect_archive() checks so many leading bytes; fewer only if the input is shorter.
inline constexpr std::size_t archive_head_bytes = 1024;

/// "tar", "zip", "7z", "cpio", "ar", "rpm"; "raw" for none.
std::string_view name_of(archive_kind kind);

/// "a tar archive", for messages.
std::string archive_text(archive_kind kind);

/// Detects an archive by content alone, if that is certain. Text with a control character in its first line is not a
/// tar archive.
archive_kind detect_archive(std::span<const std::byte> head);

/// The number of leading bytes that decide the result of detect_archive() for content that begins with `head`. 0: those
/// of `head` do. One line of text is enough for a decision.
std::size_t bytes_for_archive(std::span<const std::byte> head);

/// The archive that a suffix promises, with or without compression (".tar.gz", ".tgz", ".zip").
struct archive_promise {
  archive_kind kind = archive_kind::none;
  std::string_view suffix{};  ///< the suffix in lower case: ".tar"
};
archive_promise promised_archive(std::string_view name);

struct settled_archive {
  archive_kind kind = archive_kind::none;
  std::optional<io::notice> notice{};
  text_encoding encoding = text_encoding::utf8;  ///< of text within a compression: utf8, utf16le or utf16be
};

/// Decides which archive the decompressed content is: by its head. If the name promises another archive, there is a
/// notice. The name also admits content that is not certain by itself (a tar archive with an unusual first
/// header, or without members). Throws input_error if the name promises an archive, and the content is none and no
/// text; and what the rules refuse.
settled_archive settle_archive(std::string_view name, std::span<const std::byte> head, const content_rules& rules = {});

}  // namespace gpuhist::io
