// The contract of splitters, which find frames without decoding them. Compressed bytes pass once, in order, and the
// splitter reports where a frame ends, so that frames can be decoded in parallel.
#pragma once

#include "io/decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// The result of splitter::advance.
struct split_step {
  std::size_t taken = 0;    ///< bytes taken from the front of the input
  bool frame_ends = false;  ///< a frame ends in or before the taken bytes
  bool is_guess = false;    ///< `frame_ends`, if the bytes after it are what they look like (permit_guesses())
  bool part_ends = false;   ///< within the frame, a part_decoder may begin after the taken bytes, with context()

  /// With `frame_ends`: how many of the most recent bytes, taken by this and earlier calls, follow the end of the
  /// frame.
  std::size_t beyond = 0;
};

/// Walks one compressed input from its start, or from a position between two frames, on one thread at a time. A decoder
/// that begins where a frame ended (decode_start) decodes the bytes after it. A splitter never fails: data that it
/// cannot follow, because it is damaged or its format cannot be split, is one frame to the end of the input, and the
/// decoder judges it.
class splitter {
 public:
  splitter() = default;
  splitter(const splitter&) = delete;
  splitter& operator=(const splitter&) = delete;
  virtual ~splitter() = default;

  /// Ends of frames may be reported that only a decoder can confirm: the caller can decode the input again, with a
  /// splitter that makes no guesses. A frame of more compressed bytes ends the search. Before the first advance().
  virtual void permit_guesses(std::uint64_t /*longest_frame*/) {}

  /// By what it recognizes such ends at present: who has the bytes first may search them for it. Empty: nothing.
  [[nodiscard]] virtual std::string_view sought() const { return {}; }

  /// The next calls of advance() get the bytes of `block`, and these are the places where sought() begins in it, in
  /// order: they are not searched again. Null: they are not known. Borrowed until the next call.
  virtual void note_places(std::span<const std::byte> /*block*/, const std::vector<std::uint32_t>* /*places*/) {}

  /// Begins at `start`, not at the start of the input. Before the first advance().
  virtual void begin_at(const decode_start& /*start*/) {}

  /// Takes the next bytes of the input: up to the end of the open frame or of a part of it, or all.
  virtual split_step advance(std::span<const std::byte> bytes) = 0;

  /// Whether the end of the open frame is known before its bytes were taken. Then it is worth reading ahead to the next
  /// frame, however long the frame is.
  [[nodiscard]] virtual bool knows_end() const { return false; }

  /// How many of the most recent bytes may follow the end of a frame that advance() has not reported: a later call
  /// reports that end, or finds that there is none. Until then the caller does not give these bytes to a decoder.
  [[nodiscard]] virtual std::size_t held_back() const { return 0; }

  /// Whether the last ended frame is one that decoders count and report (not a skippable one).
  [[nodiscard]] virtual bool counts_frame() const = 0;

  /// After an end was reported: what a decoder that begins there has to know besides the number of frames. Null:
  /// nothing. After the end of a part: what a part_decoder has to know.
  [[nodiscard]] virtual std::shared_ptr<const frame_context> context() const { return nullptr; }

  /// Whether the bytes since the last reported end may contain further ends of frames. A splitter that is lost finds
  /// another end only if its format has a mark by which it can be recognised.
  [[nodiscard]] virtual bool is_lost() const { return false; }

  /// For statistics: how frames are found, or why they are not, as a clause ("by the sizes of its blocks").
  [[nodiscard]] virtual std::string_view manner() const = 0;
};

}  // namespace gpuhist::io
