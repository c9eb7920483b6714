// The contract of every decompressor: a resumable task. It gets compressed bytes and a span to fill, and reports where
// frames end and whether they were verified. A decoder owns no thread, queue or slot, and never reads an input by
// itself.
#pragma once

#include "io/failure.hpp"
#include "io/notice.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace gpuhist::io {

class decoded_part;
class zstd_dictionary;

/// Why decoder::fill returned.
enum class fill_status {
  needs_input,     ///< all input was consumed; more is needed
  output_full,     ///< `out` is full; call again with more room (the frame may have ended nevertheless)
  needs_window,    ///< the frame needs more memory than was granted: call grant_window(window_wanted()), then fill()
                   ///< again
  frame_verified,  ///< the frame ended here and is valid: its checksum matched, or it has none and ended cleanly
  failed           ///< the frame is damaged; fault() describes it; restart() is required before the next fill()
};

struct fill_result {
  fill_status status = fill_status::needs_input;
  std::size_t consumed = 0;  ///< bytes taken from the front of `in`
  std::size_t produced = 0;  ///< bytes written to the front of `out` (of a failed frame: those before the error)
};

/// What a decoder has to know of the input before its start, for formats whose frames are not independent. Made by the
/// splitter of the format (splitter::context), read by its decoder. Immutable.
class frame_context {
 public:
  frame_context() = default;
  frame_context(const frame_context&) = delete;
  frame_context& operator=(const frame_context&) = delete;
  virtual ~frame_context() = default;

  /// Whether a later run over the same file finds it again (format::read_head).
  [[nodiscard]] virtual bool is_in_file() const { return false; }
};

/// Where a decoder begins in its input: between two frames. The number of text bytes before it need not be known while
/// frames of one input are decoded in parallel; only the error texts need it.
struct decode_start {
  std::uint64_t frames = 0;                                ///< frames before it; skippable ones are not counted
  std::uint64_t compressed_bytes = 0;                      ///< bytes before it
  std::shared_ptr<const frame_context> context = nullptr;  ///< null: of a start where an input of its own may begin

  /// Whether the input may end here, and a later run may continue here.
  [[nodiscard]] bool is_complete() const { return context == nullptr || context->is_in_file(); }
};

/// Decodes the frames of one compressed input in order. Used by one thread at a time; any thread.
class decoder {
 public:
  decoder() = default;
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;
  virtual ~decoder() = default;

  /// Decodes from `in` into `out` until one of the states of fill_status is reached. Makes progress in every call in
  /// which `in` or buffered output and a non-empty `out` allow it. Stops at each end of a frame, even of a frame
  /// without content. Skippable frames are consumed and not reported.
  virtual fill_result fill(std::span<const std::byte> in, std::span<std::byte> out) = 0;

  /// Offers a part that was decoded ahead (io/part_decoder.hpp), finished, before fill() gets the first of its bytes.
  /// The decoder takes over what begins exactly at its position, and behaves otherwise as without the offer. It keeps
  /// the part until its position is after the last unit of the part, or until restart().
  virtual void offer(const std::shared_ptr<const decoded_part>& /*part*/) {}

  /// Whether parts of the frame that is open would be taken over; between two frames, true.
  [[nodiscard]] virtual bool may_take_parts() const { return true; }

  /// Starts again at `start`, in this or another input. Allocated memory is reused.
  virtual void restart(const decode_start& start) = 0;

  /// What the head of the input states about all frames after it: for a restart in this input. Null: nothing.
  [[nodiscard]] virtual std::shared_ptr<const frame_context> head() const { return nullptr; }

  /// After `needs_window`: the window size of the new frame, at most decoder_limits::window_bytes.
  [[nodiscard]] virtual std::uint64_t window_wanted() const { return 0; }

  /// Allows windows of up to `bytes` bytes. Called between two frames; frees larger windows.
  virtual void grant_window(std::uint64_t /*bytes*/) {}

  /// After `failed`: one clause for messages, with the number of the frame and both offsets. `text_before`: bytes of
  /// the text of the input before the start of this decoder.
  [[nodiscard]] virtual std::string fault(std::uint64_t text_before) const = 0;

  /// The kind of fault(): damaged, or refused, because the frame may be intact (a limit, a dictionary that is missing,
  /// a variant that is not read). Damaged if there is none.
  [[nodiscard]] virtual failure_kind fault_kind() const { return failure_kind::damaged; }

