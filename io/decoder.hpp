// The contract of every decompressor: a resumable task that is handed compressed bytes and a span to fill, and says
// where frames end and whether they were verified. A decoder owns no thread, queue or slot, and never reads by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gpuhist::io {

class zstd_dictionary;

/// What ended a call of decoder::fill.
enum class fill_status {
  needs_input,     ///< all input was consumed; more is needed
  output_full,     ///< `out` is full; call again with more room (the frame may be at its end all the same)
  needs_window,    ///< the frame needs more memory than was granted: grant_window(window_wanted()), then call again
  frame_verified,  ///< the frame ended here and is good: its checksum matched, or it ended cleanly where it has none
  failed           ///< the frame is damaged; fault() says how; the decoder is of no further use until restart()
};

struct fill_result {
  fill_status status = fill_status::needs_input;
  std::size_t consumed = 0;  ///< bytes taken from the front of `in`
  std::size_t produced = 0;  ///< bytes written to the front of `out` (of a failed frame: those before the fault)
};

/// Where a decoder begins in its input: between two frames. How much text is before it need not be known while frames
/// of one input are decoded side by side; it is asked for with the errors only.
struct decode_start {
  std::uint64_t frames = 0;            ///< before it, skippable ones not counted
  std::uint64_t compressed_bytes = 0;  ///< before it
};

/// Frames of one compressed input, decoded in order. Used by one thread at a time; any thread.
class decoder {
 public:
  decoder() = default;
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;
  virtual ~decoder() = default;

  /// Decodes from `in` into `out` until one of the reasons in fill_status. Makes progress in every call in which `in`
  /// or buffered output and a non-empty `out` allow it. Stops at each end of a frame, also of one without content.
  /// Skippable frames are consumed silently.
  virtual fill_result fill(std::span<const std::byte> in, std::span<std::byte> out) = 0;

  /// Begins anew, at `where` of this or another input; what was allocated is used again.
  virtual void restart(const decode_start& where) = 0;

  /// After `needs_window`: bytes of the window of the frame that begins, no more than decoder_limits::window_bytes.
  [[nodiscard]] virtual std::uint64_t window_wanted() const { return 0; }

  /// Windows up to `bytes` may be allocated from now on. Called between two frames; frees larger ones.
  virtual void grant_window(std::uint64_t /*bytes*/) {}

  /// After `failed`: one clause for people, naming the frame's number and both offsets. `text_before`: bytes of the
  /// input's text before the start of this decoder.
  [[nodiscard]] virtual std::string fault(std::uint64_t text_before) const = 0;

  /// The same clause without the offsets.
  [[nodiscard]] virtual std::string fault_cause() const { return fault(0); }

  /// To be asked once the input is over: empty where the decoder stands at the end of a frame, or where its format has
  /// no mark for that and the frame may end here (then it is as good as verified); else what is missing (or wrong), in
  /// a clause like that of fault().
  [[nodiscard]] virtual std::string missing_at_end(std::uint64_t text_before) const = 0;

  /// The same where not the input is over but, by the sizes that headers state, a frame (io/splitter.hpp).
  [[nodiscard]] virtual std::string missing_at_frame_end(std::uint64_t text_before) const {
    return missing_at_end(text_before);
  }

  /// The clauses of these two without the offsets.
  [[nodiscard]] virtual std::string missing_cause_at_end() const = 0;
  [[nodiscard]] virtual std::string missing_cause_at_frame_end() const { return missing_cause_at_end(); }

  /// Whether a frame is open: bytes were consumed for it and it has not ended.
  [[nodiscard]] virtual bool in_frame() const = 0;

  /// Compressed bytes before the decoder's place in the input, and decompressed bytes since its start.
  [[nodiscard]] virtual std::uint64_t consumed_total() const = 0;
  [[nodiscard]] virtual std::uint64_t produced_total() const = 0;
};

/// Of what a decoder may allocate, and what it needs beside its input.
struct decoder_limits {
  std::uint64_t window_bytes = 128U << 20U;  ///< a frame that needs a larger window is refused before it is allocated
  std::uint64_t granted_bytes = ~std::uint64_t{0};              ///< larger windows are asked for (needs_window)
  std::shared_ptr<const zstd_dictionary> dictionary = nullptr;  ///< for zstd frames; null: none
  std::uint64_t largest_bytes = ~std::uint64_t{0};  ///< no memory limit makes `window_bytes` larger than this
};

/// The clause for a window that is refused: why, and what helps.
std::string window_refusal(std::uint64_t needed, const decoder_limits& limits);

}  // namespace gpuhist::io
