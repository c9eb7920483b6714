// Divides the compressed bytes of an input into groups of whole frames, as they arrive. A splitter finds the ends of
// frames.
//
//     blocks      |              |              |              |
//     frames      | f | f | f |   frame     |   frame     | f | f ...
//     pieces      |           |  |          |  |          |    |
//     groups      |           |             |             |
//
// A piece ends where its block, its group or a part of a frame (io::split_step) ends. It refers to the bytes of the
// block. Only bytes that the splitter holds back are copied: they may or may not belong to the frame that ended,
// because the size in a header may be wrong, and a decoder that missed the rest of its frame could not continue.
#pragma once

#include "io/decoder.hpp"
#include "io/splitter.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

/// Used by one coroutine or thread.
class frame_divider {
 public:
  /// `group_bytes`: the fewest compressed bytes of a group, except the last. `start`: where the first block begins,
  /// between two frames.
  frame_divider(std::unique_ptr<io::splitter> splitter, std::size_t group_bytes, const io::decode_start& start = {})
      : splitter_(std::move(splitter)), group_bytes_(group_bytes), start_(start), frames_(start.frames) {
    splitter_->begin_at(start);
  }

  struct piece {
    block bytes{};             ///< block::lost if the splitter is lost
    io::decode_start start{};  ///< of the group
    bool ends_group = false;   ///< the piece is the last one of the group; it may be empty
    bool has_guesses = false;  ///< with it: some ends of frames in the group are guesses of the splitter
  };

  /// The next piece of `source`. Nothing if it has no further ones: then the next call gets the next block. Throws
  /// std::bad_alloc.
  std::optional<piece> next(const block& source);

  /// After the last block: the bytes that are still held back, if there are any. Throws std::bad_alloc.
  std::optional<piece> rest();

  /// After the first piece of a group: `group_bytes` as above. `has_parts`: pieces end where parts of frames end.
  void set_group(std::size_t group_bytes, bool has_parts) {
    group_bytes_ = group_bytes;
    has_parts_ = has_parts;
  }

  /// Where the group of the next piece begins.
  [[nodiscard]] const io::decode_start& start() const { return start_; }

  /// Frames that have ended; skippable ones are not counted.
  [[nodiscard]] std::uint64_t frames() const { return frames_; }

  [[nodiscard]] const io::splitter& splitter() const { return *splitter_; }

 private:
  enum class stage { walking, held_before_end, held_after_end, held_before_rest, rest, keeping };

  std::optional<piece> walk(const block& source);
  void measure_rest(const block& source);
  std::optional<piece> end_frame(const block& source);
  piece end_part(const block& source);
  piece end_group(const block& source);
  piece part_of(const block& source, std::size_t end);
  piece take_held();

  const std::unique_ptr<io::splitter> splitter_;
  std::size_t group_bytes_;
  bool has_parts_ = true;
  io::decode_start start_;
  std::uint64_t frames_;
  std::size_t in_group_ = 0;                         // bytes of the group in pieces so far
  bool has_guesses_ = false;                         // of the group
  std::vector<std::byte> held_{};                    // bytes that the splitter has taken and that are in no piece
  std::shared_ptr<const io::frame_context> part_{};  // of a part that begins with the next piece; null: none does
  stage stage_ = stage::walking;
  std::size_t walked_ = 0;     // bytes of the block that the splitter has taken
  std::size_t begin_ = 0;      // bytes of the block that are in pieces
  std::size_t frame_end_ = 0;  // in the block: of the frame that ended last
  std::size_t rest_ = 0;       // where the bytes to be held back begin
};

}  // namespace gpuhist::pipeline
