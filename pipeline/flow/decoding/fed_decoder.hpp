// Decodes a compressed input whose bytes a program passes in, on the thread that passes them. So inputs never wait for
// each other, in whatever order they are fed.
#pragma once

#include "async/semaphore.hpp"
#include "io/decoder.hpp"
#include "io/format.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/fed_text.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::pipeline {

/// Memory for the windows and buffers of all decoders of a run.
struct decoder_memory {
  explicit decoder_memory(std::uint64_t limit, const io::memory_besides_windows& of_run = {})
      : bytes(limit), besides(of_run), free(limit) {}

  const std::uint64_t bytes;
  const io::memory_besides_windows besides;
  async::semaphore free;  ///< bytes
};

/// How the bytes of an input are decoded.
struct fed_decoding {
  const io::format* format = nullptr;  ///< null: recognized by content
  std::uint64_t max_text = 0;          ///< bytes of text; an input with more is refused; 0: unlimited
};

/// Used by one thread at a time. Failures of the input (damage, a limit) do not throw: they end the input in the
/// counts. Members throw what fed_text throws; the caller then calls fail().
class fed_decoder {
 public:
  /// What the decoder uses of the run. All outlive it.
  struct used_run {
    fed_text& text;
    rolling_counts& counts;
    feed_notes& notes;
    decoder_memory& memory;
  };

  /// `text`: of the input; outlives the decoder.
  fed_decoder(text_track& text, const fed_decoding& settings, const used_run& used);

  /// The next bytes of the input, as they are stored. Ignored if the input has failed.
  void feed(std::span<const std::byte> stored);

  /// All bytes were fed. The input ends in the counts: complete, or as truncated.
  void finish();

  /// The input ends in the counts because of this failure, unless it has ended before.
  void fail(const input_failure& failure);

  /// Whether the input has ended: by finish() or by a failure.
  [[nodiscard]] bool has_ended() const { return has_ended_; }

  /// Whether it has ended by a failure.
  [[nodiscard]] bool has_failed() const { return has_failed_; }

  /// Bytes of the input that were decoded.
  [[nodiscard]] std::uint64_t decoded_bytes() const;

 private:
  void settle();
  void take(std::span<const std::byte> stored);
  void begin(const io::format& found);
  void decode(std::span<const std::byte> in);
  void note_produced(std::size_t bytes);
  void conclude_verified();
  void flush();
  void grant_window();
  void end(std::optional<input_failure> failure);
  [[nodiscard]] input_id input() const { return text_.owner().input; }

  text_track& text_;  // that was put
  const fed_decoding settings_;
  const used_run run_;
  std::vector<std::byte> head_{};  // until the format is known
  bool is_settled_ = false;        // the format is known
  bool has_ended_ = false;
  bool has_failed_ = false;

  async::semaphore::permit own_memory_{};
  async::semaphore::permit window_memory_{};  // for a window that does not fit into its own memory
  std::unique_ptr<io::decoder> decoder_{};    // null: the bytes are the text
  std::unique_ptr<std::byte[]> buffer_{};     // text that is not put yet: verified text, then text of the open frame
  std::size_t buffered_ = 0;
  std::size_t verified_ = 0;
  std::uint64_t text_bytes_ = 0;
};

}  // namespace gpuhist::pipeline
