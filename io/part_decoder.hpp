// The contract of decoding ahead. One input is decoded by several threads: its compressed bytes are divided into parts,
// any thread decodes a part before the text ahead of it is known, and the decoder of the input takes over the results
// that fit at its position. It decodes the rest by itself. So text, verdicts and errors are those of the decoder alone,
// whatever a part_decoder guessed.
//
//     compressed   | part 0        | part 1        | part 2        |
//     any thread     decode()        decode()        decode()          units that begin in the part, ahead of time
//     in order       link()       -> link()       -> link()            what is known only after the part before
//     any thread     finish()        finish()        finish()          work that needed link()
//     in order       join()       -> join()       -> join()            text that refers to text of the part before
//     in order       offer(), fill() of the decoder                    verdicts, errors, text
#pragma once

#include "io/decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace gpuhist::io {

/// A part of a compressed input, and the bytes after it, as far as they have arrived.
struct part_input {
  std::uint64_t offset = 0;                            ///< of the first byte of the part, in the compressed input
  std::uint64_t size = 0;                              ///< bytes of the part
  std::span<const std::span<const std::byte>> pieces;  ///< the part and then what follows it, without gaps;
                                                       ///< with part_format::joins, the part is valid until join()
  bool ends_input = false;                             ///< the pieces go to the end of the input
  bool begins_frame = false;                           ///< a frame begins here, or a part that a splitter has found
  decode_start start{};                                ///< with `begins_frame`
  std::size_t max_bytes = 0;                           ///< most bytes of memory for the result
};

/// What a part decodes to: units (blocks of the format) that begin in the part, with their compressed positions and
/// their text. Each member is called once, in this order; calls for one part never overlap. None throws: without
/// memory, less is ready.
class decoded_part {
 public:
  decoded_part() = default;
  decoded_part(const decoded_part&) = delete;
  decoded_part& operator=(const decoded_part&) = delete;
  virtual ~decoded_part() = default;

  /// Adds what is known only after the part before. `before`: the part directly before, after its link(); null if it
  /// was not decoded. Called in the order of the input, on any thread; has to be short, because it is the only work
  /// that is not parallel.
  virtual void link(const decoded_part* /*before*/) {}

  /// Whether link() of the part after this one finds what it needs. False: it may, once the decoder has begun to take
  /// this part over; link() waits until then, or until the decoder has passed by. Any thread.
  [[nodiscard]] virtual bool is_linked() const { return true; }

  /// More work, on any thread. `before` of link() may have been destroyed.
  virtual void finish() {}

  /// Only with part_format::joins: makes what needs the results of the part before. `before`: as that of link(), after
  /// its join(). Called in the order of the input, on any thread.
  virtual void join(const decoded_part* /*before*/) {}
};

/// Decodes parts of one format. Used by one thread at a time; keeps its memory from part to part.
class part_decoder {
 public:
  part_decoder() = default;
  part_decoder(const part_decoder&) = delete;
  part_decoder& operator=(const part_decoder&) = delete;
  virtual ~part_decoder() = default;

  /// Decodes the units that begin in the part. Units that do not decode, are incomplete in the pieces, or would exceed
  /// max_bytes are left out; damage is no error. Null: there is nothing that a decoder could take over. Throws
  /// std::bad_alloc.
  virtual std::unique_ptr<decoded_part> decode(const part_input& input) = 0;
};

/// The properties of a format whose inputs can be decoded in parts.
struct part_format {
  std::function<std::unique_ptr<part_decoder>()> make{};
  std::size_t part_bytes = 0;        ///< compressed bytes of a part
  std::uint64_t least_bytes = 0;     ///< fewer compressed bytes are not worth waking threads
  bool splitter_divides = false;     ///< parts begin where the splitter reports it; part_bytes is then the usual size
  bool joins = false;                ///< decoded_part::join() is called
  bool decoder_is_faster = false;    ///< than a part_decoder: it decodes parts that no thread has begun when it reaches
                                     ///< them, and threads begin with parts that it reaches later
  bool needs_idle_threads = false;   ///< a frame that is begun in parts costs more time if the threads are busy
  std::size_t look_ahead_bytes = 0;  ///< wanted after a part: the size of most units
  std::size_t shared_bytes = 0;      ///< memory for all parts of an input together
  std::size_t memory_bytes = 0;      ///< of a part in progress, in general: result and work memory, without its pieces
};

}  // namespace gpuhist::io
