// What the files of an output need: writes at an offset, temporary names, paths of any length, and names and content
// that survive a power failure. Also which files are the program's own.
#pragma once

#include "io/descriptor.hpp"

#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace gpuhist::io {

/// Writes the content of a file or folder to disk. True on filesystems and for files that do not support this, such as
/// pipes. False: errno is the cause.
[[nodiscard]] bool synchronize(int file);

/// Writes the names in a folder to disk: after a file was created, renamed or linked there. True if the folder may not
/// be read: it can then be written to, but not be opened. False: errno is the cause.
[[nodiscard]] bool synchronize_folder(const std::filesystem::path& folder);

/// The folder of a file; "." for a name without a folder.
[[nodiscard]] std::filesystem::path folder_of(const std::filesystem::path& file);

// The names of the temporary files that replace outputs when they are complete: ".NAME.gpuhist-000000", beside NAME.

/// A name for the temporary file of an output. `last`: the last component of the path of the output. A long one is
/// shortened, so that the result has at most 255 bytes. `number`: of the names of that output. They are the same for
/// every process, so that a run finds the files that killed runs left.
std::string temporary_name(std::string last, unsigned number);

/// Whether the last component of a path is that of a temporary file of any process.
bool is_temporary_name(std::string_view last);

/// The output that a temporary file replaces, or its first bytes: "NAME". `last`: is_temporary_name().
std::string_view name_of_replaced(std::string_view last);

/// Writes the content of a file to disk, without its times. False: errno is the cause.
[[nodiscard]] bool synchronize_data(int file);

// Writing bytes at an offset of a file.

/// Writes all bytes, also after interruptions and partial writes. False: errno is the cause, and a part may have been
/// written.
[[nodiscard]] inline bool write_at(int file, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return true;
}

/// The same at the end of a file. If that fails, the file is cut there, so that the disk has room for what was written
/// before, and no torn record follows it.
[[nodiscard]] bool append_at(int file, std::string_view bytes, std::uint64_t end);

// Files that the program keeps or writes in a folder: no link leads out of the folder, and nothing but a regular file
// is in their place.

enum class links { refused, followed };

/// Throws std::runtime_error that names the file and its kind if there is something else than a regular file: a link,
/// which could lead to a file of the user, or a FIFO, whose reader would wait. Nothing at all is right, too.
void require_regular(const std::filesystem::path& file, links how = links::refused);

/// The same for a folder.
void require_folder(const std::filesystem::path& folder);

/// Opens the folder `below` beneath `root` (O_PATH), and creates the folders that are missing. Follows no link. Empty
/// if that fails: errno is the cause (ENOTDIR for a link).
[[nodiscard]] descriptor create_folders(const descriptor& root, const std::filesystem::path& below);

// Opens paths of any length: the kernel accepts at most PATH_MAX bytes at once. States why a path cannot be
// opened.

/// open(2) with O_CLOEXEC and O_NOCTTY added. Returns an empty descriptor and sets errno if it fails. Thread-safe.
descriptor open_path(const std::string& path, int flags);

/// openat(2) with the same flags and result.
descriptor open_below(const descriptor& folder, const char* name, int flags);

/// Why a path cannot be opened, by errno. A URL that is no path gets the remedy.
std::string open_error_text(std::string_view path, int error);

}  // namespace gpuhist::io
