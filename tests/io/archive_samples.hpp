// Small archives, written by libarchive.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::test {

/// An archive with these members (name, text) in this order. `set_format`: archive_write_set_format_zip or another
/// setter of this kind.
inline std::string archive_of(const std::vector<std::pair<std::string, std::string>>& members,
                              int (*set_format)(archive*)) {
  std::size_t room = 100'000;
  for (const auto& [name, text] : members) room += 2 * text.size();
  std::string written(room, '\0');
  std::size_t used = 0;
  archive* const to = archive_write_new();
  set_format(to);
  archive_write_open_memory(to, written.data(), written.size(), &used);
  for (const auto& [name, text] : members) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_write_header(to, entry);
    archive_write_data(to, text.data(), text.size());
    archive_entry_free(entry);
  }
  archive_write_close(to);
  archive_write_free(to);
  written.resize(used);
  return written;
}

}  // namespace gpuhist::test
