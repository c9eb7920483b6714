// The contract of what finds frames without decoding them: compressed bytes go by once, in order, and the splitter says
// where a frame ends, so that frames can be decoded side by side.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace gpuhist::io {

/// How far a call of splitter::advance came.
struct split_step {
  std::size_t taken = 0;    ///< bytes from the front of those given
  bool frame_ends = false;  ///< a frame ends in them or before them; without it, all bytes were taken

  /// With `frame_ends`: how many of the bytes taken last, by this and earlier calls, come after the end of the frame.
  std::size_t beyond = 0;
};

/// One compressed input, walked from its start, or from a place between two frames, on one thread at a time. A decoder
/// that begins where a frame ended (decode_start) gives the text of what follows. A splitter never fails: what it
/// cannot follow, damaged or not splittable by nature, is one frame to the end of the input, for the decoder to judge.
class splitter {
 public:
  splitter() = default;
  splitter(const splitter&) = delete;
  splitter& operator=(const splitter&) = delete;
  virtual ~splitter() = default;

  /// Goes on by the next bytes of the input, to the end of the frame that is open, or by all of them.
  virtual split_step advance(std::span<const std::byte> bytes) = 0;

  /// How many of the bytes taken last may come after the end of a frame that advance() has not reported: a later call
  /// reports that end, or finds that there is none. The caller does not give them to a decoder until then.
  [[nodiscard]] virtual std::size_t held_back() const { return 0; }

  /// Whether the frame that ended last is one that decoders count and tell of (not a skippable one).
  [[nodiscard]] virtual bool counts_frame() const = 0;

  /// No end of a frame will be found any more: all bytes to come are one frame, whatever they are.
  [[nodiscard]] virtual bool is_lost() const { return false; }

  /// For statistics: how frames are found, or why they are not, in a clause ("by the sizes of its blocks").
  [[nodiscard]] virtual std::string_view manner() const = 0;
};

}  // namespace gpuhist::io
