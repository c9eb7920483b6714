// Writing files and folders to disk, so that they survive a power failure.
#pragma once

#include <filesystem>

namespace gpuhist::io {

/// Writes the content of a file or folder to disk. True on filesystems and for files that do not support this, such as
/// pipes. False: errno is the cause.
[[nodiscard]] bool synchronize(int file);

/// Writes the names in a folder to disk: after a file was created, renamed or linked there. True if the folder may not
/// be read: it can then be written to, but not be opened. False: errno is the cause.
[[nodiscard]] bool synchronize_folder(const std::filesystem::path& folder);

/// The folder of a file; "." for a name without a folder.
[[nodiscard]] std::filesystem::path folder_of(const std::filesystem::path& file);

}  // namespace gpuhist::io
