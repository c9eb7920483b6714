// The kinds of names in trees and archives that are not inputs. The program decides by the kind; the words for it are
// for users only.
#pragma once

#include <cstdint>

namespace gpuhist::io {

enum class skipped_kind : std::uint8_t {
  link,       ///< a symbolic link, or a hard link in an archive
  special,    ///< a FIFO, a socket, a device: neither a file nor a directory
  output,     ///< a file that the run writes
  directory,  ///< in an archive: the files below it are members of their own
  unknown     ///< a result that was read from a file does not state it
};

}  // namespace gpuhist::io
