// The side of the lz4 decoder on which parts that were decoded ahead are taken over.
#pragma once

#include "io/lz4/lz4_parts.hpp"

#include <cstdint>
#include <deque>
#include <memory>

namespace gpuhist::io {

/// The parts that a decoder was offered.
class lz4_takeover {
 public:
  /// Keeps a part. Null, and parts of other formats, are ignored. Releases parts before `position`.
  void offer(const std::shared_ptr<const decoded_part>& part, std::uint64_t position);

  void clear();

  /// The block of the frame `frame` that begins at `position`, or null. It is kept until the next call of find() or
  /// clear(). Releases parts before `position`.
  const lz4_ready_block* find(std::uint64_t position, const lz4_frame_header& frame);

 private:
  void release(std::uint64_t position);

  std::deque<std::shared_ptr<const lz4_part>> parts_;
  std::shared_ptr<const lz4_part> found_in_;
};

}  // namespace gpuhist::io
