// Decodes the parts of one frame ahead of its decoder (io/part_decoder.hpp), on the threads of the pool.
//
//     push()   | block | block | block | block | block | block | block |
//              └───── part 0 ──────────┴───── part 1 ──────────┴─ part 2 (collecting) ...
//     pool       decode ─► link ─► finish (─► join)    decode ...
//     take()     part 0, block by block ─► offer(), fill() of the decoder
//
// A part begins to be decoded when the bytes after it have arrived, too, as far as its units need them. The thread that
// calls take() never waits while there is work: it decodes parts as the threads of the pool do, beginning with the
// oldest. So the queue needs no thread of its own, and works with a pool of one thread. Where the decoder of the input
// is faster than threads with parts (part_format::decoder_is_faster), it gets the bytes of a part that has not begun,
// and waits for one that has.
#pragma once

#include "async/executor.hpp"
#include "async/semaphore.hpp"
#include "io/part_decoder.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace gpuhist::pipeline {

/// The number of parts in progress, and the memory of each.
struct part_shares {
  std::size_t parts = 0;  ///< 0: there is not enough memory, or not enough threads
  std::uint64_t bytes = 0;
};

/// As many parts as pieces_ahead(), or fewer if there is not enough memory.
part_shares shares_of(const io::part_format& format, unsigned threads, std::uint64_t memory_bytes);

/// Used by one coroutine or thread; the pool works for it.
class part_queue {
 public:
  struct settings {
    io::part_format format;
    unsigned threads = 1;            ///< of the pool; while as many inputs are decoded, no part is decoded ahead
    bool is_in_pool = true;          ///< take() is called by a thread of the pool, which then helps with every part;
                                     ///< false: only with the part that it needs, because it has other work
    std::size_t max_parts = 1;       ///< that are in progress or wait for the decoder
    std::size_t max_part_bytes = 0;  ///< memory for one part
    std::uint64_t memory_bytes = 0;  ///< for the parts of all inputs: those that need idle threads get a share each
    std::size_t max_blocks = 1;      ///< blocks that the queue may hold without new ones, and that one part may have:
                                     ///< then it waits for no more
    std::uint64_t offset = 0;        ///< of the first byte, in the compressed input
    bool begins_frame = false;       ///< the first byte begins a frame
  };

  static constexpr std::size_t any_size = ~std::size_t{0};  ///< of part_bytes: only end_part() divides

  /// `memory`: bytes for the parts of all inputs; a part for which there are none is not decoded ahead. Borrows
  /// everything. Throws std::bad_alloc.
  part_queue(const settings& options, async::executor& pool, async::semaphore& memory, stage_clock& clock);
  part_queue(const part_queue&) = delete;
  part_queue& operator=(const part_queue&) = delete;

  /// Waits for threads that decode a part.
  ~part_queue();

  /// Adds the next block; after one with `end`, no further one. Throws std::bad_alloc.
  void push(block next);

  /// The part that is being collected ends, because a frame, or a part that a splitter has found, begins with the next
  /// block.
  void end_part(const io::decode_start& next);

  /// Whether parts could begin if there were more blocks.
  [[nodiscard]] bool wants_more() const;

  /// A block for the decoder, and the part that begins with it, to be offered before.
  struct piece {
    block bytes{};
    std::shared_ptr<io::decoded_part> part{};  ///< finished; null: there is none
  };

  /// The next block in order; nothing if more blocks have to be pushed first. `may_wait`: more blocks will arrive soon,
  /// so an incomplete part waits for them; otherwise the decoder gets its blocks at once. Decodes parts meanwhile.
  std::optional<piece> take(bool may_wait);

  /// While paused, no part begins to be decoded, because the decoder would not take it over.
  void pause(bool is_paused);

  /// Returns the memory of all parts, and discards those that were not taken. To be called before the caller waits for
  /// memory of the same semaphore. Waits for threads that decode a part.
  void discard_parts();

 private:
  class state;
  const std::shared_ptr<state> state_;
};

}  // namespace gpuhist::pipeline
