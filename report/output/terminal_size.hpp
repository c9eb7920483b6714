// The size of a terminal.
#pragma once

#include <optional>

namespace gpuhist::pipeline {

struct terminal_size {
  unsigned columns = 0;
  unsigned lines = 0;  ///< 0: unknown
};

/// Nothing if the descriptor is not a terminal, or does not report its columns.
std::optional<terminal_size> size_of_terminal(int fd);

}  // namespace gpuhist::pipeline
