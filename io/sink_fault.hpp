// Why writing to a stream ended early.
#pragma once

#include <cstdint>

namespace gpuhist::io {

/// A write that failed.
struct sink_fault {
  int error = 0;             ///< errno; EPIPE: the consumer has closed the stream
  std::uint64_t offset = 0;  ///< bytes written before
};

}  // namespace gpuhist::io
