// The compressed bytes of one input in order, for one decoder, with the parts that the threads of the pool decode
// ahead: groups of whole frames if a splitter finds them, else parts of one frame if the format has them.
#pragma once

#include "async/executor.hpp"
#include "async/semaphore.hpp"
#include "io/byte_reader.hpp"
#include "io/format.hpp"
#include "io/source.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/decoding/frame_divider.hpp"
#include "pipeline/flow/decoding/part_queue.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace gpuhist::pipeline {

/// What decodes ahead: threads, and memory for parts. Borrowed.
struct ahead_resources {
  async::executor& pool;
  unsigned threads = 1;
  async::semaphore& memory;                  ///< limits.window_bytes bytes in all
  io::decoder_limits limits{};               ///< of decoders of frames
  std::function<io::part_format()> parts{};  ///< how one frame is decoded in parts, unless frames are
};

/// How one frame of an input is decoded in parts. `file`: the input, whose end may describe it; null: a stream. Throws
/// std::bad_alloc.
io::part_format parts_of(const io::format& format, const io::file_source* file, feed_notes& notes,
                         const std::stop_token& stop);

/// Used by one thread, which blocks while it waits for bytes.
class ahead_blocks {
 public:
  /// Reads `source` from its start. Borrows everything.
  ahead_blocks(io::byte_reader& source, const io::format& format, ahead_resources resources, stage_clock& clock);

  /// The next bytes; at the end a block with `end`, and the error of the source, if it failed. A part that begins with
  /// the block: a frame_part if `has_frames`, else one for decoder::offer().
  part_queue::piece next();

  /// As part_queue::pause() and part_queue::discard_parts().
  void pause(bool is_paused);
  void discard_parts();

  [[nodiscard]] bool has_frames() const { return has_frames_; }

 private:
  [[nodiscard]] bool is_divided() const { return has_frames_ || has_parts_; }
  bool pauses();
  void read_more();
  block read_block();
  void begin(const block& first);
  void push(const block& next);
  void push_piece(const frame_divider::piece& next);

  io::byte_reader& source_;
  const io::format& format_;
  const ahead_resources resources_;
  stage_clock& clock_;
  const std::shared_ptr<block_pool> blocks_;
  frame_divider divider_;
  std::optional<part_queue> queue_{};
  bool has_frames_ = false;  // they are found from the first bytes on
  bool has_parts_ = false;   // the first frame has parts that the splitter finds
};

}  // namespace gpuhist::pipeline
