// Which files a command reads because an option names them, and which it writes: no file is both.
#pragma once

#include "config/options.hpp"

#include <string>
#include <vector>

namespace gpuhist::command {

struct named_file {
  std::string option;  ///< and its value, in messages
  std::string path;
};

/// The files that the command reads because an option names them, without inputs.
std::vector<named_file> read_files(const config::options& typed);

/// Compares the files by device and inode, before anything is read or written. (Inputs are compared with outputs when
/// they are looked up, because trees and lists name them, too.) Throws config::usage_error that names both options, and
/// std::runtime_error if a FIFO or the like is in the place of a file of an earlier run.
void refuse_to_write_what_is_read(const config::options& typed);

}  // namespace gpuhist::command
