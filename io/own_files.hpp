// Files that the program keeps or writes in a folder: no link leads out of the folder, and nothing but a regular file
// is in their place.
#pragma once

#include "io/descriptor.hpp"

#include <filesystem>

namespace gpuhist::io {

enum class links { refused, followed };

/// Throws std::runtime_error that names the file and its kind if there is something else than a regular file: a link,
/// which could lead to a file of the user, or a FIFO, whose reader would wait. Nothing at all is right, too.
void require_regular(const std::filesystem::path& file, links how = links::refused);

/// The same for a folder.
void require_folder(const std::filesystem::path& folder);

/// Opens the folder `below` beneath `root` (O_PATH), and creates the folders that are missing. Follows no link. Empty
/// if that fails: errno is the cause (ENOTDIR for a link).
[[nodiscard]] descriptor create_folders(const descriptor& root, const std::filesystem::path& below);

}  // namespace gpuhist::io