  /// The clause of fault() without the offsets.
  [[nodiscard]] virtual std::string fault_cause() const { return fault(0); }

  /// Called when the input has ended, before missing_at_end(): whether fill() without input delivers more text.
  [[nodiscard]] virtual bool end_input() { return false; }

  /// Called when the input has ended. Empty if the decoder is at the end of a frame after which an input may end, or if
  /// its format has no end mark and the frame may end here (such a frame counts as verified). Otherwise a clause, as
  /// fault() returns it, which names the missing or wrong part.
  [[nodiscard]] virtual std::string missing_at_end(std::uint64_t text_before) const = 0;

  /// Whether missing_at_end() states that the input ends early: more bytes could complete it.
  [[nodiscard]] virtual bool lacks_end() const { return in_frame(); }

  /// If the input ended here, with nothing missing: what deserves a remark all the same. Called between two frames.
  [[nodiscard]] virtual std::optional<notice> notice_at_end() const { return std::nullopt; }

  /// If the input ended here, with nothing missing, after this number of frames: whether one checksum or index covers
  /// all of its text, so that no frame can be missing at its end either.
  [[nodiscard]] virtual bool verifies_whole(std::uint64_t frames) const { return frames == 1; }

  /// As missing_at_end(), if not the input but a frame has ended, by the sizes that headers state (io/splitter.hpp).
  [[nodiscard]] virtual std::string missing_at_frame_end(std::uint64_t text_before) const {
    return missing_at_end(text_before);
  }

  /// The clauses of missing_at_end() and missing_at_frame_end() without the offsets.
  [[nodiscard]] virtual std::string missing_cause_at_end() const = 0;
  [[nodiscard]] virtual std::string missing_cause_at_frame_end() const { return missing_cause_at_end(); }

  /// Whether a frame is open: bytes of it were consumed and it has not ended.
  [[nodiscard]] virtual bool in_frame() const = 0;

  /// The compressed offset up to which consumed bytes belong to no frame, such as the end of an xz stream after its
  /// last block: the next frame begins there or later. 0 if no such bytes were consumed.
  [[nodiscard]] virtual std::uint64_t frameless_to() const { return 0; }

  /// Compressed bytes of the input before the decoder's position, and decompressed bytes since its start.
  [[nodiscard]] virtual std::uint64_t consumed_total() const = 0;
  [[nodiscard]] virtual std::uint64_t produced_total() const = 0;
};

/// The memory of a run besides the windows of its decoders, if the memory limit is so high that it reduces nothing.
struct memory_besides_windows {
  std::uint64_t bytes = 0;
  std::uint64_t of_devices = 0;  ///< in addition; at most half of the memory limit
  std::uint64_t share = 1;       ///< a window may have this part of the memory for windows: 4: a quarter

  /// A memory limit with which a window may have so many bytes.
  [[nodiscard]] std::uint64_t limit_for(std::uint64_t window_bytes) const;
};

/// Limits of what a decoder may allocate, and its zstd dictionary.
struct decoder_limits {
  std::uint64_t window_bytes = 128U << 20U;  ///< a frame that needs a larger window is refused before it is allocated
  std::uint64_t granted_bytes = ~std::uint64_t{0};              ///< a larger window is requested (needs_window)
  std::shared_ptr<const zstd_dictionary> dictionary = nullptr;  ///< for zstd frames; null: none
  memory_besides_windows besides{};                             ///< for messages
};

/// The clause for a window that is refused: cause and remedy.
std::string window_refusal(std::uint64_t needed, const decoder_limits& limits);

/// Decodes a frame whose compressed bytes are in memory, when only the result of the verification is needed: up to the
/// end of the frame, to an error, or to the end of `in`. Discards the text: every call of the decoder overwrites
/// `scratch`. Removes the consumed bytes from the front of `in`. Never returns fill_status::output_full.
inline fill_status discard_frame(decoder& decoder, std::span<const std::byte>& in, std::span<std::byte> scratch) {
  for (;;) {
    const fill_result result = decoder.fill(in, scratch);
    in = in.subspan(result.consumed);
    if (result.status != fill_status::output_full) return result.status;
  }
}

}  // namespace gpuhist::io
